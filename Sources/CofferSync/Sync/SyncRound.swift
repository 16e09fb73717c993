internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials
internal import SystemPackage

/// One look at the remote, a merge of each head that is new here, and one put.
struct SyncRound {
  let options: SyncOptions
  let remote: String
  let pins: FilePath
  let folder: PieceFolder
  let carrier: any Carrier
  let salt: VaultSalt
  let clock: @Sendable () -> Date

  init(
    _ name: RemoteName, _ vault: VaultID, pins: FilePath, caches: FilePath, _ options: SyncOptions,
    clock: @escaping @Sendable () -> Date
  ) throws(StoreError) {
    salt = vault.salt
    remote = name.text
    (self.pins, self.options, self.clock) = (pins, options, clock)
    let cache = try TrustedPath.makePrivateFolder(Self.cache(of: name, in: caches))
    folder = try PieceFolder(cache.appending("pieces"))
    carrier = try name.carrier(folder: cache.appending("carrier")) { (bytes) throws(StoreError) in
      try Head(bytes, named: nil, at: name.text).groups.map { ($0.number, $0.hash) }
    }
  }

  /// A remote has one vault.
  static func cache(of name: RemoteName, in caches: FilePath) -> FilePath {
    caches.appending("sync").appending(SyncRecord.digits(of: name.text))
  }

  /// A head that lies there, with its verified state.
  struct Found {
    let head: Head
    let outline: HeadVault.Outline
    var key: EpochMark { outline.key }
    var state: VaultState { outline.state }
    let vector: VersionVector
    /// The machine that put it.
    let machine: ReplicaID
  }

  /// The remote, beside this machine's memory of it.
  struct There {
    let listing: PieceListing
    let memory: SyncRecord?
    let choice: Choice
    var heads: [Found] { choice.heads }
    /// Those that no other one dominates, the newest last.
    let newest: [Found]
    /// The puts in them.
    let joint: VersionVector

    init(_ listing: PieceListing, _ memory: SyncRecord?, _ choice: Choice, _ joint: VersionVector) {
      (self.listing, self.memory, self.choice, self.joint) = (listing, memory, choice, joint)
      let heads = choice.heads
      newest = heads.filter { head in !heads.contains { $0.vector.dominates(head.vector) } }
        .sorted { ($0.state.generation, $0.head.name.description) < ($1.state.generation, $1.head.name.description) }
    }
  }

  /// Whether the memory has this commit and the heads there. Then it remembers this sync.
  func isInStep(_ state: CommittedState) throws(StoreError) -> Bool {
    // First what costs no look at the remote.
    guard var memory = try SyncRecord.read(salt, remote, in: pins), memory.state == state,
      memory.isOf(state, try carrier.heads().heads)
    else { return false }
    memory.synced = Milliseconds.count(clock())
    try memory.write(in: pins)
    return true
  }

  /// Nil if another machine put a head meanwhile.
  func run(_ vault: borrowing UnlockedVault, _ secrets: HeadSecrets) throws(StoreError) -> SyncReport? {
    let listing = try look()
    var memory = try SyncRecord.read(salt, remote, in: pins)
    var report = SyncReport(remote: remote)
    report.strangers = listing.strangers
    if listing.heads.isEmpty, !options.accepts {
      let found = listing.strangers > 0 ? "only other files lie there" : "nothing lies there now"
      guard memory == nil else { throw rolledBack("\(found), and machines had put files there") }
      guard listing.strangers == 0 else {
        throw StoreError(
          .refused, "\(found), and no vault", place: remote,
          cure: "use an empty place for the vault, or remove these files or the branch; nothing was put")
      }
    }
    let state = try HeadVault.read(vault) { (rows) throws(StoreError) in try rows.committed() }
    let isDecided = options.accepts || options.takesKey != nil
    if let known = memory, !isDecided, known.isOf(state, listing.heads) {
      memory?.synced = Milliseconds.count(clock())
      if !options.isTrial { try memory?.write(in: pins) }
      report.items = Int(clamping: known.items)
      return report
    }
    let choice = try choose(found(listing.heads, secrets, by: vault, &report), secrets, by: vault)
    report.passedOver += choice.passedOver
    var joint = try joint(choice.heads, memory)
    // This vault has all that was seen there, also under a former key, which nobody reads, or in heads that are gone on purpose.
    if let memory, memory.key != choice.key || options.takesKey != nil || options.accepts { joint.join(memory.seen) }
    let there = There(listing, memory, choice, joint)
    var bases = try Bases.read(salt, in: pins, for: vault)
    guard !bases.isForeign(there.joint) else { throw forked("the last put in this machine's name is not its own") }
    try check(listing, there.joint, against: memory, by: vault)
    let new = there.newest.filter { !$0.vector.isCovered(by: bases.known) || $0.key != choice.own }
    let known = listing.heads.map(\.generation) + there.joint.marks.values.map(\.generation) + [bases.lastPut]
    let own = PinRecord.Mark(generation: (known.max() ?? 0) + 1, commit: .random())
    guard !options.isTrial else {
      try rehearse(new, over: there, into: vault, bases, own.generation, &report)
      return report
    }
    let key = try key(of: bases.machine, in: vault)
    let last = try last(memory, bases)
    for head in new { try take(head, choice, into: vault, last, key, &bases, &report) }
    guard let done = try put(own, of: vault, over: there, key, &bases, &report) else { return nil }
    try remove(choice.refused, beside: bases.known)
    return done
  }

  // MARK: The heads there

  func found(
    _ names: [HeadName], _ secrets: HeadSecrets, by vault: borrowing UnlockedVault, _ report: inout SyncReport
  ) throws(StoreError) -> [Found] {
    var found: [Found] = []
    // A secret that a person gave is tried on the newest.
    for (rows, epoch) in try heads(names) {
      let head = rows.head
      let outline: HeadVault.Outline
      do throws(StoreError) { outline = try secrets.outline(of: rows, by: vault) } catch {
        guard error.kind == .rolledBack || error.kind == .locked && secrets.isLater(than: epoch) else { throw error }
        report.passedOver += 1
        continue
      }
      let vector = VersionVector(outline.state.replicas)
      guard let own = outline.state.replicas.first(where: { $0.commit == outline.state.commit }) else {
        throw StoreError(.damaged, "a head there is of no machine", place: remote, cure: "begin the remote anew")
      }
      found.append(Found(head: head, outline: outline, vector: vector, machine: own.id))
    }
    return found
  }

  private static let mostHeads = 1_024

  /// Brings the heads there, and leaves out those that are not whole: see ``check``.
  func look() throws(StoreError) -> PieceListing {
    var listing = try carrier.heads()
    // Each costs a header's decryption: 1 024 of them take a second.
    guard listing.heads.count <= Self.mostHeads else {
      throw StoreError(
        .damaged, "\(listing.heads.count) heads lie there", place: remote,
        cure: "remove the oldest ones, or begin the remote anew")
    }
    let broken = try fetch(listing.names)
    listing.names.removeAll { broken.contains($0) }
    listing.strangers += broken.count
    listing.broken = broken
    guard !listing.names.isEmpty || broken.isEmpty || options.accepts else { throw incomplete(broken) }
    return listing
  }

  /// Reads the headers of heads in the cache. Nothing is proven.
  ///
  /// - Returns: the newest first: under the latest key, the one with the highest generation, as each put has a higher one than
  ///   the heads that it joins.
  func heads(_ names: [HeadName]) throws(StoreError) -> [(rows: SealedPieces, epoch: UInt64)] {
    var heads: [(rows: SealedPieces, epoch: UInt64)] = []
    for name in names {
      let rows = header(try Head(bytes(of: .head(name)), named: name, at: remote))
      heads.append((rows, try HeadVault.stated(rows).epoch))
    }
    return heads.sorted { ($0.epoch, $0.rows.head.name.generation) > ($1.epoch, $1.rows.head.name.generation) }
  }

  /// Brings the pieces that are not in the cache.
  func bring(_ names: [PieceName]) throws(StoreError) {
    let missing = try fetch(names)
    guard missing.isEmpty else { throw incomplete(missing) }
  }

  /// Returns those that are missing there, cut short or changed.
  private func fetch(_ names: [PieceName]) throws(StoreError) -> [PieceName] {
    var wanted: [PieceName] = [], missing: [PieceName] = []
    for name in names where try piece(name) == nil { wanted.append(name) }
    guard !wanted.isEmpty else { return [] }
    try carrier.get(wanted, into: folder)
    for name in wanted where try piece(name) == nil { missing.append(name) }
    return missing
  }

  /// A piece in the cache; nil if it is not there, or only in part since a program died.
  func piece(_ name: PieceName) throws(StoreError) -> [UInt8]? {
    guard let bytes = try folder.read(name) else { return nil }
    guard PlainHash.digest(bytes) != name.digest else { return bytes }
    try folder.remove(name)
    return nil
  }

  /// A piece that was brought.
  func bytes(of name: PieceName) throws(StoreError) -> [UInt8] {
    guard let bytes = try piece(name) else { throw incomplete([name]) }
    return bytes
  }

  func joint(_ heads: [Found], _ memory: SyncRecord?) throws(StoreError) -> VersionVector {
    var joint = VersionVector()
    for head in heads {
      for known in [joint, memory?.seen].compactMap(\.self) where !options.accepts {
        guard let machine = known.forks(with: head.vector).first else { continue }
        throw forked("machine \(machine) has put two heads of one generation")
      }
      joint.join(head.vector)
    }
    return joint
  }

  func forked(_ what: String) -> StoreError {
    StoreError(
      .forked, "\(what): a copy of its home syncs too", place: remote,
      cure: "accept the vault's pin anew in one of the two homes, which makes it another machine; nothing was changed",
      remedy: .acceptFork)
  }

  // MARK: Refusals

  /// Refuses a remote without a put that was seen there.
  func check(
    _ listing: PieceListing, _ joint: VersionVector, against memory: SyncRecord?, by vault: borrowing UnlockedVault
  ) throws(StoreError) {
    guard let memory, !options.accepts, let machine = memory.seen.lacking(in: joint).first else { return }
    // One of these may have that put.
    guard listing.broken.isEmpty else { throw incomplete(listing.broken) }
    let name = try SyncMachine.names(of: memory.seen, in: vault)[machine] ?? machine.description
    let generation = memory.seen.marks[machine]?.generation ?? 0
    throw rolledBack("generation \(generation), put by '\(name)', is missing")
  }

  func rolledBack(_ what: String) -> StoreError {
    StoreError(
      .rolledBack, "the remote was rolled back: \(what)", place: remote,
      cure: "find out who put older files there; to take those on purpose, accept them. Nothing was changed",
      remedy: .acceptRemote)
  }

  private func incomplete(_ names: [PieceName]) -> StoreError {
    let such = names.first.map { ", such as \($0)" } ?? ""
    return StoreError(
      .unreachable, "the remote is not whole yet; files that are missing or cut short: \(names.count)\(such)", place: remote,
      cure: "try again later, and remove a file that stays so; nothing here was changed")
  }
}

extension PieceName {
  /// Of the file's bytes.
  fileprivate var digest: Digest32 {
    switch self {
    case .head(let name): name.hash
    case .group(let hash): hash
    }
  }
}
