internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import CofferVaultFormat
internal import CofferVaultRows
internal import SystemPackage

extension SyncRound {
  /// This machine's, which is made before its first merge.
  func key(of machine: ReplicaID, in vault: borrowing UnlockedVault) throws(StoreError) -> MergeKey {
    if let key = try SyncMachine.key(of: machine, in: vault) { return key }
    _ = try vault.changeInternal(SyncMachine.making(machine, named: options.machine))
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

    /// - Parameter name: that of the machine, if this vault knows it.
    init(_ head: Found, _ vault: consuming UnlockedVault, _ name: String?) throws(StoreError) {
      let named = if let name { name } else { try SyncMachine.names(of: head.vector, in: vault)[head.machine] }
      machine = named ?? head.machine.description
      self.head = head
      self.vault = vault
    }
  }

  private func open(
    _ head: Found, _ choice: Choice, by vault: borrowing UnlockedVault, _ last: Last?
  ) throws(StoreError) -> Other {
    let pieces = pieces(of: head.head, after: last?.content.mark == head.key ? last : nil)
    let opened = try HeadVault.open(pieces, by: vault, with: choice.secrets.slot, taking: choice.taken)
    return try Other(head, opened, SyncMachine.names(of: head.vector, in: vault)[head.machine])
  }

  /// The head of the last sync, and its content.
  struct Last {
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

  /// Nil if it is not remembered, or no longer in the cache.
  func last(_ memory: SyncRecord?, _ bases: Bases) throws(StoreError) -> Last? {
    guard let memory, let name = memory.heads.first, let content = bases.content(at: memory.seen),
      let bytes = try piece(.head(name))
    else { return nil }
    return Last(head: try Head(bytes, named: name, at: remote), content: content)
  }

  /// Brings all groups that `last` has not when the first is read, so after the secret was tried: others when they are read.
  func pieces(of head: Head, after last: Last? = nil) -> SealedPieces {
    let known = Set(last?.head.groups.map(\.hash) ?? [])
    let new = head.groups.map(\.hash).filter { !known.contains($0) }
    return SealedPieces(head, at: remote, digests: last?.digests(in: head) ?? [:]) { [self] (hash) throws(StoreError) in
      if let bytes = try piece(.group(hash)) { return bytes }
      try bring(known.contains(hash) ? [.group(hash)] : new.map { .group($0) })
      return try bytes(of: .group(hash))
    }
  }

  func take(
    _ head: Found, _ choice: Choice, into vault: borrowing UnlockedVault, _ last: Last?, _ key: MergeKey,
    _ bases: inout Bases, _ report: inout SyncReport
  ) throws(StoreError) {
    let other = try open(head, choice, by: vault, last)
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
  func rehearse(
    _ heads: [Found], over there: There, into vault: borrowing UnlockedVault, _ known: Bases, _ next: UInt64,
    _ report: inout SyncReport
  ) throws(StoreError) {
    let own = try SyncMachine.key(of: known.machine, in: vault)
    let key = if let own { own } else { MergeKey(try SyncMachine.newKey()) }
    let others = try heads.map { (head) throws(StoreError) in try open(head, there.choice, by: vault, nil) }
    var bases = known, told = report
    let item = own == nil ? try SyncMachine.making(known.machine, named: options.machine) : nil
    try vault.rehearseHeads(key, keptUntil: options.keptUntil) { (heads) throws(StoreError) in
      if let item { try heads.apply(item) }
      for other in others {
        let changes = try merge(other, there.choice, into: &heads, &bases)
        told.taken.append(SyncReport.Taken(other.head, by: other.machine, changes))
      }
      let content = try heads.content(from: bases.newest)
      if try !isPut(heads.rows, content, there.newest) { told.put = next }
    }
    report = told
  }
}

extension SyncReport.Taken {
  init(_ head: SyncRound.Found, by machine: String, _ changes: MergeReport) {
    self.init(
      machine: machine, generation: head.state.generation, put: Milliseconds.date(head.state.time), changes: changes)
  }
}
