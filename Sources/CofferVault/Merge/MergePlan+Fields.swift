internal import CofferPlatform
internal import CofferVaultFormat

extension MergePlan {
  mutating func addFields(_ item: MergeRecord?, _ other: MergeRecord, to group: inout MergeGroup) throws(StoreError) {
    let (own, others) = (item.map(ours.fields) ?? [], theirs.fields(of: other))
    let pairs = MergePair.match(own, others, apart: try apart(own, others))
    let claims = try fieldClaims(pairs, isNew: item == nil, &group)
    for pair in pairs where pair.isLeftOut {
      if let field = pair.ours { group.fields.append(MergeStep(keeping: field, in: group.item.name)) }
    }
    let hidden = ours.hidden.filter { $0.name.item == item?.name }.map(\.key)
    for claim in try NameClaim.settled(claims, of: pairs, beside: hidden) {
      let step = try step(pairs[claim.pair], claim, in: group.item.name)
      // A field that comes or goes with its item is reported with it.
      if item != nil { note(step, in: group.item) }
      name(step)
      group.fields.append(step)
    }
  }

  /// New fields are taken only while there is room.
  private mutating func fieldClaims(
    _ pairs: [MergePair], isNew: Bool, _ group: inout MergeGroup
  ) throws(StoreError) -> [NameClaim] {
    var claims: [NameClaim] = []
    var new: [NameClaim] = []
    for (number, pair) in pairs.enumerated() {
      guard let claim = try fieldClaim(pair, number, isNew: isNew, &group) else { continue }
      if pair.ours == nil { new.append(claim) } else { claims.append(claim) }
    }
    let room = RecordMeta.mostFields - claims.count - pairs.count { $0.isLeftOut && $0.ours != nil }
    for claim in new.dropFirst(max(0, room)) {
      if let name = pairs[claim.pair].theirs?.name { report.leftOut.append(MergeReport.LeftOut(name: name, reason: .noRoom)) }
    }
    return claims + new.prefix(max(0, room))
  }

  private mutating func fieldClaim(
    _ pair: MergePair, _ number: Int, isNew: Bool, _ group: inout MergeGroup
  ) throws(StoreError) -> NameClaim? {
    guard !pair.isLeftOut else {
      noteLeftOut(pair)
      return nil
    }
    switch (pair.ours, pair.theirs) {
    case (let own?, let other?): return try claim(own, other, number)
    case (let own?, nil):
      if let since = since(own.id) {
        guard since == .theirs else { return NameClaim(own, number, .ours(isConflict: false)) }
        replaced.insert(own.id)
        report.deleted.append(own.name)
        return nil
      }
      guard let deletion = try theirs.deletion(of: own, in: ours) else {
        return NameClaim(own, number, .ours(isConflict: false))
      }
      group.removed.append((own, deletion))
      names[deletion.id] = own.name
      report.deleted.append(own.name)
      return nil
    case (nil, let other?):
      if let since = since(other.id) { return since == .ours && !isNew ? nil : taken(other, number) }
      // A restored item brings the fields deleted with it.
      guard !isNew, let deletion = try ours.deletion(of: other, in: theirs) else { return taken(other, number) }
      beaten.append((other, deletion, deletion.name))
      report.kept.append(other.name)
      return nil
    case (nil, nil): return nil
    }
  }
}
