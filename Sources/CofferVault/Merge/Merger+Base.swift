internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

/// Rows that come as they are: no time, revision or seal changes, so the same rows are the same bytes on all machines.
extension Merger {
  /// Removes rows that the other vault changed or removed for good and this one did not change, and brings its deleted rows.
  func replace(_ change: inout Change) throws(StoreError) {
    guard let lines = plan.lines else { return }
    for id in plan.replaced.sorted() {
      let isPurged = lines.theirs[id] == nil
      for source in lines.ours[id] ?? [] {
        let role = try source.meta(change).role
        _ = try records.drop(source.index, as: role, forGood: isPurged, &change)
        if source.table == .present { change.events.append(items.entry(.itemDeleted, source.index)) }
      }
    }
    for source in plan.forgotten { _ = try records.drop(source.index, as: .past, &change) }
    for deletion in plan.theirs.deletions.all where deletion.isCarried && plan.replaced.contains(deletion.id) {
      let name = try plan.burialName(deletion.name)
      let past = try plan.kept(deletion.line.past, of: deletion.id, change)
      let line = MergeLine(top: deletion.line.top, past: past)
      guard plan.keepsDeleted else { continue }
      if name == deletion.name, try put(line, as: name, &change) { continue }
      let burial = MergeBurial(name: name, line: line, deletion: deletion)
      if let gain = try plan.gain(burial, &change) { try bury(gain, burial, &change) }
    }
  }

  func writeWhole(_ record: MergeRecord, _ step: MergeStep, _ change: inout Change) throws(StoreError) {
    let past = try plan.kept(plan.theirs.deletions.formers[record.index] ?? [], of: record.id, change)
    let line = MergeLine(top: plan.theirs.source(of: record), past: past)
    if step.name == record.name, try put(line, as: step.name, &change) { return }
    _ = try store(
      line.top, as: step.name, named: step.named, keeping: Int(record.history), after: line.past, [], &change)
  }

  /// - Returns: false if other rows have its place or a later revision.
  private func put(_ line: MergeLine, as name: ItemName, _ change: inout Change) throws(StoreError) -> Bool {
    let target = try items.target(name, &change)
    let first = try (line.past.first ?? line.top).meta(change).revision
    guard target.old == nil, try records.highestRevision(of: target.index, &change) < first else { return false }
    if line.top.table == .present { try items.checkRoom(for: name, &change) }
    for source in line.all {
      let record = try source.open(change)
      let sealed: SealedRecord
      if source.items.view.keys.epochMark == view.keys.epochMark, let row = try source.lifted(change).row {
        sealed = row
      } else {
        sealed = try view.checked { () throws(FormatError) in try record.sealed(as: record.meta, keys: view.keys) }
      }
      try records.put(sealed, of: record.meta, &change)
    }
    change.events.append(items.entry(line.top.table == .present ? .itemSet : .itemDeleted, target.index))
    return true
  }
}
