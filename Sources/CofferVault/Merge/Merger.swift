internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials

/// Runs within one write transaction of this vault and one read transaction of the other.
struct Merger {
  let plan: MergePlan
  /// Until when items deleted in the other vault can be restored here; nil removes them for good.
  let keptUntil: Date?
  var items: ItemTable { plan.ours.items }
  var records: RecordSet { items.records }
  var view: VerifiedView { items.view }

  func run(_ change: inout Change) throws(StoreError) -> MergeReport {
    try replace(&change)
    for (record, deletion) in plan.removed {
      let earlier = EarlierDeletion(
        recorded: deletion.recorded, moment: deletion.moment, commit: deletion.deletion.commit)
      _ = try items.removals.remove(record.name, keptUntil: keptUntil, as: earlier, &change)
    }
    // All renamed records leave their places first, because one may take another's place.
    var lifted: [RecordIndex: MergeLine] = [:]
    // The fields must move before their item.
    for step in plan.steps.reversed() where step.isMoved {
      if let own = step.ours { lifted[own.index] = try lift(own, &change) }
    }
    var report = plan.report
    let conflicts = Dictionary(uniqueKeysWithValues: report.conflicts.enumerated().map { ($1.name, $0) })
    for step in plan.steps {
      do throws(StoreError) {
        let kept = try write(step, lifted, &change)
        if let place = conflicts[step.name] { report.conflicts[place].kept = kept }
      } catch { throw error.about(key: step.name.description) }
    }
    for burial in try plan.burials(&change) {
      if let gain = try plan.gain(burial, &change) { try bury(gain, burial, &change) }
    }
    return report
  }

  private func lift(_ record: MergeRecord, _ change: inout Change) throws(StoreError) -> MergeLine {
    let own = try plan.line(of: record, in: plan.ours, &change)
    let role = try own.top.meta(change).role
    let lifted = MergeLine(
      top: try own.top.lifted(change), past: try own.past.map { (source) throws(StoreError) in try source.lifted(change) })
    for source in own.past { _ = try records.drop(source.index, as: .past, forGood: false, &change) }
    _ = try records.drop(record.index, as: role, forGood: false, &change)
    change.events.append(items.entry(.itemDeleted, record.index))
    return lifted
  }

  // MARK: One record

  /// - Returns: the revision of the loser of a conflict, if it is kept.
  private func write(
    _ step: MergeStep, _ lifted: [RecordIndex: MergeLine], _ change: inout Change
  ) throws(StoreError) -> UInt64? {
    if step.verdict == .whole, let record = step.theirs {
      try writeWhole(record, step, &change)
      return nil
    }
    var own = step.ours.flatMap { lifted[$0.index] }, other: MergeLine?
    if let record = step.ours, own == nil { own = try plan.line(of: record, in: plan.ours, &change) }
    if let record = step.theirs { other = try plan.line(there: record) }
    guard let winner = step.verdict.isOfOurs ? own : other else {
      throw StoredParts.tampered("a record that should exist is missing", view.place)
    }
    let most = plan.history(of: step)
    var past = own?.past ?? [], isLoserNew = false
    if !step.verdict.keepsContent {
      (past, isLoserNew) = try joined(winner, step.verdict.isOfOurs ? other : own, change)
      if isLoserNew, let loser = past.last, let id = step.ours?.id, try plan.kept([loser], of: id, change).isEmpty {
        past.removeLast()
        isLoserNew = false
      }
      past = past.suffix(most)
      for (place, source) in past.enumerated() where !source.isOurs {
        if let same = try own?.past.first(matching: source, change) { past[place] = same }
      }
    } else if step.gainsPast, let own, let other {
      past = try (past + plan.gained(own, other, by: step, &change)).sorted(change)
    }
    let revision = try store(
      winner.top, as: step.name, named: step.named, keeping: most, after: past, own?.past ?? [], &change)
    return step.verdict.isConflict && isLoserNew ? revision - 1 : nil
  }

  /// The distinct previous versions of both, oldest first. The loser is last, because it is replaced now.
  private func joined(
    _ winner: MergeLine, _ loser: MergeLine?, _ change: borrowing Change
  ) throws(StoreError) -> (past: [MergeSource], endsInLoser: Bool) {
    guard let loser else { return (winner.past, false) }
    let past = try winner.past + loser.past.missing(in: winner.all, change)
    let isNew = try past.first(matching: loser.top, change) == nil
    return (try past.sorted(change) + (isNew ? [loser.top] : []), isNew)
  }

  /// Stores the contents that a record gains from a deletion: a present record keeps it as previous versions.
  func bury(_ gain: MergeGain, _ burial: MergeBurial, _ change: inout Change) throws(StoreError) {
    let own = gain.own?.past ?? []
    guard let (moment, mark) = gain.deletion else {
      let named = try gain.line.top.meta(change).named
      _ = try store(
        gain.line.top, as: burial.name, named: named, keeping: gain.history, after: gain.line.past, own, &change)
      return
    }
    let index = items.index(of: burial.name)
    var next = try number(after: records.highestRevision(of: index, &change))
    for source in gain.line.past {
      try seal(source, as: burial.name, next, &change) { $0.becomeFormer() }
      next = try number(after: next)
    }
    let until = gain.own == nil && mark.until == 0 ? keptUntil.map(Milliseconds.until) ?? 0 : mark.until
    try seal(gain.line.top, as: burial.name, next, &change) { meta in
      meta.history = UInt8(clamping: gain.history)
      meta.become(deletedAt: moment, RecordMeta.Deletion(commit: mark.commit, until: until))
    }
    for source in gain.own?.all ?? [] { _ = try records.drop(source.index, as: .past, forGood: false, &change) }
    change.events.append(items.entry(.itemDeleted, index))
  }

  /// Versions that precede all others stay in place, with their numbers. The other versions of the old history are removed.
  ///
  /// - Returns: the revision of the version.
  func store(
    _ content: MergeSource, as name: ItemName, named: UInt64, keeping: Int, after past: [MergeSource], _ own: [MergeSource],
    _ change: inout Change
  ) throws(StoreError) -> UInt64 {
    let target = try items.target(name, &change)
    if target.old == nil { try items.checkRoom(for: name, &change) }
    let highest: UInt64
    if let old = target.old { highest = old.revision } else { highest = try records.highestRevision(of: target.index, &change) }
    let kept = try RecordLimits.history(keeping)
    let staying = target.old == nil ? 0 : Self.staying(past, below: highest, keeping: kept)
    // The replaced version's number is free: none of its history has it.
    var next = target.old == nil || staying == past.count ? try number(after: highest) : highest
    for source in past.dropFirst(staying) {
      try seal(source, as: name, next, &change) { $0.becomeFormer() }
      next = try number(after: next)
    }
    try seal(content, as: name, next, &change) { meta in
      meta.history = kept
      meta.named = named
    }
    let stay = Set(past.prefix(staying).map(\.index))
    for source in own where source.isInPlace && !stay.contains(source.index) {
      _ = try records.drop(source.index, as: .past, &change)
    }
    change.events.append(items.entry(.itemSet, target.index))
    return next
  }

  private func number(after number: UInt64) throws(StoreError) -> UInt64 {
    try view.checked { () throws(FormatError) in try FileCounter.next(number, "revision of an item") }
  }

  /// The number of first versions that can stay in place, so that all others follow them and none exceeds the limit.
  private static func staying(_ past: [MergeSource], below revision: UInt64, keeping kept: UInt8) -> Int {
    let count = past.prefix(while: \.isInPlace).count
    let next = revision + UInt64(max(1, past.count - count))
    let isAscending = zip(past.prefix(count), past.prefix(count).dropFirst()).allSatisfy { $0.revision < $1.revision }
    guard isAscending, !past.dropFirst(count).contains(where: \.isInPlace),
      past.first.map({ $0.revision >= next - min(next - 1, UInt64(kept)) }) ?? true
    else { return 0 }
    return count
  }

  private func seal(
    _ source: MergeSource, as name: ItemName, _ revision: UInt64, _ change: inout Change, _ edit: (inout RecordMeta) -> Void
  ) throws(StoreError) {
    let record = try source.open(change)
    var meta = record.meta
    (meta.service, meta.account, meta.field, meta.revision) = (name.service, name.account, name.field, revision)
    edit(&meta)
    try RecordLimits.check(meta)
    let sealed = try view.checked { () throws(FormatError) in try record.sealed(as: meta, keys: view.keys) }
    try records.put(sealed, of: meta, &change)
  }
}

extension RecordMeta {
  fileprivate mutating func becomeFormer() {
    // A deleted content keeps no other time of its own.
    if kind == .deleted { modified = written }
    become(.former)
  }
}
