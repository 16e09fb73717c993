internal import CofferPlatform
internal import CofferVaultFormat

struct MergePlan {
  /// The minimum number of previous versions that a written record keeps; nil for as many as on either side.
  let keeping: Int?
  /// Whether deleted contents are kept.
  let keepsDeleted: Bool
  let ours: MergeSide, theirs: MergeSide
  /// Nil without a base.
  let lines: MergeLines?
  private(set) var groups: [MergeGroup] = []
  private(set) var removed: [(item: MergeRecord, by: MergeDeletion)] = []
  /// Contents of the other vault that a deletion here beat, that deletion, and the name to keep them under.
  var beaten: [(record: MergeRecord, by: MergeDeletion, name: ItemName)] = []
  /// The name here of each item and field that stays or goes, by its id in either vault.
  var names: [ItemID: ItemName] = [:]
  /// Records whose rows here go, for the other vault's, if it has any, to come as they are.
  var replaced: Set<ItemID> = []
  /// Previous versions here that the other vault removed.
  var forgotten: [MergeSource] = []
  var report = MergeReport()

  init(
    _ ours: MergeSide, _ theirs: MergeSide, lines: MergeLines?, keeping: Int?, keepsDeleted: Bool,
    progress: (Int, Int) -> Void
  ) throws(StoreError) {
    (self.ours, self.theirs, self.lines, self.keeping, self.keepsDeleted) = (ours, theirs, lines, keeping, keepsDeleted)
    for record in ours.all { names[record.id] = record.name }
    if ours.pairs != nil {
      let counts = ours.change.added.applied(to: ours.items.view.state.counts)
      report.same = Int(clamping: counts.items) - ours.records.count - ours.hidden.count { $0.name.field.isEmpty }
    }
    var claims: [NameClaim] = []
    let pairs = MergePair.match(ours.records, theirs.records, apart: try apart(ours.records, theirs.records))
    for (number, pair) in pairs.enumerated() {
      progress(number, pairs.count)
      if let claim = try claim(pair, number) { claims.append(claim) }
    }
    let hidden = ours.hidden.map(\.key)
    let settled = try NameClaim.settled(claims, of: pairs, beside: hidden) { (name) throws(StoreError) in try isTaken(name) }
    for claim in settled { try add(pairs[claim.pair], claim) }
    try noteDeleted()
    report.isEmpty =
      try !noteBurials() && groups.isEmpty && removed.isEmpty && replaced.isEmpty && forgotten.isEmpty
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
      let fields = ours.fields(of: own)
      if let since = since(own.id) {
        guard since == .theirs, !keepsItem(fields, unless: .theirs) else {
          return NameClaim(own, number, .ours(isConflict: false))
        }
        replaced.formUnion([own.id] + fields.map(\.id))
        report.deleted.append(own.name)
        return nil
      }
      guard let deletion = try theirs.deletion(ofItem: own, in: ours) else {
        return NameClaim(own, number, .ours(isConflict: false))
      }
      removed.append((own, deletion))
      names[deletion.id] = own.name
      report.deleted.append(own.name)
      return nil
    case (nil, let other?):
      let fields = theirs.fields(of: other)
      if let since = since(other.id) {
        guard since != .ours || keepsItem(fields, unless: .ours) else { return nil }
        return taken(other, number)
      }
      guard let deletion = try ours.deletion(ofItem: other, in: theirs) else { return taken(other, number) }
      beaten.append((other, deletion, deletion.name))
      for field in fields {
        let name = ItemName(sealed: deletion.name.service, deletion.name.account, field: field.name.field)
        beaten.append((field, deletion, ours.deletions.last(of: field.id)?.name ?? name))
      }
      report.kept.append(other.name)
      return nil
    case (nil, nil): return nil
    }
  }

  mutating func claim(_ own: MergeRecord, _ other: MergeRecord, _ number: Int) throws(StoreError) -> NameClaim {
    switch since(own.id) {
    case .theirs: return taken(other, number)
    case .ours: return NameClaim(own, number, .untouched)
    case .both, nil: break
    }
    let claim = NameClaim(own, other, number, try verdict(own, other))
    if claim.named == 0, own.key != other.key {
      let (from, to) = claim.name == own.key ? (other, own) : (own, other)
      report.undated.append(MergeReport.Renamed(from: from.name, to: to.name))
    }
    return claim
  }

  /// The claim of a record that comes from the other vault: as it is, if this one did not change it.
  mutating func taken(_ other: MergeRecord, _ number: Int) -> NameClaim {
    let isNew = lines.map { $0.ours[other.id] == nil && $0.since[other.id] == nil } ?? false
    guard isNew || since(other.id) == .theirs else { return NameClaim(other, number, .theirs(isConflict: false)) }
    replaced.insert(other.id)
    return NameClaim(other, number, .whole)
  }

  private mutating func add(_ pair: MergePair, _ claim: NameClaim) throws(StoreError) {
    let step = try step(pair, claim)
    note(step)
    name(step)
    var group = MergeGroup(item: step)
    if let other = pair.theirs {
      try addFields(pair.ours, other, to: &group)
    } else if let own = pair.ours, step.isMoved {
      group.fields = ours.fields(of: own).map { MergeStep(keeping: $0, in: step.name) }
    }
    let isChanged = isWritten(step) || !group.removed.isEmpty || group.fields.contains(where: isWritten)
    if isChanged { groups.append(group) }
  }

  /// Items and fields that change in this merge are told of already.
  private mutating func noteBurials() throws(StoreError) -> Bool {
    let changed = groups.flatMap { [$0.item.name] + $0.fields.map(\.name) + $0.removed.map(\.field.name) }
    var told = Set(changed + removed.map(\.item.name) + report.joined + replaced.compactMap { names[$0] })
    var gains = false, change = ours.change
    for burial in try burials(change) where try gain(burial, &change) != nil {
      gains = true
      if !burial.name.isInternal, told.insert(burial.name).inserted { report.joined.append(burial.name) }
    }
    return gains
  }

  /// Of two records of one name, only the id of the content that stays goes on.
  mutating func name(_ step: MergeStep) {
    let (own, other) = step.verdict.isOfOurs ? (step.ours, step.theirs) : (step.theirs, step.ours)
    if let other { names[other.id] = own == nil ? step.name : nil }
    if let own { names[own.id] = step.name }
  }

  func step(_ pair: MergePair, _ claim: NameClaim, in item: ItemName? = nil) throws(StoreError) -> MergeStep {
    let name = item.map { ItemName(sealed: $0.service, $0.account, field: claim.name.field) } ?? claim.name
    var step = MergeStep(ours: pair.ours, theirs: pair.theirs, verdict: claim.verdict, name: name, named: claim.named)
    step.gainsPast = try gainsPast(step)
    return step
  }

  func isWritten(_ step: MergeStep) -> Bool {
    if step.isMoved || step.gainsPast { return true }
    switch step.verdict {
    case .same(let isLaterThere): return isLaterThere
    case .theirs: return true
    case .ours(let isConflict): return isConflict && history(of: step) > 0
    case .whole: return true
    case .untouched: return false
    }
  }

  func history(of step: MergeStep) -> Int {
    let own = Int(step.ours?.history ?? 0)
    guard let other = step.theirs, !step.verdict.keepsContent || step.gainsPast else { return own }
    // The loser of a conflict is known nowhere else once the other vault takes over this one's content. Coffer's own items
    // are each written by one machine.
    return max(history(own, Int(other.history)), step.verdict.isConflict && !step.name.isInternal ? 1 : 0)
  }

  func history(_ own: Int, _ other: Int) -> Int { keeping == 0 ? 0 : max(keeping ?? 0, own, other) }
}
