internal import CofferMemory

/// The state: one row, replaced by every commit, that binds the rest of the file.
package struct VaultState: Hashable, Sendable {
  /// The number of machines that can watch one vault for forks; the 256th replaces the one seen longest ago.
  package static let mostReplicas = 255
  static let part = "state"
  private static let fixedBytes = 16 + 32 + 8 + 8 + 8 + 8 + 8 + 32 + 1 + 1 + 2
  private static let replicaBytes = 16 + 8 + 16
  package static let largest =
    8 + CommittedBox.overhead + fixedBytes + mostReplicas * replicaBytes + VaultFormat.longestExtension

  package struct Replica: Hashable, Sendable {
    package let id: ReplicaID
    package let generation: UInt64
    package let commit: CommitID

    package init(id: ReplicaID, generation: UInt64, commit: CommitID) {
      (self.id, self.generation, self.commit) = (id, generation, commit)
    }
  }

  /// Counts commits. Stored in plaintext before the box, which is bound to it.
  package var generation: UInt64
  package var commit: CommitID
  /// Over all records: see ``DigestTree``.
  package var root: Digest32
  /// Rows of both tables.
  package var counts: RecordCounts
  /// The time of the commit, in milliseconds since 1970.
  package var time: UInt64
  /// The last log row, and the chain up to it.
  package var logSequence: UInt64
  package var logHead: Digest32
  /// Old bytes must still be removed from the file.
  package var scrub: Bool
  /// Ascending by id.
  package private(set) var replicas: [Replica]

  package init(
    generation: UInt64, commit: CommitID, root: Digest32, counts: RecordCounts, time: UInt64, logSequence: UInt64,
    logHead: Digest32, scrub: Bool = false, replicas: [Replica] = []
  ) {
    self.generation = generation
    self.commit = commit
    self.root = root
    self.counts = counts
    self.time = time
    self.logSequence = logSequence
    self.logHead = logHead
    self.scrub = scrub
    self.replicas = replicas
  }

  package func replica(_ id: ReplicaID) -> Replica? { replicas.first { $0.id == id } }

  /// Records this commit as that of `id`. A full table drops the entry with the lowest generation.
  ///
  /// - Returns: the dropped entry.
  @discardableResult
  package mutating func note(_ id: ReplicaID) -> Replica? {
    replicas.removeAll { $0.id == id }
    var lost: Replica?
    if replicas.count == Self.mostReplicas,
      let oldest = replicas.indices.min(by: { replicas[$0].generation < replicas[$1].generation })
    {
      lost = replicas.remove(at: oldest)
    }
    let place = replicas.firstIndex { id < $0.id } ?? replicas.endIndex
    replicas.insert(Replica(id: id, generation: generation, commit: commit), at: place)
    return lost
  }

  package func sealed(epoch: UInt64, header: Digest32, keys: borrowing Subkeys) -> [UInt8] {
    let count = contentCount
    let context = Self.context(epoch: epoch, generation: generation, header: header)
    let vault = keys.vault
    return withWipedScratch(count) { content in
      ByteWriter.fill(content) { write(to: &$0) }
      return ByteWriter.bytes(8 + count + CommittedBox.overhead) { out in
        out.write(generation)
        out.fill(count + CommittedBox.overhead) { box in
          keys.withKey(.sta) {
            CommittedBox.seal(
              UnsafeRawBufferPointer(content), under: $0, for: .state, salt: vault, context: context, into: box)
          }
        }
      }
    }
  }

  /// - Parameter header: the digest of the header's row, including its checksum.
  /// - Throws: ``FormatError/unauthentic(_:)`` for a state of another header, epoch or vault, ``FormatError/damaged(_:_:)``.
  package init(opening row: UnsafeRawBufferPointer, epoch: UInt64, header: Digest32, keys: borrowing Subkeys) throws(FormatError)
  {
    guard row.count <= Self.largest, row.count >= 8 + CommittedBox.overhead + Self.fixedBytes else {
      throw .damaged(Self.part, "it has \(row.count) bytes")
    }
    // Plaintext and not verified yet. Any change of it is tampering.
    let generation = UInt64(littleEndian: row.loadUnaligned(as: UInt64.self))
    let box = CommittedBox(bytes: [UInt8](row.part(8..<row.count)))
    let context = Self.context(epoch: epoch, generation: generation, header: header)
    let vault = keys.vault
    let content = try keys.withKey(.sta) { (key) throws(FormatError) in
      try box.open(under: key, for: .state, salt: vault, context: context, part: Self.part)
    }
    self = try content.withUnsafeBytes { (content) throws(FormatError) in
      try FormatError.reading(content, of: Self.part) { (reader) throws(FormatError) in
        try VaultState(from: &reader, generation: generation)
      }
    }
  }

  private static func context(epoch: UInt64, generation: UInt64, header: Digest32) -> [UInt8] {
    ByteWriter.bytes(8 + 8 + 32) { out in
      out.write(epoch)
      out.write(generation)
      out.write(header)
    }
  }
}

extension VaultState {
  var contentCount: Int { Self.fixedBytes + replicas.count * Self.replicaBytes }

  func write(to out: inout ByteWriter) {
    out.write(commit)
    out.write(root)
    out.write(counts.records)
    out.write(counts.items)
    out.write(counts.fields)
    out.write(time)
    out.write(logSequence)
    out.write(logHead)
    out.write(UInt8(scrub ? 1 : 0))
    out.write(UInt8(truncatingIfNeeded: replicas.count))
    for replica in replicas {
      out.write(replica.id)
      out.write(replica.generation)
      out.write(replica.commit)
    }
    out.writeNoExtension()
  }

  /// Reads the sealed content. The generation precedes it in plaintext.
  package init(from reader: inout ByteReader, generation: UInt64) throws(FormatError) {
    guard generation <= FileCounter.most else { throw reader.damaged("its generation exceeds its maximum") }
    guard generation > 0 else { throw reader.damaged("its generation is 0, and 1 is the first") }
    self.generation = generation
    commit = try reader.block16()
    root = try reader.block32()
    counts = try RecordCounts(from: &reader)
    time = try reader.counter("time")
    logSequence = try reader.counter("place in the log")
    logHead = try reader.block32()
    let scrub: UInt8 = try reader.number()
    guard scrub <= 1 else { throw reader.damaged("its scrub mark is \(scrub)") }
    self.scrub = scrub == 1
    let count = Int(try reader.number(UInt8.self))
    guard count <= Self.mostReplicas else { throw reader.damaged("it names \(count) replicas") }
    replicas = []
    for _ in 0..<count {
      let replica = Replica(
        id: try reader.block16(), generation: try reader.counter("replica's generation", atLeast: 1), commit: try reader.block16()
      )
      // A generation has one commit, and none is from the future.
      guard replica.generation < generation || (replica.generation == generation && replica.commit == commit) else {
        throw reader.damaged("it names another commit \(replica.generation) of a replica")
      }
      if let last = replicas.last, last.id >= replica.id { throw reader.damaged("its replicas are not in order") }
      replicas.append(replica)
    }
    try reader.extend()
  }
}
