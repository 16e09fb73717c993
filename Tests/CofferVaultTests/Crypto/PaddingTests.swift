import CofferTestSupport
import CofferMemory
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct PaddingTests {
  @Test func `values take the sizes that the format names`() {
    let expected = [
      (0, 256), (1, 256), (255, 256), (256, 512), (2047, 2048), (2048, 2304), (2303, 2304), (2304, 2560), (4095, 4096),
      (4096, 4608), (1_000_000, 1_048_576), (2_097_152, 2_359_296),
    ]
    for (count, padded) in expected { #expect(Padding.padded(count, block: Padding.valueBlock(count)) == padded) }
  }

  @Test func `padding is removed to the byte, whatever the content ends with`() throws {
    for count in [0, 1, 100, 255, 256, 2047, 2048, 5000] {
      for last: UInt8 in [0, 0x80, 1] {
        var content = [UInt8](repeating: 3, count: count)
        if count > 0 { content[count - 1] = last }
        var buffer = content + [UInt8](repeating: 0xEE, count: Padding.padded(count, block: Padding.valueBlock(count)) - count)
        buffer.withUnsafeMutableBytes { Padding.pad($0, count: count) }
        #expect(buffer[count] == 0x80 && buffer[(count + 1)...].allSatisfy { $0 == 0 })
        #expect(try buffer.withUnsafeBytes { try Padding.unpadded($0, part: "value", block: Padding.valueBlock) } == count)
      }
    }
  }

  @Test func `a second encoding is refused`() {
    // Content of 10 bytes padded to 512 instead of 256; padding without its mark; nothing at all.
    var twice = [UInt8](repeating: 0, count: 512)
    twice[10] = 0x80
    for buffer in [twice, [UInt8](repeating: 0, count: 256), []] {
      #expect(throws: FormatError.self) {
        try buffer.withUnsafeBytes { try Padding.unpadded($0, part: "value", block: Padding.valueBlock) }
      }
    }
  }
}
