internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import CofferVaultFormat
internal import CofferVaultRows
internal import SystemPackage

/// One look at the remote, a merge of each head that is new here, and one put.
struct SyncRound {
  private let options: SyncOptions
  private let remote: String
  private let pins: FilePath
  private let folder: PieceFolder
  private let carrier: any Carrier
  private let salt: VaultSalt

  init(
    _ name: RemoteName, _ vault: VaultID, pins: FilePath, caches: FilePath, _ options: SyncOptions
  ) throws(StoreError) {
    guard let salt = VaultSalt(vault.bytes) else { preconditionFailure("a vault's id has 16 bytes") }
    self.salt = salt
    remote = name.text
    self.pins = pins
    self.options = options
    let cache = try TrustedPath.makePrivateFolder(caches.appending("sync").appending(SyncRecord.digits(salt, name.text)))
    folder = try PieceFolder(cache.appending("pieces"))
    carrier = try name.carrier(folder: cache.appending("carrier")) { (bytes) throws(StoreError) in
      try Head(bytes, named: nil, at: name.text).groups.map { ($0.number, $0.hash) }
    }
  }

  /// A head that lies there, with its verified state.
  private struct Found {
    let head: Head
    let key: EpochMark
    let state: VaultState
    let vector: VersionVector
    /// The machine that put it.
    let machine: ReplicaID
  }

  /// Nil if another machine put a head meanwhile.
  func run(_ vault: borrowing UnlockedVault) throws(StoreError) -> SyncReport? {
    let listing = try carrier.heads()
    let memory = try SyncRecord.read(salt, remote, in: pins)
    var report = SyncReport(remote: remote)
    report.strangers = listing.strangers
    if listing.heads.isEmpty, memory != nil, !options.accepts {
      throw rolledBack("nothing lies there, and machines have put something before")
    }
    let commit = try HeadVault.read(vault) { $0.state.commit }
    if let memory, memory.commit == commit, Set(memory.heads) == Set(listing.heads) { return report }
    let heads = try found(listing.heads, by: vault, &report)
    let joint = try joint(heads, memory)
    var bases = try Bases.read(salt, in: pins, for: vault)
    guard !bases.isForeign(joint) else { throw forked("this machine's last put there is none that it made") }
    if let memory, !options.accepts, let lost = memory.seen.lacking(in: joint).first {
      throw rolledBack(try missing(lost, memory.seen, in: vault))
    }
    let newest = heads.filter { head in !heads.contains { $0.vector.dominates(head.vector) } }
      .sorted { ($0.state.generation, $0.head.name.description) < ($1.state.generation, $1.head.name.description) }
    let key = try key(of: bases.machine, in: vault)
    for head in newest where !head.vector.isCovered(by: bases.known) { try take(head, into: vault, key, &bases, &report) }
    return try put(vault, over: newest, joint, listing, key, &bases, &report)
  }

  // MARK: The heads there

  private func found(
    _ names: [HeadName], by vault: borrowing UnlockedVault, _ report: inout SyncReport
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
      do throws(StoreError) { outline = try HeadVault.outline(of: rows, by: vault) } catch {
        guard error.kind == .rolledBack else { throw error }
        report.passedOver += 1
        continue
      }
      let vector = VersionVector(outline.state.replicas)
      guard let own = outline.state.replicas.first(where: { $0.commit == outline.state.commit }) else {
        throw StoreError(.damaged, "a head there is of no machine", place: remote, cure: "begin the remote anew")
      }
      found.append(Found(head: head, key: outline.key, state: outline.state, vector: vector, machine: own.id))
    }
    return found
  }

  private static let mostHeads = 1_024

  /// Brings the pieces that are not in the cache.
  private func bring(_ names: [PieceName]) throws(StoreError) {
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

  private func joint(_ heads: [Found], _ memory: SyncRecord?) throws(StoreError) -> VersionVector {
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

  private func forked(_ what: String) -> StoreError {
    StoreError(
      .forked, "\(what): a copy of its home works apart", place: remote,
      cure: "accept the vault's pin anew in one of the two homes, which makes it another machine; nothing was changed",
      remedy: .acceptFork)
  }

  // MARK: Taking

  /// This machine's, which is made before its first merge.
  private func key(of machine: ReplicaID, in vault: borrowing UnlockedVault) throws(StoreError) -> MergeKey {
    if let key = try SyncMachine.key(of: machine, in: vault) { return key }
    try SyncMachine.make(machine, named: options.machine, in: vault)
    guard let key = try SyncMachine.key(of: machine, in: vault) else {
      throw StoreError(.conflict, "this machine's item was removed meanwhile", place: remote, cure: "try again")
    }
    return key
  }

  private func take(
    _ head: Found, into vault: borrowing UnlockedVault, _ key: MergeKey, _ bases: inout Bases, _ report: inout SyncReport
  ) throws(StoreError) {
    try bring(head.head.groups.map { .group($0.hash) })
    let (folder, remote) = (folder, remote)
    let rows = SealedPieces(head.head, at: remote) { (hash) throws(StoreError) in
      guard let bytes = try folder.read(.group(hash)) else {
        throw StoreError(.unreachable, "a file is missing there", place: remote, cure: "try again later")
      }
      return bytes
    }
    let other = try HeadVault.open(rows, by: vault)
    let machine = try SyncMachine.name(of: head.machine, in: other) ?? head.machine.description
    let base = bases.base(of: head.vector)
    var next = bases
    // Noted before the commit, with its id: a merge that is made is a base for later ones, and a failed one never counts.
    let changes = try vault.mergeHeads(key, keptUntil: options.keptUntil) { (merge) throws(StoreError) in
      let changes = try merge.merge(other, since: base)
      next.note(try other.mergeBase(key, from: base), head.vector, by: changes.isEmpty ? nil : merge.commit())
      try next.write(in: pins)
      return changes
    }
    bases = next
    report.taken.append(SyncReport.Taken(machine: machine, changes: changes))
  }

  // MARK: Putting

  private func put(
    _ vault: borrowing UnlockedVault, over newest: [Found], _ joint: VersionVector, _ listing: PieceListing,
    _ key: MergeKey, _ bases: inout Bases, _ report: inout SyncReport
  ) throws(StoreError) -> SyncReport? {
    report.items = try vault.count(ItemQuery())
    let known = listing.heads.map(\.generation) + joint.marks.values.map(\.generation) + [bases.lastPut]
    let own = PinRecord.Mark(generation: (known.max() ?? 0) + 1, commit: .random())
    var vector = joint
    vector.note(own, of: bases.machine)
    let (next, joined) = (vector, bases)
    let made = try HeadVault.read(vault) { (rows) throws(StoreError) -> Cut in
      try cut(rows, next, over: newest, key, joined)
    }
    if made.head != nil { bases.note(put: own, after: joint) }
    let seen = made.head == nil ? joint : vector
    bases.note(made.base, seen)
    // Before the put: a base that lies nowhere is never chosen, and a put whose answer is lost is no other's.
    try bases.write(in: pins)
    if let head = made.head {
      let isNewKey = newest.contains { $0.key != made.key }
      guard try carrier.put(made.groups.map { .group($0) }, head.name, from: folder, over: listing.heads, anew: isNewKey)
      else { return nil }
      report.put = own.generation
    }
    let heads = [made.head?.name ?? newest.first?.head.name].compactMap(\.self)
    try SyncRecord(vault: salt, address: remote, key: made.key, seen: seen, commit: made.commit, heads: heads).write(in: pins)
    return report
  }

  /// One commit of the vault, as it is put.
  private struct Cut: Sendable {
    let key: EpochMark, commit: CommitID
    /// Nil if the only head there has just these rows.
    var head: Head?
    /// Those that no head there has. They are in the cache, as is the head.
    var groups: [Digest32] = []
    let base: MergeBase
  }

  private func cut(
    _ rows: CommittedRows, _ vector: VersionVector, over newest: [Found], _ key: MergeKey, _ bases: Bases
  ) throws(StoreError) -> Cut {
    var cut = Cut(key: rows.key, commit: rows.state.commit, base: try rows.mergeBase(key, from: bases.newest))
    if newest.count == 1, let only = newest.first, only.key == rows.key, only.state.root == rows.state.root,
      try rows.header() == only.head.header
    {
      return cut
    }
    guard let mark = vector.marks[bases.machine] else { preconditionFailure("it has this machine's entry") }
    let (folder, lent) = (folder, Lent())
    let head = try GroupCutter(rows, since: newest.last?.head) { (hash, bytes) throws(StoreError) in
      lent.hashes.append(hash)
      try folder.write(bytes, as: .group(hash))
    }
    .head(generation: mark.generation, commit: mark.commit, replicas: vector.replicas)
    try folder.write(head.encoded(), as: .head(head.name))
    let named = Set(head.groups.map(\.hash))
    (cut.head, cut.groups) = (head, lent.hashes.filter(named.contains))
    return cut
  }

  private final class Lent { var hashes: [Digest32] = [] }

  // MARK: Refusals

  private func rolledBack(_ what: String) -> StoreError {
    StoreError(
      .rolledBack, what, place: remote,
      cure: "find out who put older files there; to take those on purpose, accept them. Nothing was changed",
      remedy: .acceptOlder)
  }

  private func missing(
    _ machine: ReplicaID, _ seen: VersionVector, in vault: borrowing UnlockedVault
  ) throws(StoreError) -> String {
    let name = try SyncMachine.name(of: machine, in: vault) ?? machine.description
    return "\(name)'s put of generation \(seen.marks[machine]?.generation ?? 0) is missing there"
  }

  private func incomplete(_ what: String) -> StoreError {
    StoreError(
      .unreachable, "\(what): the remote is not whole yet", place: remote,
      cure: "try again later; nothing here was changed")
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
