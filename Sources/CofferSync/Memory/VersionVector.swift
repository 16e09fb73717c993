package import CofferVaultFormat

/// Which put of which machine is in a head, or was seen: of each machine its last one.
///
/// A vector has all that another has if each of the other's entries is in it, or a later one of that machine.
package struct VersionVector: Hashable, Sendable {
  package private(set) var marks: [ReplicaID: PinRecord.Mark]

  package init(_ replicas: [VaultState.Replica] = []) {
    marks = Dictionary(
      uniqueKeysWithValues: replicas.map { ($0.id, PinRecord.Mark(generation: $0.generation, commit: $0.commit)) })
  }

  /// Ascending by id, as a state has them.
  package var replicas: [VaultState.Replica] {
    marks.sorted { $0.key < $1.key }.map {
      VaultState.Replica(id: $0.key, generation: $0.value.generation, commit: $0.value.commit)
    }
  }

  /// The machines whose entries here are neither in `other` nor before one of it; none if `other` has all.
  package func lacking(in other: VersionVector) -> [ReplicaID] {
    marks.filter { id, mark in !(other.marks[id].map { mark == $0 || mark.generation < $0.generation } ?? false) }.keys.sorted()
  }

  package func isCovered(by other: VersionVector) -> Bool { lacking(in: other).isEmpty }

  /// Whether it has all of `other`, and more.
  package func dominates(_ other: VersionVector) -> Bool { self != other && other.isCovered(by: self) }

  /// The machines of which both have the same generation with two commits: no machine puts one twice, so that two have its
  /// memory, as after a home was copied.
  package func forks(with other: VersionVector) -> [ReplicaID] {
    marks.filter { id, mark in other.marks[id].map { $0.generation == mark.generation && $0.commit != mark.commit } ?? false }
      .keys.sorted()
  }

  /// Takes each later entry of `other`; of two commits of one generation, the same on each machine.
  package mutating func join(_ other: VersionVector) {
    marks.merge(other.marks) { ($0.generation, $0.commit) < ($1.generation, $1.commit) ? $1 : $0 }
  }

  package mutating func note(_ mark: PinRecord.Mark, of machine: ReplicaID) { marks[machine] = mark }

  // MARK: Bytes

  package var byteCount: Int { 2 + marks.count * 40 }

  /// The number of machines, then of each, ascending by id, its id, generation and commit.
  package func write(to out: inout ByteWriter) {
    out.write(UInt16(truncatingIfNeeded: marks.count))
    for replica in replicas {
      out.write(replica.id)
      out.write(replica.generation)
      out.write(replica.commit)
    }
  }

  /// - Throws: ``FormatError/damaged(_:_:)``.
  package init(from reader: inout ByteReader) throws(FormatError) {
    marks = [:]
    let count = try reader.number(UInt16.self)
    guard count <= VaultState.mostReplicas else { throw reader.damaged("it has \(count) machines") }
    var last: ReplicaID?
    for _ in 0..<count {
      let id = try reader.block16(ReplicaID.self)
      if let last, last >= id { throw reader.damaged("its machines are not in order") }
      marks[id] = PinRecord.Mark(
        generation: try reader.counter("generation", atLeast: 1), commit: try reader.block16())
      last = id
    }
  }
}
