internal import CofferPlatform
internal import CofferVaultFormat

struct MergePlan {
  /// The minimum number of previous versions that a written record keeps; nil for as many as on either side.
  let keeping: Int?
  let ours: MergeSide, theirs: MergeSide
  private(set) var groups: [MergeGroup] = []
  private(set) var removed: [(item: MergeRecord, at: UInt64)] = []
  var report = MergeReport()

  init(_ ours: MergeSide, _ theirs: MergeSide, keeping: Int?, progress: (Int, Int) -> Void) throws(StoreError) {
    (self.ours, self.theirs, self.keeping) = (ours, theirs, keeping)
    var claims: [NameClaim] = []
    let pairs = MergePair.match(ours.records, theirs.records)
    for (number, pair) in pairs.enumerated() {
      progress(number, pairs.count)
      if let claim = try claim(pair, number) { claims.append(claim) }
    }
    for claim in NameClaim.settled(claims, of: pairs) { try add(pairs[claim.pair], claim) }
    report.isEmpty = groups.isEmpty && removed.isEmpty
  }

  /// The name of an item that remains; otherwise nil, with a note in the report.
  private mutating func claim(_ pair: MergePair, _ number: Int) throws(StoreError) -> NameClaim? {
    guard !pair.isLeftOut else {
      noteLeftOut(pair)
      return nil
    }
    switch (pair.ours, pair.theirs) {
    case (let own?, let other?): return try claim(own, other, number)
    case (let own?, nil):
      guard let moment = try theirs.deletion(ofItem: own, in: ours) else {
        return NameClaim(own, number, .ours(isConflict: false))
      }
      removed.append((own, moment))
      report.deleted.append(own.name)
      return nil
    case (nil, let other?):
      guard try ours.deletion(ofItem: other, in: theirs) != nil else {
        return NameClaim(other, number, .theirs(isConflict: false))
      }
      report.kept.append(other.name)
      return nil
    case (nil, nil): return nil
    }
  }

  mutating func claim(_ own: MergeRecord, _ other: MergeRecord, _ number: Int) throws(StoreError) -> NameClaim {
    let claim = NameClaim(own, other, number, try verdict(own, other))
    if claim.named == 0, own.key != other.key {
      let (from, to) = claim.name == own.key ? (other, own) : (own, other)
      report.undated.append(MergeReport.Renamed(from: from.name, to: to.name))
    }
    return claim
  }

  private mutating func add(_ pair: MergePair, _ claim: NameClaim) throws(StoreError) {
    let step = step(pair, claim)
    note(step)
    var group = MergeGroup(item: step)
    if let other = pair.theirs {
      try addFields(pair.ours, other, to: &group)
    } else if let own = pair.ours, step.isMoved {
      group.fields = ours.fields(of: own).map { MergeStep(keeping: $0, in: step.name) }
    }
    let isChanged = isWritten(step) || !group.removed.isEmpty || group.fields.contains(where: isWritten)
    if isChanged { groups.append(group) }
  }

  func step(_ pair: MergePair, _ claim: NameClaim, in item: ItemName? = nil) -> MergeStep {
    let name = item.map { ItemName(sealed: $0.service, $0.account, field: claim.name.field) } ?? claim.name
    return MergeStep(ours: pair.ours, theirs: pair.theirs, verdict: claim.verdict, name: name, named: claim.named)
  }

  func isWritten(_ step: MergeStep) -> Bool {
    if step.isMoved { return true }
    switch step.verdict {
    case .same(let isLaterThere): return isLaterThere
    case .theirs: return true
    case .ours(let isConflict): return isConflict && history(of: step) > 0
    }
  }

  func history(of step: MergeStep) -> Int {
    if case .same = step.verdict { return Int(step.ours?.history ?? 0) }
    guard step.theirs != nil else { return Int(step.ours?.history ?? 0) }
    guard let keeping else { return Int(max(step.ours?.history ?? 0, step.theirs?.history ?? 0)) }
    return keeping == 0 ? 0 : max(keeping, Int(step.ours?.history ?? 0), Int(step.theirs?.history ?? 0))
  }
}
