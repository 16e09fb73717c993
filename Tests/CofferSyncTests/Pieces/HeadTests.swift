import CofferPlatform
import CofferVaultRows
import Testing

@testable import CofferSync
@testable import CofferVaultFormat

@Suite struct HeadTests {
  private static let state = [5, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 9, count: 200)
  private static func entry(_ number: Int, _ bytes: Int = 100) -> Head.Entry {
    Head.Entry(number: number, hash: PlainHash.digest([UInt8(truncatingIfNeeded: number)]), byteCount: bytes)
  }
  private let head = Head(groupCount: 8, header: [1, 2, 3], state: state, groups: [entry(0), entry(3), entry(7)])

  private func refused(_ bytes: [UInt8]) -> Bool {
    do throws(FormatError) {
      _ = try decoded(bytes)
      return false
    } catch {
      guard case .damaged("head", _) = error else { return false }
      return true
    }
  }

  @Test func `a head is read as it is written, under the name of its generation and bytes`() throws {
    let bytes = head.encoded()
    #expect(try decoded(bytes) == head)
    #expect(try decoded(bytes).encoded() == bytes)
    #expect(head.name == HeadName(generation: 5, hash: PlainHash.digest(bytes)))
    #expect(try Head(bytes, named: head.name, at: "there") == head)
    #expect(try Head(bytes, named: nil, at: "there") == head)
    for name in [HeadName(generation: 6, hash: head.name.hash), HeadName(generation: 5, hash: .zero)] {
      #expect(try kind { _ = try Head(bytes, named: name, at: "there") } == .damaged)
    }
  }

  @Test func `a head that was cut anywhere, or goes on, is refused`() {
    let bytes = head.encoded()
    // Cut after a group it is a head of fewer groups, with another name.
    let ends = [38, 76, 114].map { bytes.count - $0 }
    for count in 0..<bytes.count where !ends.contains(count) { #expect(refused(Array(bytes[..<count])), "\(count)") }
    #expect(refused(bytes + [0]))
    #expect(refused(bytes + bytes.suffix(38)))
  }

  @Test func `a hostile head is refused before it costs memory`() throws {
    func head(count: UInt16 = 1, header: UInt32 = 3, state: UInt32 = 208, _ rest: [UInt8] = []) -> [UInt8] {
      func le<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }
      return Array("COFFERH1".utf8) + le(count) + le(header) + [1, 2, 3] + le(state) + Self.state + rest
    }
    #expect(!refused(head()))
    for count in [0, 3, 5, 1023, 1025, 2048, 0x8000, .max] as [UInt16] { #expect(refused(head(count: count)), "\(count)") }
    for length in [0, 4, 1 << 20, 1 << 20 + 1, .max] as [UInt32] {
      #expect(refused(head(header: length)))
      #expect(refused(head(state: length)))
    }
    func entry(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { [number, 0] + [UInt8](repeating: 1, count: 32) + bytes }
    let least: [UInt8] = [1, 0, 0, 0]
    #expect(!refused(head(count: 4, entry(1, least) + entry(3, [0, 0, 0, 16]))))
    #expect(refused(head(count: 4, entry(1, least) + entry(1, least))), "a group twice")
    #expect(refused(head(count: 4, entry(3, least) + entry(1, least))), "groups that do not ascend")
    #expect(refused(head(count: 4, entry(4, least))), "a group beyond the last")
    #expect(refused(head(count: 4, entry(1, [0, 0, 0, 0]))), "an empty group")
    #expect(refused(head(count: 4, entry(1, [1, 0, 0, 16]))), "a group of 256 MiB and a byte")
    #expect(refused(head(count: 4, entry(1, [255, 255, 255, 255]))))
    #expect(refused(head(count: 1, entry(0, least) + entry(1, least))), "more groups than there are")
    #expect(refused([UInt8](repeating: 0, count: Head.largest + 1)))
    #expect(refused(Array("COFFERH2".utf8) + head().dropFirst(8)))
    #expect(refused([]))
    #expect(try kind { _ = try Head([], named: nil, at: "there") } == .damaged)
  }

  @Test func `a state without a valid generation is refused`() {
    for generation in [0, 1 << 62 + 1, .max] as [UInt64] {
      var bytes = head.encoded()
      withUnsafeBytes(of: generation.littleEndian) { bytes.replaceSubrange(8 + 2 + 4 + 3 + 4..<8 + 2 + 4 + 3 + 4 + 8, with: $0) }
      #expect(refused(bytes))
    }
  }

  @Test func `the number of groups grows with the rows, and pairs are divided among the groups`() {
    #expect(Head.groupCount(for: 0) == 1)
    #expect(Head.groupCount(for: 32_768) == 1)
    #expect(Head.groupCount(for: 32_769) == 2)
    #expect(Head.groupCount(for: 32_768 * 1024) == 1024)
    #expect(Head.groupCount(for: .max) == 1024)
    for power in 0...10 {
      let count = 1 << power
      #expect((0..<count).flatMap { Head.pairs(of: $0, of: count) } == Array(0..<1024))
    }
  }
}
