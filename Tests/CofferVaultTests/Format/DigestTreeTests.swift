import CofferMemory
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct DigestTreeTests {
  let sample: SampleVault
  init() throws { sample = try SampleVault() }

  static func entries(_ count: Int, in bucket: Int) -> [BucketEntry] {
    let bucket = bucket % 1024
    return (0..<count).compactMap { number in
      let head = [UInt8(bucket >> 2), UInt8(bucket & 3) << 6 | UInt8(number / 256 & 63), UInt8(number % 256)]
      return RecordIndex(head + [UInt8](repeating: 9, count: 13)).map { BucketEntry(index: $0, id: .random()) }
    }
  }

  @Test func `a change in steps gives the tree of the whole`() {
    var digests = [Digest32](repeating: .zero, count: DigestTree.buckets)
    var tree = DigestTree(emptyUnder: sample.keys)
    #expect(tree == DigestTree(digests, keys: sample.keys))
    for buckets in [[0], [1023, 1, 33], [512, 513, 512], [1024, 2047], [0, 1055]] {
      var changes: [(bucket: Int, digest: Digest32)] = []
      for bucket in buckets {
        let digest = DigestTree.digest(bucket, Self.entries(3, in: bucket), keys: sample.keys)
        digests[bucket] = digest
        changes.append((bucket, digest))
      }
      let before = tree.root
      tree.replace(changes, keys: sample.keys)
      #expect(tree == DigestTree(digests, keys: sample.keys))
      #expect(tree.root != before)
    }
  }

  @Test
  func `each table has half of the buckets, the mid of 32 empty ones is zeros, and those of no former content are left out`() {
    var tree = DigestTree(emptyUnder: sample.keys)
    #expect(tree.isEmpty(.present) && tree.isEmpty(.old))
    func root(_ mids: [Digest32]) -> Digest32 {
      sample.keys.withKey(.set) { key in
        KeyedHash.digest(key, .root, salt: sample.keys.vault) { for mid in mids { $0.update(mid) } }
      }
    }
    let zeros = [Digest32](repeating: .zero, count: 32)
    let empty = root(zeros)
    #expect(tree.root == empty, "the mids of an empty table of former contents are left out")
    let last = DigestTree.digest(2047, Self.entries(1, in: 2047), keys: sample.keys)
    let mid: Digest32 = sample.keys.withKey(.set) { key in
      KeyedHash.digest(key, .mid, salt: sample.keys.vault) { hash in
        hash.update(UInt32(63))
        for digest in zeros.dropLast() + [last] { hash.update(digest) }
      }
    }
    tree.replace([(2047, last)], keys: sample.keys)
    #expect(tree.root == root(zeros + zeros.dropLast() + [mid]))
    tree.replace([(2047, .zero)], keys: sample.keys)
    for (bucket, table) in [(0, RecordTable.present), (1023, .present), (1024, .old), (2047, .old)] {
      let digest = DigestTree.digest(bucket, Self.entries(1, in: bucket), keys: sample.keys)
      tree.replace([(bucket, digest)], keys: sample.keys)
      #expect(tree.filled(table) == [bucket] && RecordTable(ofBucket: bucket) == table && table.buckets.contains(bucket))
      #expect(RecordTable.allCases.allSatisfy { tree.isEmpty($0) == ($0 != table) })
      tree.replace([(bucket, .zero)], keys: sample.keys)
      #expect(tree.root == empty, "a tree that is empty again is as one that always was")
    }
  }

  @Test func `a digest tells of bucket, number, order and content`() {
    let entries = Self.entries(4, in: 5)
    let digest = DigestTree.digest(5, entries, keys: sample.keys)
    #expect(DigestTree.digest(5, [], keys: sample.keys) == .zero)
    #expect(DigestTree.digest(6, entries, keys: sample.keys) != digest)
    #expect(DigestTree.digest(5 + 1024, entries, keys: sample.keys) != digest)
    #expect(DigestTree.digest(5, Array(entries.dropLast()), keys: sample.keys) != digest)
    #expect(DigestTree.digest(5, entries.reversed(), keys: sample.keys) != digest)
    var other = entries
    other[2] = BucketEntry(index: entries[2].index, id: .random())
    #expect(DigestTree.digest(5, other, keys: sample.keys) != digest)
  }

  @Test func `a list must ascend strictly and stay in its bucket`() {
    let entries = Self.entries(300, in: 700)
    #expect(entries.count == 300 && DigestTree.isOrdered(entries, in: 700))
    #expect(DigestTree.isOrdered([], in: 700))
    #expect(!DigestTree.isOrdered(entries, in: 701))
    #expect(DigestTree.isOrdered(entries, in: 1724) && !DigestTree.isOrdered(entries, in: 1723))
    #expect(!DigestTree.isOrdered([entries[0], entries[0]], in: 700))
    #expect(!DigestTree.isOrdered(entries.reversed(), in: 700))
  }
}
