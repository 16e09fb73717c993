internal import CofferStorage

/// What a write transaction has done so far, before it is sealed.
struct Change {
  /// The lists of the touched buckets, as they will be. Each was verified against its digest before its first change.
  var lists: [Int: BucketList] = [:]
  /// Records added less records removed.
  var added = 0
  /// What the log will say.
  var events: [LogEntry] = []
  /// The file holds no more old bytes: the state says so, and the log has nothing to tell.
  var isScrubbed = false

  var isEmpty: Bool { lists.isEmpty && events.isEmpty && !isScrubbed }
}

/// A change as it was committed: what an open vault knows next.
struct SealedChange {
  let state: VaultState
  let tree: DigestTree
  let lists: [Int: BucketList]
}
