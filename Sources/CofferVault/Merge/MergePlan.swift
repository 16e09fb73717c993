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
  /// Those that write, each item before its fields.
  private(set) var steps: [MergeStep] = []
  /// Items and fields that the other vault deleted.
  private(set) var removed: [(record: MergeRecord, by: MergeDeletion)] = []
  /// Contents of the other vault that a deletion here beat, that deletion, and the name to keep them under.
  var beaten: [(record: MergeRecord, by: MergeDeletion, name: ItemName)] = []
  /// The name here of each item and field that stays or goes, by its id in either vault.
  var names: [ItemID: ItemName] = [:]
  /// Records whose rows here go, for the other vault's, if it has any, to come as they are.
  var replaced: Set<ItemID> = []
  /// Previous versions here that the other vault removed.
  var forgotten: [MergeSource] = []
  var report = MergeReport()

  /// - Parameters:
  ///   - base: the last content that both sides agreed on, and the key of its digests.
  ///   - hides: whether records that are left out take no part; else they are told.
  init(
    _ ours: ItemTable, _ theirs: ItemTable, since base: (content: MergeBase, key: MergeKey)? = nil, keeping: Int? = nil,
    keepsDeleted: Bool, leavingOut isLeftOut: (VaultItem) -> Bool, hides: Bool = false,
    progress: (Int, Int) -> Void = { _, _ in }, _ change: inout Change
  ) throws(StoreError) {
    var none = Change()
    let read = Self.differing(ours, theirs, base?.content, change)
    let other = try MergeSide(theirs, isOurs: false, pairs: read, leavingOut: isLeftOut, hides: hides, &none)
    let own = try MergeSide(ours, isOurs: true, pairs: read, leavingOut: isLeftOut, hides: hides, &change)
    lines = try base.map { (base) throws(StoreError) in try MergeLines(base.content, base.key, own, other) }
    (self.ours, self.theirs, self.keeping, self.keepsDeleted) = (own, other, keeping, keepsDeleted)
    for record in own.all { names[record.id] = record.name }
    if read != nil {
      let counts = change.added.applied(to: ours.view.state.counts)
      report.same = Int(clamping: counts.items) - own.records.count - own.hidden.count { $0.name.field.isEmpty }
    }
    var claims: [NameClaim] = []
    let pairs = MergePair.match(own.records, other.records, apart: try apart(own.records, other.records))
    for (number, pair) in pairs.enumerated() {
      progress(number, pairs.count)
      if let claim = try claim(pair, number) { claims.append(claim) }
    }
    let hidden = own.hidden.map(\.key)
    let settled = try NameClaim.settled(claims, of: pairs, beside: hidden) { (name) throws(StoreError) in try isTaken(name) }
    for claim in settled { try add(pairs[claim.pair], claim) }
    try noteDeleted()
    report.isEmpty =
      try !noteBurials() && steps.isEmpty && removed.isEmpty && replaced.isEmpty && forgotten.isEmpty
  }

  /// The name of an item or field that remains; otherwise nil, with a note in the report.
  ///
  /// - Parameter isNew: whether it is a field of an item that comes, with all that was deleted with it.
  private mutating func claim(_ pair: MergePair, _ number: Int, isNew: Bool = false) throws(StoreError) -> NameClaim? {
    guard !pair.isLeftOut else {
      noteLeftOut(pair)
      return nil
    }
    switch (pair.ours, pair.theirs) {
    case (let own?, let other?): return try claim(own, other, number)
    case (let own?, nil):
      let fields = ours.fields(of: own), since = since(own.id)
      let deletion = since == nil ? try theirs.deletion(of: own, in: ours) : nil
      guard deletion != nil || since == .theirs && !keepsItem(fields, unless: .theirs) else {
        return NameClaim(own, number, .ours(isConflict: false))
      }
      if let deletion {
        removed.append((own, deletion))
        names[deletion.id] = own.name
      } else {
        replaced.formUnion([own.id] + fields.map(\.id))
      }
      report.deleted.append(own.name)
      return nil
    case (nil, let other?):
      let fields = theirs.fields(of: other)
      if let since = since(other.id) {
        return since != .ours || isNew || keepsItem(fields, unless: .ours) ? taken(other, number) : nil
      }
      guard !isNew, let deletion = try ours.deletion(of: other, in: theirs) else { return taken(other, number) }
      beaten.append((other, deletion, deletion.name))
      for field in fields {
        beaten.append((field, deletion, ours.deletions.name(of: field.id) ?? field.name.moved(to: deletion.name)))
      }
      report.kept.append(other.name)
      return nil
    case (nil, nil): return nil
    }
  }

  private mutating func claim(_ own: MergeRecord, _ other: MergeRecord, _ number: Int) throws(StoreError) -> NameClaim {
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
  private mutating func taken(_ other: MergeRecord, _ number: Int) -> NameClaim {
    let isNew = lines.map { $0.ours[other.id] == nil && $0.since[other.id] == nil } ?? false
    guard isNew || since(other.id) == .theirs else { return NameClaim(other, number, .theirs(isConflict: false)) }
    replaced.insert(other.id)
    return NameClaim(other, number, .whole)
  }

  private mutating func add(_ pair: MergePair, _ claim: NameClaim) throws(StoreError) {
    let step = try step(pair, claim)
    note(step)
    name(step)
    var fields: [MergeStep] = []
    if let other = pair.theirs {
      fields = try self.fields(pair.ours, other, in: step)
    } else if let own = pair.ours, step.isMoved {
      fields = ours.fields(of: own).map { MergeStep(keeping: $0, in: step.name) }
    }
    steps += ([step] + fields).filter(isWritten)
  }

  private mutating func fields(
    _ item: MergeRecord?, _ other: MergeRecord, in step: MergeStep
  ) throws(StoreError) -> [MergeStep] {
    let (own, others) = (item.map(ours.fields) ?? [], theirs.fields(of: other))
    let pairs = MergePair.match(own, others, apart: try apart(own, others))
    let claims = try fieldClaims(pairs, isNew: item == nil)
    var steps = pairs.compactMap { $0.isLeftOut ? $0.ours : nil }.map { MergeStep(keeping: $0, in: step.name) }
    let hidden = ours.hidden.filter { $0.name.item == item?.name }.map(\.key)
    for claim in try NameClaim.settled(claims, of: pairs, beside: hidden) {
      let field = try self.step(pairs[claim.pair], claim, in: step.name)
      // A field that comes or goes with its item is reported with it.
      if item != nil { note(field) }
      name(field)
      steps.append(field)
    }
    return steps
  }

  /// New fields are taken only while there is room.
  private mutating func fieldClaims(_ pairs: [MergePair], isNew: Bool) throws(StoreError) -> [NameClaim] {
    var claims: [NameClaim] = [], new: [NameClaim] = []
    for (number, pair) in pairs.enumerated() {
      guard let claim = try claim(pair, number, isNew: isNew) else { continue }
      if pair.ours == nil { new.append(claim) } else { claims.append(claim) }
    }
    let room = max(0, RecordMeta.mostFields - claims.count - pairs.count { $0.isLeftOut && $0.ours != nil })
    for claim in new.dropFirst(room) {
      if let name = pairs[claim.pair].theirs?.name { report.leftOut.append(MergeReport.LeftOut(name: name, reason: .noRoom)) }
    }
    return claims + new.prefix(room)
  }

  /// Items and fields that change in this merge are told of already.
  private mutating func noteBurials() throws(StoreError) -> Bool {
    var told = Set(steps.map(\.name) + removed.map(\.record.name) + report.joined + replaced.compactMap { names[$0] })
    var gains = false, change = ours.change
    for burial in try burials(&change) where try gain(burial, &change) != nil {
      gains = true
      if !burial.name.isInternal, told.insert(burial.name).inserted { report.joined.append(burial.name) }
    }
    return gains
  }

  /// Of two records of one name, only the id of the content that stays goes on.
  private mutating func name(_ step: MergeStep) {
    let (own, other) = step.verdict.isOfOurs ? (step.ours, step.theirs) : (step.theirs, step.ours)
    if let other { names[other.id] = own == nil ? step.name : nil }
    if let own { names[own.id] = step.name }
  }

  private func step(_ pair: MergePair, _ claim: NameClaim, in item: ItemName? = nil) throws(StoreError) -> MergeStep {
    let name = item.map(claim.name.moved) ?? claim.name
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
