import CofferPlatform
import CofferVaultRows
import Testing

@testable import CofferSync
@testable import CofferVaultFormat

@Suite struct GroupTests {
  /// A row whose index has the bits of `pair`.
  private static func row(
    _ pair: Int, _ last: UInt8 = 0, old: Bool = false, meta: Int = 144, value: Int? = nil
  ) -> [UInt8] {
    let top = UInt16(truncatingIfNeeded: pair << 6)
    let index = [UInt8(top >> 8), UInt8(top & 255)] + [UInt8](repeating: 0, count: 13) + [last]
    func lp(_ count: Int, _ byte: UInt8) -> [UInt8] {
      withUnsafeBytes(of: UInt32(count).littleEndian) { Array($0) } + [UInt8](repeating: byte, count: count)
    }
    return index + [UInt8](repeating: last, count: 16) + [(old ? 1 : 0) + (value == nil ? 0 : 2)] + lp(meta, 3)
      + (value.map { lp($0, 4) } ?? [])
  }

  private func isRefused(_ bytes: [UInt8], _ pairs: Range<Int> = 0..<1024) -> Bool {
    do throws(FormatError) {
      _ = try Group(decoding: bytes, of: pairs)
      return false
    } catch {
      guard case .damaged("group", _) = error else { return false }
      return true
    }
  }

  private let rows = [row(4, 1), row(4, 2, value: 300), row(4, 1, old: true), row(5, 0, old: true), row(6, 9)]

  @Test func `the rows of a bucket, and one row, are found in a group`() throws {
    let group = try Group(decoding: rows.flatMap(\.self), of: 4..<8)
    var found: [Int: [UInt8]] = [:]
    for bucket in 0..<2048 {
      group.forEachRow(inBucket: bucket) { index, columns in
        found[bucket, default: []].append(index[15])
        #expect(columns.rid[0] == index[15])
        #expect(columns.meta.count == 144 && columns.meta[0] == 3)
        #expect(columns.value?.count == (bucket == 4 && index[15] == 2 ? 300 : nil))
      }
    }
    #expect(found == [4: [1, 2], 1028: [1], 1029: [0], 6: [9]])
    for (bytes, table, isThere) in [
      (rows[1], RecordTable.present, true), (rows[1], .old, false), (rows[3], .old, true), (Self.row(4, 3), .present, false),
      (Self.row(1023), .old, false),
    ] {
      var lent = 0
      group.lendRow(at: try #require(RecordIndex(Array(bytes[..<16]))), in: table) { columns in
        lent += 1
        #expect(columns.rid.elementsEqual(bytes[16..<32]))
      }
      #expect(lent == (isThere ? 1 : 0))
    }
  }

  @Test func `rows out of order, twice, or of another group are refused`() {
    #expect(!isRefused(rows.flatMap(\.self)))
    for first in rows.indices {
      #expect(isRefused(rows[first] + rows[first]), "a row twice")
      for second in rows.indices where second < first { #expect(isRefused(rows[first] + rows[second]), "\(first) \(second)") }
    }
    #expect(isRefused(rows.flatMap(\.self), 4..<6))
    #expect(isRefused(rows.flatMap(\.self), 5..<8))
    #expect(isRefused(Self.row(4, 1) + Self.row(5) + Self.row(4, old: true)), "the past of a pair after the next pair")
  }

  @Test func `a group that was cut, or goes on, is refused`() {
    let bytes = rows.flatMap(\.self)
    var ends: Set<Int> = []
    for row in rows { ends.insert((ends.max() ?? 0) + row.count) }
    for count in 0..<bytes.count where !ends.contains(count) { #expect(isRefused(Array(bytes[..<count])), "\(count)") }
    #expect(isRefused(bytes + [0]))
  }

  @Test func `a column of a wrong length and an unknown flag are refused`() {
    #expect(!isRefused(Self.row(1, meta: 16)))
    #expect(isRefused(Self.row(1, meta: 15)))
    #expect(isRefused(Self.row(1, meta: 0)))
    #expect(isRefused(Self.row(1, value: 15)))
    #expect(!isRefused(Self.row(1, meta: 144, value: RowLimits.rowBytes - 32 - 144)))
    #expect(isRefused(Self.row(1, meta: 144, value: RowLimits.rowBytes - 32 - 143)))
    for flags in [4, 8, 64, 255] as [UInt8] {
      var row = Self.row(1)
      row[32] = flags
      #expect(isRefused(row))
    }
    var huge = Self.row(1)
    for at in 33..<37 { huge[at] = 255 }
    #expect(isRefused(huge), "a length of 4 GiB")
    #expect(isRefused([]))
  }
}
