import CofferTestSupport
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct BlockTests {
  @Test func `sixteen bytes come back as they went in, and fifteen or seventeen do not go in`() {
    let bytes = (0..<16).map { UInt8($0) }
    #expect(RecordIndex(bytes)?.bytes == bytes)
    #expect(RecordIndex(bytes)?.description == "000102030405060708090a0b0c0d0e0f")
    #expect(RecordIndex(Array(bytes.dropLast())) == nil)
    #expect(RecordIndex(bytes + [0]) == nil)
    #expect(Digest32(bytes + bytes)?.bytes == bytes + bytes)
    #expect(Digest32(bytes) == nil)
  }

  @Test func `order is the order of the bytes`() {
    var random = Random(campaign: "order of blocks")
    for _ in 0..<2_000 {
      let shared = Int.random(in: 0...15, using: &random)
      let left = (0..<16).map { $0 < shared ? 7 : UInt8.random(in: 0...255, using: &random) }
      let right = (0..<16).map { $0 < shared ? 7 : UInt8.random(in: 0...255, using: &random) }
      guard let a = RecordIndex(left), let b = RecordIndex(right) else { return }
      #expect((a < b) == left.lexicographicallyPrecedes(right))
    }
  }

  @Test func `the bucket is the first ten bits, and that of what is old 1024 more`() {
    for (first, second, bucket) in [(0, 0, 0), (0, 0x40, 1), (1, 0, 4), (0xFF, 0xFF, 1023), (0x80, 0x3F, 512)]
      as [(UInt8, UInt8, Int)]
    {
      let index = RecordIndex([first, second] + [UInt8](repeating: 0xFF, count: 14))
      #expect(index.map { RecordTable.present.bucket(of: $0) } == bucket)
      #expect(index.map { RecordTable.old.bucket(of: $0) } == bucket + 1024)
      #expect(Int(first) * 4 + Int(second >> 6) == bucket)
    }
  }

  @Test func `an entry of a bucket lies in memory as it is hashed`() throws {
    #expect(MemoryLayout<BucketEntry>.size == 32 && MemoryLayout<BucketEntry>.stride == 32)
    #expect(MemoryLayout<Digest32>.stride == 32)
    let entry = BucketEntry(
      index: try #require(RecordIndex([UInt8](repeating: 1, count: 16))),
      id: try #require(RecordID([UInt8](repeating: 2, count: 16))))
    #expect(withUnsafeBytes(of: entry) { [UInt8]($0) } == entry.index.bytes + entry.id.bytes)
  }

  @Test func `hexadecimal digits go both ways`() {
    for value in UInt8(0)..<16 {
      #expect(Hex.digit(value) == UInt8(ascii: Unicode.Scalar(String(value, radix: 16)) ?? "?"))
      #expect(Hex.value(Hex.digit(value)) == value)
    }
  }
}
