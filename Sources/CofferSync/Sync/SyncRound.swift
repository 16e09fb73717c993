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

  /// Whether the memory has this commit and the heads there. Then it remembers this sync.
  func isInStep(_ state: CommittedState) throws(StoreError) -> Bool {
    guard var memory = try SyncRecord.read(salt, remote, in: pins) else { return false }
    guard memory.isOf(state, try carrier.heads().heads) else { return false }
    memory.synced = Milliseconds.count(clock())
    try memory.write(in: pins)
    return true
  }

  /// Nil if another machine put a head meanwhile.
  func run(_ vault: borrowing UnlockedVault, _ secrets: HeadSecrets) throws(StoreError) -> SyncReport? {
    let listing = try carrier.heads()
    var memory = try SyncRecord.read(salt, remote, in: pins)
    var report = SyncReport(remote: remote)
    report.strangers = listing.strangers
    if listing.heads.isEmpty, memory != nil, !options.accepts {
      throw rolledBack("nothing lies there, and machines have put something before")
    }
    let state = try HeadVault.read(vault) { (rows) throws(StoreError) in try rows.committed() }
    if let known = memory, known.isOf(state, listing.heads) {
      memory?.synced = Milliseconds.count(clock())
      if !options.isTrial { try memory?.write(in: pins) }
      report.items = Int(clamping: known.items)
      return report
    }
    let choice = try choose(found(listing.heads, secrets, by: vault, &report), secrets, by: vault)
    let heads = choice.heads
    report.passedOver += choice.passedOver
    var joint = try joint(heads, memory)
    var bases = try Bases.read(salt, in: pins, for: vault)
    // Nobody reads heads under a former key. This vault has what was seen in them.
    if let memory, memory.key != choice.key || options.takesKey != nil { joint.join(memory.seen) }
    guard !bases.isForeign(joint) else { throw forked("this machine's last put there is none that it made") }
    if let memory, !options.accepts, let lost = memory.seen.lacking(in: joint).first {
      throw rolledBack(try missing(lost, memory.seen, in: vault))
    }
    let newest = heads.filter { head in !heads.contains { $0.vector.dominates(head.vector) } }
      .sorted { ($0.state.generation, $0.head.name.description) < ($1.state.generation, $1.head.name.description) }
    let new = newest.filter { !$0.vector.isCovered(by: bases.known) || $0.key != choice.own }
    let known = listing.heads.map(\.generation) + joint.marks.values.map(\.generation) + [bases.lastPut]
    let own = PinRecord.Mark(generation: (known.max() ?? 0) + 1, commit: .random())
    guard !options.isTrial else {
      try rehearse(new, newest, choice, into: vault, bases, own.generation, &report)
      return report
    }
    let key = try key(of: bases.machine, in: vault)
    let last = try self.known(memory, bases)
    for head in new { try take(head, choice, into: vault, last, key, &bases, &report) }
    guard let done = try put(own, of: vault, over: heads, newest, joint, listing, memory, key, &bases, &report)
    else { return nil }
    try remove(choice.refused, beside: bases.known)
    return done
  }

  // MARK: The heads there

  func found(
    _ names: [HeadName], _ secrets: HeadSecrets, by vault: borrowing UnlockedVault, _ report: inout SyncReport
  ) throws(StoreError) -> [Found] {
    // Each costs a header's decryption: 1 024 of them take a second.
    guard names.count <= Self.mostHeads else {
      throw StoreError(
        .tooLarge(limit: Self.mostHeads), "\(names.count) heads lie there", place: remote,
        cure: "remove the oldest ones, or begin the remote anew")
    }
    try bring(names.map { .head($0) })
    var found: [Found] = []
    for name in names {
      guard let bytes = try folder.read(.head(name)) else { throw incomplete("a head is missing there") }
      let head = try Head(bytes, named: name, at: remote)
      let rows = SealedPieces(head, at: remote) { (_) throws(StoreError) in [] }
      let outline: HeadVault.Outline
      do throws(StoreError) { outline = try secrets.outline(of: rows, by: vault) } catch {
        guard error.kind == .rolledBack else { throw error }
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

  /// Brings the pieces that are not in the cache.
  func bring(_ names: [PieceName]) throws(StoreError) {
    var wanted: [PieceName] = []
    for name in names where try !folder.has(name) { wanted.append(name) }
    guard !wanted.isEmpty else { return }
    var missing = try carrier.get(wanted, into: folder).count
    for name in wanted {
      guard let bytes = try folder.read(name), PlainHash.digest(bytes) != name.digest else { continue }
      // Cut short, or changed: a later sync must bring it again.
      try folder.remove(name)
      missing += 1
    }
    guard missing == 0 else { throw incomplete("\(missing) of \(wanted.count) files are missing there, or cut short") }
  }

  func joint(_ heads: [Found], _ memory: SyncRecord?) throws(StoreError) -> VersionVector {
    var joint = VersionVector()
    for head in heads {
      for known in [joint, memory?.seen].compactMap(\.self) {
        guard let machine = known.forks(with: head.vector).first else { continue }
        throw forked("machine \(machine) has put two heads of one generation")
      }
      joint.join(head.vector)
    }
    return joint
  }

  func forked(_ what: String) -> StoreError {
    StoreError(
      .forked, "\(what): a copy of its home works apart", place: remote,
      cure: "accept the vault's pin anew in one of the two homes, which makes it another machine; nothing was changed",
      remedy: .acceptFork)
  }

  // MARK: Taking

  /// This machine's, which is made before its first merge.
  func key(of machine: ReplicaID, in vault: borrowing UnlockedVault) throws(StoreError) -> MergeKey {
    if let key = try SyncMachine.key(of: machine, in: vault) { return key }
    try SyncMachine.make(machine, named: options.machine, in: vault)
    guard let key = try SyncMachine.key(of: machine, in: vault) else {
      throw StoreError(.conflict, "this machine's item was removed meanwhile", place: remote, cure: "try again")
    }
    return key
  }

  /// The vault of a head.
  private final class Other {
    let head: Found, vault: UnlockedVault
    /// The name of the machine that put it.
    let machine: String

    init(_ head: Found, _ vault: consuming UnlockedVault) throws(StoreError) {
      machine = try SyncMachine.name(of: head.machine, in: vault) ?? head.machine.description
      self.head = head
      self.vault = vault
    }
  }

  private func open(
    _ head: Found, _ choice: Choice, by vault: borrowing UnlockedVault, _ known: Known?
  ) throws(StoreError) -> Other {
    let digests = known.map { $0.content.mark == head.key ? $0.digests(in: head.head) : [:] }
    let pieces = try pieces(of: head.head, digests ?? [:])
    return try Other(head, HeadVault.open(pieces, by: vault, with: choice.secrets.slot, taking: choice.taken))
  }

  /// The head of the last sync, and its content.
  struct Known {
    let head: Head, content: MergeBase

    /// The digests of the groups that another head has too.
    func digests(in other: Head) -> [Int: Digest32] {
      guard other.groupCount == head.groupCount else { return [:] }
      let hashes = Dictionary(uniqueKeysWithValues: head.groups.map { ($0.number, $0.hash) })
      var digests: [Int: Digest32] = [:]
      for group in other.groups where hashes[group.number] == group.hash {
        for pair in other.pairs(of: group.number) {
          for (table, digest) in zip(RecordTable.allCases, content.digests(ofPair: pair)) {
            digests[table.buckets.lowerBound + pair] = digest
          }
        }
      }
      return digests
    }
  }

  private func known(_ memory: SyncRecord?, _ bases: Bases) throws(StoreError) -> Known? {
    guard let memory, let name = memory.heads.first, let content = bases.content(at: memory.seen),
      let bytes = try folder.read(.head(name)), PlainHash.digest(bytes) == name.hash
    else { return nil }
    return Known(head: try Head(bytes, named: name, at: remote), content: content)
  }

  /// Brings the groups that are not in the cache.
  ///
  /// - Parameter digests: those that are known.
  func pieces(of head: Head, _ digests: [Int: Digest32] = [:]) throws(StoreError) -> SealedPieces {
    try bring(head.groups.map { .group($0.hash) })
    let (folder, remote) = (folder, remote)
    return SealedPieces(head, at: remote, digests: digests) { (hash) throws(StoreError) in
      guard let bytes = try folder.read(.group(hash)) else {
        throw StoreError(.unreachable, "a file is missing there", place: remote, cure: "try again later")
      }
      return bytes
    }
  }

  private func take(
    _ head: Found, _ choice: Choice, into vault: borrowing UnlockedVault, _ known: Known?, _ key: MergeKey,
    _ bases: inout Bases, _ report: inout SyncReport
  ) throws(StoreError) {
    let other = try open(head, choice, by: vault, known)
    var next = bases
    let changes = try vault.mergeHeads(key, keptUntil: options.keptUntil) { (merge) throws(StoreError) in
      let changes = try self.merge(other, choice, into: &merge, &next)
      // Before the commit, with its id: a merge that is made is a base for later ones, and a failed one never counts.
      try next.write(in: pins)
      return changes
    }
    bases = next
    report.taken.append(SyncReport.Taken(head, by: other.machine, changes))
  }

  private func merge(
    _ other: Other, _ choice: Choice, into merge: inout HeadMerge, _ bases: inout Bases
  ) throws(StoreError) -> MergeReport {
    let base = bases.base(of: other.head.vector)
    let changes = try merge.merge(other.vault, since: base, taking: choice.taken)
    let content = try other.vault.mergeBase(merge.key, from: base)
    bases.note(content, other.head.vector, by: changes.isEmpty ? nil : merge.commit())
    return changes
  }

  /// Reports the merges of heads, and whether a put would follow.
  private func rehearse(
    _ heads: [Found], _ newest: [Found], _ choice: Choice, into vault: borrowing UnlockedVault, _ known: Bases,
    _ next: UInt64, _ report: inout SyncReport
  ) throws(StoreError) {
    let own = try SyncMachine.key(of: known.machine, in: vault)
    let key = if let own { own } else { MergeKey(try SyncMachine.newKey()) }
    let others = try heads.map { (head) throws(StoreError) in try open(head, choice, by: vault, nil) }
    var bases = known, told = report
    try vault.rehearseHeads(key, keptUntil: options.keptUntil) { (heads) throws(StoreError) in
      for other in others {
        let changes = try merge(other, choice, into: &heads, &bases)
        told.taken.append(SyncReport.Taken(other.head, by: other.machine, changes))
      }
      let content = try heads.content(from: bases.newest)
      if try !isPut(heads.rows, content, newest) { told.put = next }
    }
    report = told
  }

  // MARK: Refusals

  func rolledBack(_ what: String) -> StoreError {
    StoreError(
      .rolledBack, what, place: remote,
      cure: "find out who put older files there; to take those on purpose, accept them. Nothing was changed",
      remedy: .acceptOlder)
  }

  func missing(
    _ machine: ReplicaID, _ seen: VersionVector, in vault: borrowing UnlockedVault
  ) throws(StoreError) -> String {
    let name = try SyncMachine.name(of: machine, in: vault) ?? machine.description
    return "\(name)'s put of generation \(seen.marks[machine]?.generation ?? 0) is missing there"
  }

  func incomplete(_ what: String) -> StoreError {
    StoreError(
      .unreachable, "\(what): the remote is not whole yet", place: remote,
      cure: "try again later; nothing here was changed")
  }
}

extension SyncReport.Taken {
  init(_ head: SyncRound.Found, by machine: String, _ changes: MergeReport) {
    self.init(
      machine: machine, generation: head.state.generation, put: Milliseconds.date(head.state.time), changes: changes)
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
