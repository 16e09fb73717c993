internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials

/// The verified parts of a vault: header, keys, state, and the digests and lists under the state's root. Only ``refresh()``
/// and commits of this process change it.
final class VerifiedView {
  let database: any VaultRows
  let place: VaultPlace
  let id: VaultID
  private let clock: @Sendable () -> Date
  /// Kept to follow a rotation by another process.
  private(set) var slot: OpenSlot
  private(set) var header: VaultHeader
  /// The digest of the header's row with its checksum. The state is bound to it.
  private(set) var headerDigest: Digest32
  private(set) var headerBody: HeaderBody
  private(set) var keys: Subkeys
  private(set) var state: VaultState
  private(set) var tree: DigestTree
  /// The verified lists by bucket, each valid until the bucket's digest changes.
  private var lists: [Int: BucketList] = [:]
  var notes = BucketNotes()
  /// The last log rows up to `state`, of a vault whose writers combine.
  var recent: [RecentRow] = []
  /// The buckets read for a write that can be queued, or stand beside queued ones; nil outside of one.
  var consulted: Set<Int>?
  /// Whether the write is a draft, which others check before they make it.
  var isDrafting = false
  /// The database's counter of foreign commits, as of `state`; nil forces a reload.
  private var dataVersion: Int64?
  /// This machine's memory of the vault; nil without a folder of pins.
  var pins: PinWatch?
  /// The slot no longer opens this vault; it must be unlocked again.
  private(set) var isOver = false

  /// Keys that the vault's key must descend from, besides this machine's pin and the held key.
  private var anchors: [Anchor]
  /// A cache for ``check(_:)``, because an agent's clients ask with each request.
  private var proven: (header: Digest32, invitations: Set<Invitation>) = (.zero, [])
  /// Enough for eight clients with the maximum number of invitations.
  private static let mostProven = 16 * Invitation.most
  /// `keys` may belong to an uncommitted change.
  private var keysAreInDoubt = false
  /// The pin was read before the transaction of the next ``refresh()``.
  private var isPinRead = false

  /// Called within a read transaction. Verifies that the vault's key descends from each anchor, then state and digests.
  init(
    _ database: any VaultRows, _ header: VaultHeader, _ headerDigest: Digest32, slot: consuming OpenSlot, anchors: [Anchor],
    pin: Anchor?, clock: @escaping @Sendable () -> Date
  ) throws(StoreError) {
    let place = database.place
    let keys = try StoredParts.checked(place) { () throws(FormatError) in
      try Subkeys(of: slot.key, vault: header.vault, epoch: header.epoch)
    }
    let known = anchors + (pin.map { [$0] } ?? [])
    headerBody = try StoredParts.checked(place) { () throws(FormatError) in try header.openBody(keys, proving: known) }
    state = try StoredParts.readState(database, header, headerDigest, keys)
    tree = try StoredParts.readDigests(database, keys, expecting: state.root)
    self.keys = keys
    self.database = database
    self.place = place
    self.slot = slot
    self.header = header
    self.headerDigest = headerDigest
    self.anchors = anchors
    self.clock = clock
    dataVersion = try database.dataVersion()
    id = VaultID(bytes: header.vault.bytes)
  }

  /// Milliseconds since 1970.
  var now: UInt64 { Milliseconds.count(clock()) }

  func checked<Result: ~Copyable>(_ body: () throws(FormatError) -> Result) throws(StoreError) -> Result {
    try StoredParts.checked(place, body)
  }

  /// Called before the transaction whose state is compared with the pin, so every pinned commit is visible in it.
  func readPin() throws(StoreError) {
    try pins?.read()
    isPinRead = true
  }

  /// Verifies foreign commits, down to the digests. Called within a transaction.
  func refresh() throws(StoreError) {
    defer { isPinRead = false }
    let version = try database.dataVersion()
    guard version != dataVersion else { return }
    // This reads more, and writes the pin.
    try Waiting.refuse(at: place.description)
    try database.recheckSchema()
    // Other processes of this machine may have seen more. Read within the transaction, the pin may be newer than the
    // transaction, so such a refusal is checked again.
    if !isPinRead { try pins?.read() }
    let previous = keys.epochMark
    try reloadHeader()
    let next = try StoredParts.readState(database, header, headerDigest, keys)
    try checkProgress(to: next)
    try pins?.check(next, key: keys.epochMark)
    let held = keys.epochMark == previous ? self.tree : nil
    // A view in doubt is read whole.
    var read: DigestTree?
    if database.isRemote, dataVersion != nil, held != nil { read = try LogFollowing(view: self).digests(of: next) }
    let tree = if let read { read } else { try StoredParts.readDigests(database, keys, expecting: next.root, from: held) }
    state = next
    lists = lists.filter { tree.digests[$0.key] == self.tree.digests[$0.key] }
    notes.forget { tree.digests[$0] != self.tree.digests[$0] }
    self.tree = tree
    dataVersion = version
    pins?.remember(state, key: keys.epochMark)
  }

  /// A later transaction never sees an older commit, so this state was put back while the vault was open. It is authentic;
  /// only this process's memory reveals it.
  private func checkProgress(to next: VaultState) throws(StoreError) {
    guard next.generation >= state.generation else {
      throw StoredParts.putBack(
        .rolledBack, "commit \(next.generation) is where commit \(state.generation) was read before", place)
    }
    guard next.generation > state.generation || next.commit == state.commit else {
      throw StoredParts.putBack(.forked, "another commit \(next.generation) is where one was read before", place)
    }
  }

  /// Follows a change of slots under the held key, or a rotation, whose key the slot's kept secret opens. Nothing changes
  /// until the new header proves that it descends from the held key.
  private func reloadHeader() throws(StoreError) {
    let (next, digest) = try StoredParts.readHeader(database)
    guard digest != headerDigest else { return }
    guard next.vault == header.vault else {
      throw StoredParts.replaced(next.vault, header.vault, place)
    }
    try settleKeys()
    let held = keys.epochMark
    let known = lineAnchors
    do throws(StoreError) {
      guard next.epoch >= held.epoch else {
        throw StoredParts.putBack(
          .rolledBack, "the header of key epoch \(next.epoch) is where \(held.epoch) was read before", place)
      }
      if next.epoch == held.epoch { try take(next, proving: known) } else { try follow(next, proving: known) }
    } catch {
      let pinned = pins?.anchor?.key
      isOver = error.kind == .locked || pinned.map { $0 != held && $0.epoch == next.epoch } ?? false
      guard isOver, error.kind != .locked else { throw error }
      // Another process took the key of a history that the held one is not of. The next unlock checks it all.
      throw StoreError(
        .locked, "another process of this machine went on with another key of the vault", place: place.description,
        cure: "unlock it again", underlying: error)
    }
    header = next
    headerDigest = digest
  }

  /// All keys that the vault's next one must descend from.
  var lineAnchors: [Anchor] {
    anchors + [Anchor(vault: header.vault, key: keys.epochMark, source: .heldKey)] + (pins?.anchor.map { [$0] } ?? [])
  }

  /// Those that a person's choice between two lines does not decide about.
  var invitedAnchors: [Anchor] { anchors.filter { $0.source == .invitation } }

  /// Checks that the key descends from each of `invitations` and all known anchors. Skips an anchor too old to be proven if
  /// a later one holds. The held key proves nothing of itself and is left out.
  func check(_ invitations: [Invitation]) throws(StoreError) {
    if proven.header != headerDigest { proven = (headerDigest, []) }
    guard !proven.invitations.isSuperset(of: invitations) else { return }
    _ = try checked { () throws(FormatError) in
      var known = anchors + (pins?.anchor.map { [$0] } ?? [])
      for invitation in invitations { known.append(try invitation.anchor()) }
      return try header.openBody(keys, proving: known)
    }
    // Evicted invitations only cost another opening of the header.
    if proven.invitations.count > Self.mostProven { proven.invitations = [] }
    proven.invitations.formUnion(invitations)
  }

  private func take(_ next: VaultHeader, proving known: [Anchor]) throws(StoreError) {
    let body = try checked { () throws(FormatError) in try next.openBody(keys, proving: known) }
    try slot.takeFrame(of: next, place: place.description)
    headerBody = body
  }

  private func follow(_ next: VaultHeader, proving known: [Anchor]) throws(StoreError) {
    let key = try slot.key(in: next, place: place.description)
    let nextKeys = try checked { () throws(FormatError) in try Subkeys(of: key, vault: next.vault, epoch: next.epoch) }
    let body = try checked { () throws(FormatError) in try next.openBody(nextKeys, proving: known) }
    try slot.take(key, of: next, place: place.description)
    headerBody = body
    keys = nextKeys
    lists = [:]
    notes = BucketNotes()
  }

  private func settleKeys() throws(StoreError) {
    guard keysAreInDoubt else { return }
    keys = try checked { () throws(FormatError) in try Subkeys(of: slot.key, vault: header.vault, epoch: slot.epoch) }
    lists = [:]
    keysAreInDoubt = false
  }

  /// - Parameter fresh: whether to ignore a cached list. A write must notice rows changed behind it, or it would seal them
  ///   as genuine.
  func list(of bucket: Int, fresh: Bool = false) throws(StoreError) -> BucketList {
    consulted?.insert(bucket)
    if !fresh || isDrafting, let kept = lists[bucket] { return kept }
    var list = BucketList()
    try database.forEachIndex(inBucket: bucket) { (index, id) throws(StoreError) in
      if let index = RecordIndex(index), let id = RecordID(id) { list.append(BucketEntry(index: index, id: id)) }
    }
    guard DigestTree.digest(bucket, list.entries, keys: keys) == tree.digests[bucket] else {
      throw StoredParts.tampered("the records of a bucket do not fit its digest", place)
    }
    lists[bucket] = list
    return list
  }

  func keepsList(of bucket: Int) -> Bool { lists[bucket] != nil }

  /// Rereads the lists of all buckets. Buckets without a digest must have no row.
  func lists(of table: RecordTable) throws(StoreError) -> [BucketList] {
    guard !tree.isEmpty(table) else {
      // One look instead of one per bucket.
      try database.forEachRecord(in: table) { (_, _) throws(StoreError) in
        throw StoredParts.tampered("a bucket without records has rows", place)
      }
      return []
    }
    try database.expect(.lists(table, most: Int(clamping: state.counts.records)))
    var all: [BucketList] = []
    for bucket in table.buckets { all.append(try list(of: bucket, fresh: true)) }
    return all
  }

  /// - Parameter body: looks up most records of `buckets` in order, and changes nothing.
  func scanning<Result>(
    _ table: RecordTable, _ part: RecordPart, in buckets: [Int], _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard database.isRemote else { return try body() }
    if buckets.count(where: { lists[$0] == nil }) > 1 {
      try database.expect(.lists(table, most: Int(clamping: state.counts.records)))
    }
    var (starts, count) = ([RecordIndex](), 0)
    for bucket in buckets {
      for entry in try list(of: bucket).entries {
        if count % ExpectedRows.batch == 0 { starts.append(entry.index) }
        count += 1
      }
    }
    try database.expect(.records(table, part, starts: starts))
    let result = try body()
    try database.expect(.single)
    return result
  }

  func open(_ index: RecordIndex, _ id: RecordID, in table: RecordTable = .present) throws(StoreError) -> OpenRecord {
    try withRow(index, id, in: table, .all) { (row) throws(StoreError) in
      try checked { () throws(FormatError) in try row.open(keys: keys) }
    }
  }

  func openMeta(_ index: RecordIndex, _ id: RecordID, in table: RecordTable = .present) throws(StoreError) -> RecordMeta {
    try withRow(index, id, in: table, .metadata) { (row) throws(StoreError) in
      try checked { () throws(FormatError) in try row.openMeta(keys: keys) }
    }
  }

  func withRow<Result: ~Copyable>(
    _ index: RecordIndex, _ id: RecordID, in table: RecordTable = .present, _ part: RecordPart,
    _ body: (RecordRow) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var result: Result?
    try index.withBytes { (bytes) throws(StoreError) in
      try database.lendRecord(at: bytes, in: table, part) { (columns) throws(StoreError) in
        guard RecordID(columns.rid) == id else { throw StoredParts.tampered("a record is not the version it should be", place) }
        result = try body(
          RecordRow(
            table: table, index: index, id: id, meta: columns.meta, value: columns.value,
            admitsLater: header.format > UInt32(VaultFormat.version)))
      }
    }
    guard let result else { throw StoredParts.tampered("a record that should exist is missing", place) }
    return result
  }

  func forget() {
    dataVersion = nil
    isPinRead = false
    lists = [:]
    notes = BucketNotes()
  }

  /// Like ``forget()``, but includes the header and starts from the slot's key.
  func forgetHeader() {
    forget()
    headerDigest = .zero
    keysAreInDoubt = true
  }

  func take(_ sealed: SealedChange) {
    state = sealed.state
    tree.take(sealed.tree)
    for bucket in sealed.combined { (lists[bucket], notes[bucket]) = (nil, nil) }
    for (bucket, list) in sealed.lists { lists[bucket] = list }
    for (bucket, found) in sealed.notes { notes[bucket] = found }
    follow(sealed.rows, to: sealed.state)
  }

  func setOldBytesRemain(_ remain: Bool) { state.scrub = remain && marksOldBytes }

  /// Whether the state marks old bytes for a later write to remove. Never on a server, where they stay in row versions, its
  /// log and its backups at its operators' discretion.
  var marksOldBytes: Bool { database.canRemoveOldBytes }

  /// Starts over under the new key, within a rotation's write transaction. The set is empty until the records are added
  /// again.
  func begin(_ next: VaultHeader, keys nextKeys: consuming Subkeys, logHead: Digest32) throws(StoreError) {
    state.logHead = logHead
    // Until the file is rewritten, its free pages hold bytes that the old key opens.
    state.scrub = marksOldBytes
    keys = nextKeys
    try replaceHeader(with: next)
    lists = [:]
    notes = BucketNotes()
    tree = DigestTree(emptyUnder: keys)
  }

  /// Writes both copies of the header. The state is bound to it and must follow in the same transaction.
  func replaceHeader(with next: VaultHeader) throws(StoreError) {
    let encoded = next.encoded()
    try encoded.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
      try database.putHeader(.first, bytes)
      try database.putHeader(.second, bytes)
    }
    headerBody = try checked { () throws(FormatError) in try next.openBody(keys, proving: []) }
    header = next
    headerDigest = PlainHash.digest(encoded)
  }

  func bringSlotUp() throws(StoreError) {
    if slot.epoch != header.epoch { try slot.reopen(in: header, place: place.description) }
  }

  /// Follows a committed header by `found`, which opens it. One that it does not open is left to the next reading.
  ///
  /// - Parameter anew: whether the key is of another line, which only invitations are asked about.
  func take(_ found: borrowing OpenSlot, anew: Bool) throws(StoreError) {
    guard let opened = try found.copied(in: header) else { return }
    if anew { anchors = invitedAnchors + (opened.anchor.map { [$0] } ?? []) }
    slot = opened
  }

  /// - Parameter replacement: the replacement of the slot that unlocked the vault, if any.
  /// - Returns: false if the slot is gone.
  func reopenSlot(_ replacement: consuming NewSlot?) throws(StoreError) -> Bool {
    guard header.slots.contains(where: { $0.id == slot.id }) else { return false }
    if let replacement, replacement.id == slot.id {
      let opened: OpenSlot?
      do { opened = try replacement.opened(in: header) } catch { throw error.storeError(place: place.description) }
      guard let opened else { return false }
      slot = opened
      return true
    }
    try slot.reopen(in: header, place: place.description)
    return true
  }
}

extension VerifiedView {
  /// The state of another vault; nil if these keys do not open it, because anyone could have written it.
  func state(of other: any VaultRows) throws(StoreError) -> VaultState? {
    try other.read { () throws(StoreError) in
      do throws(StoreError) {
        let (header, digest) = try StoredParts.readHeader(other)
        guard header.vault == self.header.vault else { return nil }
        return try StoredParts.readState(other, header, digest, keys)
      } catch {
        // Such a vault is the reason for a restore.
        guard error.kind == .damaged || error.kind == .tampered else { throw error }
        return nil
      }
    }
  }
}
