internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import CofferVaultFormat
internal import CofferVaultRows

extension SyncRound {
  func put(
    _ own: PinRecord.Mark, of vault: borrowing UnlockedVault, over there: There, _ key: MergeKey, _ bases: inout Bases,
    _ report: inout SyncReport
  ) throws(StoreError) -> SyncReport? {
    let (listing, memory, newest) = (there.listing, there.memory, there.newest)
    var vector = there.joint
    vector.note(own, of: bases.machine)
    let (next, joined, last) = (vector, bases, try standing(newest.last))
    let made = try HeadVault.read(vault) { (rows) throws(StoreError) -> Cut in
      try cut(rows, next, over: newest, since: last, key, joined)
    }
    if made.head != nil { bases.note(put: own) }
    // Of heads under a former key, the next one there need not tell.
    let seen = made.head == nil ? newest.first?.vector ?? there.joint : vector
    bases.note(made.base, seen)
    // Before the put: a base that lies nowhere is never chosen, and a put whose answer is lost is no other's.
    try bases.write(in: pins)
    report.items = made.items
    if let head = made.head {
      // A key that no head there has begins a history.
      let isNewKey = newest.isEmpty ? !listing.heads.isEmpty : newest.contains { $0.key != made.key }
      guard try carrier.put(made.groups.map { .group($0) }, head.name, from: folder, over: listing.heads, anew: isNewKey)
      else { return nil }
      report.put = own.generation
    }
    let now = Milliseconds.count(clock())
    var record = SyncRecord(vault: salt, address: remote, key: made.key, seen: seen, state: made.state, synced: now)
    record.items = UInt64(made.items)
    record.isAutomatic = memory?.isAutomatic ?? false
    let head = made.head?.name ?? newest.first?.head.name
    record.heads = [head].compactMap(\.self) + listing.heads.filter { $0 != head }
    for (machine, mark) in seen.marks {
      let head = there.heads.first { $0.machine == machine && $0.state.commit == mark.commit }
      let known = memory?.seen.marks[machine] == mark ? memory?.times[machine] : nil
      record.times[machine] = mark == own ? now : head?.state.time ?? known
    }
    record.names = try SyncMachine.names(of: seen, in: vault)
    try record.write(in: pins)
    if let put = made.head { tidy(there, put.name, seen) }
    return report
  }

  /// Removes unneeded files. All is put: after a failure, the next sync tries again.
  private func tidy(_ there: There, _ put: HeadName, _ vector: VersionVector) {
    let (heads, names) = (there.heads, there.listing.heads)
    // A copied home's puts, which were taken: no vector can have two of one generation.
    let forks = Set(heads.filter { !$0.vector.isCovered(by: vector) }.map(\.head.name))
    let others = heads.filter { !forks.contains($0.head.name) }
    do throws(StoreError) {
      if !forks.isEmpty { try carrier.remove(forks.map { .head($0) }) }
      let left = names.filter { !forks.contains($0) } + [put]
      _ = try compact(others, there.choice.former(of: names), below: vector, left, isAsked: false)
    } catch {}
  }

  /// One commit of the vault, as it is put.
  private struct Cut: Sendable {
    let key: EpochMark, state: CommittedState
    /// Nil if the only head there has just these rows.
    var head: Head?
    /// Those that no head there has. They are in the cache, as is the head.
    var groups: [Digest32] = []
    let base: MergeBase
    let items: Int
  }

  /// Whether the only head there has just this content.
  func isPut(_ rows: CommittedRows, _ content: MergeBase, _ newest: [Found]) throws(StoreError) -> Bool {
    guard newest.count == 1, newest[0].key == rows.key, newest[0].state.root == rows.root(of: content) else { return false }
    return try rows.header() == newest[0].head.header
  }

  /// The head whose groups a put leaves out. After a day another machine may have removed them. A person who accepts the
  /// remote has all put again, as its files may be lost or cut.
  private func standing(_ last: Found?) throws(StoreError) -> Found? {
    guard let last, !options.accepts else { return nil }
    guard last.state.time + Self.day < Milliseconds.count(clock()) else { return last }
    let there = Set(try carrier.names().names)
    return last.head.groups.allSatisfy { there.contains(.group($0.hash)) } ? last : nil
  }

  private func cut(
    _ rows: CommittedRows, _ vector: VersionVector, over newest: [Found], since last: Found?, _ key: MergeKey, _ bases: Bases
  ) throws(StoreError) -> Cut {
    let content = try rows.mergeBase(key, from: bases.newest)
    // Those of other remotes too.
    let machines = Set(vector.marks.keys).union(bases.known.marks.keys)
    let items = try rows.items(of: content, without: machines.map(SyncMachine.item))
    var cut = Cut(key: rows.key, state: try rows.committed(), base: content, items: items)
    if !options.accepts, try isPut(rows, content, newest) { return cut }
    guard let mark = vector.marks[bases.machine] else { preconditionFailure("it has this machine's entry") }
    let (folder, lent) = (folder, Lent())
    let before = last.flatMap { bases.content(at: $0.vector) }.flatMap { $0.mark == content.mark ? $0 : nil }
    let isUnchanged = { (pair: Int) in before.map { $0.digests(ofPair: pair) == content.digests(ofPair: pair) } ?? false }
    let head = try GroupCutter(rows, content, since: last?.head, isUnchanged: isUnchanged) { (hash, bytes) throws(StoreError) in
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
}
