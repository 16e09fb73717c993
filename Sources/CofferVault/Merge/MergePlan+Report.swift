extension MergePlan {
  mutating func noteLeftOut(_ pair: MergePair) {
    guard let other = pair.theirs, let reason = other.exclusion ?? pair.ours?.exclusion else { return }
    report.leftOut.append(MergeReport.LeftOut(name: other.name, reason: reason))
  }

  mutating func note(_ step: MergeStep, in item: MergeStep? = nil) {
    guard !step.name.isInternal else { return }
    if let own = step.ours, own.name != step.name, item == nil || own.name.field != step.name.field {
      report.renamed.append(MergeReport.Renamed(from: own.name, to: step.name))
    } else if step.ours == nil, let other = step.theirs, other.key != (item == nil ? step.name : step.fieldKey) {
      report.renamed.append(MergeReport.Renamed(from: other.name, to: step.name))
    }
    if step.gainsPast { report.joined.append(step.name) }
    switch step.verdict {
    case .same(let isLaterThere):
      report.same += item == nil ? 1 : 0
      report.aligned += isLaterThere ? 1 : 0
    case .theirs where step.ours == nil: report.added.append(step.name)
    case .theirs(isConflict: false): report.updated.append(step.name)
    case .theirs(isConflict: true): report.conflicts.append(MergeReport.Conflict(name: step.name, winner: .other))
    case .ours(isConflict: true): report.conflicts.append(MergeReport.Conflict(name: step.name, winner: .this))
    case .ours(isConflict: false): if step.theirs != nil { report.kept.append(step.name) }
    case .whole: if step.ours == nil { report.added.append(step.name) } else { report.updated.append(step.name) }
    case .untouched: break
    }
  }
}
