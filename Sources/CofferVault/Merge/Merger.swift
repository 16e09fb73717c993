internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials

/// Carries out what a merge has planned, within one write transaction of this vault and one read transaction of the other.
struct Merger {
  let plan: MergePlan
  /// Until when what was deleted there can be brought back here; nil where it goes for good.
  let keptUntil: Date?
  var items: ItemTable { plan.ours.items }
  var records: RecordSet { items.records }
  var view: VerifiedView { items.view }

  /// A record and its former contents, out of their places.
  struct Lifted {
    let record: MergeSource
    let past: [MergeSource]
  }

  /// Makes all changes, and returns what was done.
  func run(_ change: inout Change) throws(StoreError) -> MergeReport {
    for (record, moment) in plan.removed + plan.groups.flatMap({ $0.removed.map { ($0.field, $0.at) } }) {
      _ = try items.remove(record.name, keptUntil: keptUntil, at: moment, &change)
    }
    // Everything that gets another name leaves its place first: one may go where another one was.
    var lifted: [RecordIndex: Lifted] = [:]
    for group in plan.groups {
      // The fields before their item.
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
      _ = try records.drop(source.index, as: .past, &change)
    }
    let lifted = Lifted(record: try own.lifted(change), past: past)
    _ = try records.drop(record.index, as: meta.role, &change)
    change.events.append(items.entry(.itemDeleted, record.index))
    return lifted
  }

  // MARK: One record

  /// A content, and those that came before it.
  private struct Line {
    let present: MergeSource
    let past: [MergeSource]
  }

  /// Stores the content that stays, with the past of both.
  ///
  /// - Returns: the revision of the content that lost a conflict, where it is kept.
  private func write(
    _ step: MergeStep, _ lifted: [RecordIndex: Lifted], _ change: inout Change
  ) throws(StoreError) -> UInt64? {
    let own = try ownLine(step, lifted, &change)
    let other = try otherLine(step)
    let winner: Line?, loser: Line?, isConflict: Bool
    switch step.verdict {
    case .same: (winner, loser, isConflict) = (own, nil, false)
    case .ours(let isOne): (winner, loser, isConflict) = (own, isOne ? other : nil, isOne)
    case .theirs(let isOne): (winner, loser, isConflict) = (other, own, isOne)
    }
    guard let winner else { throw VerifiedView.tampered("a record that should exist is missing", view.path) }
    let past = try joined(winner, loser, keep: plan.history(of: step), change)
    let revision = try store(winner.present, of: step, after: past.contents, &change)
    for source in own?.past ?? [] where source.row == nil { _ = try records.drop(source.index, as: .past, &change) }
    return isConflict && past.endsInLoser ? revision - 1 : nil
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

  /// The former contents of both, each once, the oldest first, and the loser last, as the one that is replaced now; no more than are kept.
  private func joined(
    _ winner: Line, _ loser: Line?, keep: Int, _ change: borrowing Change
  ) throws(StoreError) -> (contents: [MergeSource], endsInLoser: Bool) {
    guard keep > 0 else { return ([], false) }
    var past: [(source: MergeSource, meta: RecordMeta)] = []
    for source in winner.past { past.append((source, try source.meta(change))) }
    guard let loser else { return (winner.past.suffix(keep), false) }
    let known = try past + [(winner.present, winner.present.meta(change))]
    for source in loser.past {
      let meta = try source.meta(change)
      if try !isAmong(known, source, meta, change) { past.append((source, meta)) }
    }
    let order = past.indices.sorted { (past[$0].meta.modified, $0) < (past[$1].meta.modified, $1) }
    var contents = order.map { past[$0].source }
    let isNew = try !isAmong(past, loser.present, loser.present.meta(change), change)
    if isNew { contents.append(loser.present) }
    return (contents.suffix(keep), isNew)
  }

  private func isAmong(
    _ known: [(source: MergeSource, meta: RecordMeta)], _ source: MergeSource, _ meta: RecordMeta, _ change: borrowing Change
  ) throws(StoreError) -> Bool {
    for other in known where other.meta.isOfOneWrite(with: meta) {
      let one = try source.open(change)
      if try one.isSameWrite(as: other.source.open(change)) { return true }
    }
    return false
  }

  /// Seals a content and those before it under the step's name, above all revisions that the name had.
  ///
  /// - Returns: the revision of the content.
  private func store(
    _ content: MergeSource, of step: MergeStep, after past: [MergeSource], _ change: inout Change
  ) throws(StoreError) -> UInt64 {
    let target = try items.target(step.name, &change)
    var revision: UInt64
    if let old = target.old {
      revision = old.revision
    } else {
      revision = try records.highestRevision(of: target.index, &change)
      try items.checkRoom(for: step.name, &change)
    }
    for source in past {
      revision = try view.checked { () throws(FormatError) in try FileCounter.next(revision, RecordMeta.part) }
      try seal(source, as: step.name, revision, &change) { $0.become(.former) }
    }
    revision = try view.checked { () throws(FormatError) in try FileCounter.next(revision, RecordMeta.part) }
    let kept = try RecordLimits.history(plan.history(of: step))
    try seal(content, as: step.name, revision, &change) { meta in
      meta.history = kept
      meta.named = step.named
    }
    change.events.append(items.entry(.itemSet, target.index))
    return revision
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
