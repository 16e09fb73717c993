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

  struct Lifted {
    let record: MergeSource
    let past: [MergeSource]
  }

  func run(_ change: inout Change) throws(StoreError) -> MergeReport {
    for (record, moment) in plan.removed + plan.groups.flatMap({ $0.removed.map { ($0.field, $0.at) } }) {
      _ = try items.removals.remove(record.name, keptUntil: keptUntil, at: moment, &change)
    }
    // All renamed records leave their places first, because one may take another's place.
    var lifted: [RecordIndex: Lifted] = [:]
    for group in plan.groups {
      // The fields must move before their item.
      for step in group.fields + [group.item] where step.isMoved {
        if let own = step.ours { lifted[own.index] = try lift(own, &change) }
      }
    }
    var report = plan.report
    let conflicts = Dictionary(uniqueKeysWithValues: report.conflicts.enumerated().map { ($1.name, $0) })
    for group in plan.groups {
      for step in [group.item] + group.fields where plan.isWritten(step) {
        do throws(StoreError) {
          let kept = try write(step, lifted, &change)
          if let place = conflicts[step.name] { report.conflicts[place].kept = kept }
        } catch { throw error.about(key: step.name.description) }
      }
    }
    return report
  }

  private func lift(_ record: MergeRecord, _ change: inout Change) throws(StoreError) -> Lifted {
    let own = plan.source(of: record, isOurs: true)
    let meta = try own.meta(change)
    var past: [MergeSource] = []
    for source in try plan.past(of: meta, plan.ours, isOurs: true, &change) {
      past.append(try source.lifted(change))
      _ = try records.drop(source.index, as: .past, forGood: false, &change)
    }
    let lifted = Lifted(record: try own.lifted(change), past: past)
    _ = try records.drop(record.index, as: meta.role, forGood: false, &change)
    change.events.append(items.entry(.itemDeleted, record.index))
    return lifted
  }

  // MARK: One record

  private struct Line {
    let present: MergeSource
    let past: [MergeSource]
  }

  /// - Returns: the revision of the loser of a conflict, if it is kept.
  private func write(
    _ step: MergeStep, _ lifted: [RecordIndex: Lifted], _ change: inout Change
  ) throws(StoreError) -> UInt64? {
    let own = try ownLine(step, lifted, &change)
    let other = try otherLine(step)
    let winner: Line?, loser: Line?, isConflict: Bool
    switch step.verdict {
    case .same(isLaterThere: false): (winner, loser, isConflict) = (own, nil, false)
    case .same(isLaterThere: true):
      let present = other?.present
      (winner, loser, isConflict) = (own.flatMap { own in present.map { Line(present: $0, past: own.past) } }, nil, false)
    case .ours(let isOne): (winner, loser, isConflict) = (own, isOne ? other : nil, isOne)
    case .theirs(let isOne): (winner, loser, isConflict) = (other, own, isOne)
    }
    guard let winner else { throw StoredParts.tampered("a record that should exist is missing", view.place) }
    var past = try joined(winner, loser, change)
    past.contents = past.contents.suffix(plan.history(of: step))
    for (place, source) in past.contents.enumerated() where !source.isOurs {
      if let same = try own?.past.first(matching: source, change) { past.contents[place] = same }
    }
    let revision = try store(winner.present, of: step, after: past.contents, own?.past ?? [], &change)
    return isConflict && past.endsInLoser && !past.contents.isEmpty ? revision - 1 : nil
  }

  private func ownLine(
    _ step: MergeStep, _ lifted: [RecordIndex: Lifted], _ change: inout Change
  ) throws(StoreError) -> Line? {
    guard let record = step.ours else { return nil }
    if let lifted = lifted[record.index] { return Line(present: lifted.record, past: lifted.past) }
    let source = plan.source(of: record, isOurs: true)
    return Line(present: source, past: try plan.past(of: source.meta(change), plan.ours, isOurs: true, &change))
  }

  private func otherLine(_ step: MergeStep) throws(StoreError) -> Line? {
    guard let record = step.theirs else { return nil }
    var none = Change()
    let source = plan.source(of: record, isOurs: false)
    return Line(present: source, past: try plan.past(of: source.meta(none), plan.theirs, isOurs: false, &none))
  }

  /// The distinct previous versions of both, oldest first. The loser is last, because it is replaced now.
  private func joined(
    _ winner: Line, _ loser: Line?, _ change: borrowing Change
  ) throws(StoreError) -> (contents: [MergeSource], endsInLoser: Bool) {
    guard let loser else { return (winner.past, false) }
    var past = winner.past
    for source in loser.past {
      if try (past + [winner.present]).first(matching: source, change) == nil { past.append(source) }
    }
    let isNew = try past.first(matching: loser.present, change) == nil
    let times = try past.map { (source) throws(StoreError) in try source.meta(change).modified }
    let order = past.indices.sorted { (times[$0], $0) < (times[$1], $1) }
    return (order.map { past[$0] } + (isNew ? [loser.present] : []), isNew)
  }

  /// Versions that precede all others stay in place, with their numbers. The other versions of the old history are removed.
  ///
  /// - Returns: the revision of the version.
  private func store(
    _ content: MergeSource, of step: MergeStep, after past: [MergeSource], _ own: [MergeSource], _ change: inout Change
  ) throws(StoreError) -> UInt64 {
    let target = try items.target(step.name, &change)
    if target.old == nil { try items.checkRoom(for: step.name, &change) }
    let highest: UInt64
    if let old = target.old { highest = old.revision } else { highest = try records.highestRevision(of: target.index, &change) }
    let kept = try RecordLimits.history(plan.history(of: step))
    let staying = target.old == nil ? 0 : Self.staying(past, below: highest, keeping: kept)
    // The replaced version's number is free: none of its history has it.
    var next = target.old == nil || staying == past.count ? try number(after: highest) : highest
    for source in past.dropFirst(staying) {
      try seal(source, as: step.name, next, &change) { $0.become(.former) }
      next = try number(after: next)
    }
    try seal(content, as: step.name, next, &change) { meta in
      meta.history = kept
      meta.named = step.named
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

extension [MergeSource] {
  fileprivate func first(matching source: MergeSource, _ change: borrowing Change) throws(StoreError) -> MergeSource? {
    let meta = try source.meta(change)
    for other in self where try other.meta(change).isOfOneWrite(with: meta) {
      let one = try source.open(change)
      if try one.isSameWrite(as: other.open(change)) { return other }
    }
    return nil
  }
}
