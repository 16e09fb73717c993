internal import CofferPlatform
internal import CofferStorage

/// What a merge does to one record of this vault.
struct MergeStep {
  let ours: MergeRecord?, theirs: MergeRecord?
  let verdict: MergeVerdict
  var name: ItemName
  var named: UInt64

  /// Whether it has another name here.
  var isMoved: Bool { ours.map { $0.name != name } ?? false }
}

/// Which content an item or a field has after a merge.
enum MergeVerdict: Equatable {
  /// Both have the same; the later write of it gives times and id.
  case same(isLaterThere: Bool)
  /// That of this vault; a conflict where it does not know the other one.
  case ours(isConflict: Bool)
  /// That of the other vault; a conflict where it does not know this one.
  case theirs(isConflict: Bool)
}

/// What a merge does to an item and its fields.
struct MergeGroup {
  var item: MergeStep
  var fields: [MergeStep] = []
  /// Fields that were deleted there, and when.
  var removed: [(field: MergeRecord, at: UInt64)] = []
}

/// All that a merge does, from what both vaults are at one moment.
struct MergePlan {
  /// How many former contents a written record keeps at least; 0 for none, nil for as many as on either side.
  let keeping: Int?
  let ours: MergeSide, theirs: MergeSide
  private(set) var groups: [MergeGroup] = []
  /// Items that were deleted there, and when.
  private(set) var removed: [(item: MergeRecord, at: UInt64)] = []
  private(set) var report = MergeReport()

  init(_ ours: MergeSide, _ theirs: MergeSide, keeping: Int?, progress: (Int, Int) -> Void) throws(StoreError) {
    (self.ours, self.theirs, self.keeping) = (ours, theirs, keeping)
    var claims: [NameClaim] = []
    let pairs = MergePair.match(ours.records, theirs.records)
    for (number, pair) in pairs.enumerated() {
      if let claim = try claim(pair, number) { claims.append(claim) }
    }
    for (number, claim) in NameClaim.settled(claims).enumerated() where !claim.isFixed {
      progress(number, claims.count)
      try add(pairs[claim.pair], claim)
    }
    report.isEmpty = groups.isEmpty && removed.isEmpty
  }

  // MARK: Items

  /// The name of an item that is there afterwards; notes one that is not, and one that takes no part.
  private mutating func claim(_ pair: MergePair, _ number: Int) throws(StoreError) -> NameClaim? {
    switch (pair.ours, pair.theirs) {
    case (let own?, let other?):
      guard let reason = other.exclusion ?? own.exclusion else { return NameClaim(own, other, number) }
      report.leftOut.append(MergeReport.LeftOut(name: other.name, reason: reason))
      return NameClaim(own, number, isFixed: true)
    case (let own?, nil):
      guard own.exclusion == nil else { return NameClaim(own, number, isFixed: true) }
      guard let moment = try theirs.deletion(ofItem: own, in: ours) else { return NameClaim(own, number) }
      removed.append((own, moment))
      report.deleted.append(own.name)
      return nil
    case (nil, let other?):
      if let reason = other.exclusion {
        report.leftOut.append(MergeReport.LeftOut(name: other.name, reason: reason))
        return nil
      }
      guard try ours.deletion(ofItem: other, in: theirs) != nil else { return NameClaim(other, number) }
      report.kept.append(other.name)
      return nil
    case (nil, nil): return nil
    }
  }

  /// Adds what becomes of an item and its fields, where that is anything.
  private mutating func add(_ pair: MergePair, _ claim: NameClaim) throws(StoreError) {
    let step = try step(pair, claim)
    note(step)
    var group = MergeGroup(item: step)
    if let other = pair.theirs { try addFields(pair.ours, other, to: &group) } else { addOwnFields(of: pair.ours, to: &group) }
    let isChanged = isWritten(step) || !group.removed.isEmpty || group.fields.contains(where: isWritten)
    if isChanged { groups.append(group) }
  }

  private func step(_ pair: MergePair, _ claim: NameClaim, in item: ItemName? = nil) throws(StoreError) -> MergeStep {
    let name = item.map { ItemName(sealed: $0.service, $0.account, field: claim.name.field) } ?? claim.name
    let verdict: MergeVerdict
    switch (pair.ours, pair.theirs) {
    case (let own?, let other?): verdict = try self.verdict(own, other)
    case (nil, _): verdict = .theirs(isConflict: false)
    case (_, nil): verdict = .ours(isConflict: false)
    }
    return MergeStep(ours: pair.ours, theirs: pair.theirs, verdict: verdict, name: name, named: claim.named)
  }

  /// Whether the step changes the vault.
  func isWritten(_ step: MergeStep) -> Bool {
    if step.isMoved { return true }
    switch step.verdict {
    case .same(let isLaterThere): return isLaterThere
    case .theirs: return true
    case .ours(let isConflict): return isConflict && history(of: step) > 0
    }
  }

  /// How many former contents the record of a step keeps.
  func history(of step: MergeStep) -> Int {
    if case .same = step.verdict { return Int(step.ours?.history ?? 0) }
    guard step.theirs != nil else { return Int(step.ours?.history ?? 0) }
    guard let keeping else { return Int(max(step.ours?.history ?? 0, step.theirs?.history ?? 0)) }
    return keeping == 0 ? 0 : max(keeping, Int(step.ours?.history ?? 0), Int(step.theirs?.history ?? 0))
  }

  // MARK: Fields

  private mutating func addOwnFields(of item: MergeRecord?, to group: inout MergeGroup) {
    guard let item, group.item.isMoved else { return }
    for field in ours.fields(of: item) {
      let name = ItemName(sealed: group.item.name.service, group.item.name.account, field: field.name.field)
      group.fields.append(
        MergeStep(ours: field, theirs: nil, verdict: .ours(isConflict: false), name: name, named: field.named))
    }
  }

  private mutating func addFields(_ own: MergeRecord?, _ other: MergeRecord, to group: inout MergeGroup) throws(StoreError) {
    let pairs = MergePair.match(own.map(ours.fields) ?? [], theirs.fields(of: other))
    var claims: [NameClaim] = []
    var new: [NameClaim] = []
    for (number, pair) in pairs.enumerated() {
      guard let claim = try fieldClaim(pair, number, isNew: own == nil, &group) else { continue }
      if pair.ours == nil { new.append(claim) } else { claims.append(claim) }
    }
    for claim in new {
      guard claims.count < RecordMeta.mostFields else {
        if let name = pairs[claim.pair].theirs?.name { report.leftOut.append(MergeReport.LeftOut(name: name, reason: .noRoom)) }
        continue
      }
      claims.append(claim)
    }
    for claim in NameClaim.settled(claims) {
      let pair = pairs[claim.pair]
      let step: MergeStep
      if claim.isFixed, let field = pair.ours {
        let name = ItemName(sealed: group.item.name.service, group.item.name.account, field: field.name.field)
        step = MergeStep(ours: field, theirs: nil, verdict: .ours(isConflict: false), name: name, named: field.named)
      } else {
        step = try self.step(pair, claim, in: group.item.name)
      }
      // What comes or goes with its item is told with it.
      if own != nil { note(step, in: group.item) }
      group.fields.append(step)
    }
  }

  /// The name of a field that is there afterwards.
  private mutating func fieldClaim(
    _ pair: MergePair, _ number: Int, isNew: Bool, _ group: inout MergeGroup
  ) throws(StoreError) -> NameClaim? {
    if let reason = pair.theirs?.exclusion ?? (pair.theirs == nil ? nil : pair.ours?.exclusion), let name = pair.theirs?.name {
      report.leftOut.append(MergeReport.LeftOut(name: name, reason: reason))
      return pair.ours.map { NameClaim($0, number, isFixed: true) }
    }
    switch (pair.ours, pair.theirs) {
    case (let own?, let other?): return NameClaim(own, other, number)
    case (let own?, nil):
      guard own.exclusion == nil else { return NameClaim(own, number, isFixed: true) }
      guard let moment = try theirs.deletion(of: own, in: ours) else { return NameClaim(own, number) }
      group.removed.append((own, moment))
      report.deleted.append(own.name)
      return nil
    case (nil, let other?):
      // An item that comes back brings the fields that were deleted with it.
      guard !isNew, try ours.deletion(of: other, in: theirs) != nil else { return NameClaim(other, number) }
      report.kept.append(other.name)
      return nil
    case (nil, nil): return nil
    }
  }

  // MARK: What is told

  private mutating func note(_ step: MergeStep, in item: MergeStep? = nil) {
    if let own = step.ours, step.isMoved, item == nil || own.name.field != step.name.field {
      report.renamed.append(MergeReport.Renamed(from: own.name, to: step.name))
    } else if step.ours == nil, let other = step.theirs, other.key != (item == nil ? step.name : step.fieldKey) {
      report.renamed.append(MergeReport.Renamed(from: other.name, to: step.name))
    }
    switch step.verdict {
    case .same(let isLaterThere):
      report.same += item == nil ? 1 : 0
      report.aligned += isLaterThere ? 1 : 0
    case .theirs where step.ours == nil: report.added.append(step.name)
    case .theirs(isConflict: false): report.updated.append(step.name)
    case .theirs(isConflict: true): report.conflicts.append(MergeReport.Conflict(name: step.name, winner: .other))
    case .ours(isConflict: true): report.conflicts.append(MergeReport.Conflict(name: step.name, winner: .this))
    case .ours(isConflict: false): if step.theirs != nil { report.kept.append(step.name) }
    }
  }
}

extension MergeStep {
  /// What ``MergeRecord/key`` would be.
  fileprivate var fieldKey: ItemName { ItemName(sealed: "", "", field: name.field) }
}
