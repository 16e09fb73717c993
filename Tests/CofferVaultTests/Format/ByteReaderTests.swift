import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct ByteReaderTests {
  private func text(_ bytes: [UInt8], limit: Int = 64) throws -> String {
    let count = (0..<2).map { UInt8(truncatingIfNeeded: bytes.count >> (8 * $0)) }
    return try (count + bytes).withUnsafeBytes { raw in
      try FormatError.reading(raw, of: "sample") { (reader) throws(FormatError) in try reader.text(limit: limit, "name") }
    }
  }

  @Test(arguments: ["", "a", "fifteen letters", "more than fifteen letters", "é", "e\u{301}", "🔑 \u{0} ﷽", "\u{10FFFF}"])
  func `text comes back scalar by scalar`(_ sample: String) throws {
    #expect(try text(Array(sample.utf8)).utf8.elementsEqual(sample.utf8))
  }

  @Test(
    arguments: [
      [0x80], [0xC3], [0xC0, 0xAF], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x61, 0xFF, 0x62],
    ] as [[UInt8]])
  func `text that is not UTF-8 is refused and never mended`(_ bytes: [UInt8]) {
    #expect(throws: FormatError.damaged("sample", "its name is not UTF-8")) { try text(bytes) }
  }

  @Test func `text beyond its limit is refused`() {
    #expect(throws: FormatError.self) { try text([0x61, 0x62], limit: 1) }
  }
}
