internal import CofferStorage

/// What a write transaction has done so far, before it is sealed.
struct Change {
  /// The lists of the touched buckets, as they will be. Each was verified against its digest before its first change.
  var lists: [Int: BucketList] = [:]
  /// Records added less records removed.
  var added = 0
  /// What the log will say.
  var events: [LogEntry] = []
  /// The generation that the commit gets at least: one above another history that it comes after.
  var leastGeneration: UInt64 = 0
  /// Who the commit is by, where it is not the pin's replica.
  var replica: ReplicaID?
  /// The name that this machine's writes had before, where the commit is by a new one: until the pin has that, it looks for this.
  var formerReplica: ReplicaID?
  /// The file holds no more old bytes: the state says so, and the log has nothing to tell.
  var isScrubbed = false

  var isEmpty: Bool { lists.isEmpty && events.isEmpty && !isScrubbed }
}

/// A change as it was committed: what an open vault knows next.
struct SealedChange {
  let state: VaultState
  let tree: DigestTree.Change
  let lists: [Int: BucketList]
}
