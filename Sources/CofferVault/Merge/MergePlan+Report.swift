extension MergePlan {
  mutating func noteLeftOut(_ pair: MergePair) {
    guard let other = pair.theirs, let reason = other.exclusion ?? pair.ours?.exclusion else { return }
    report.leftOut.append(MergeReport.LeftOut(name: other.name, reason: reason))
  }

  mutating func note(_ step: MergeStep) {
    guard !step.name.isInternal else { return }
    if let found = step.ours ?? step.theirs, found.key != step.name.key {
      report.renamed.append(MergeReport.Renamed(from: found.name, to: step.name))
    }
    if step.gainsPast { report.joined.append(step.name) }
    switch step.verdict {
    case .same(let isLaterThere):
      report.same += step.name.field.isEmpty ? 1 : 0
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
