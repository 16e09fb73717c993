internal import CofferVaultFormat

struct NameClaim {
  let pair: Int
  var name: ItemName
  /// The time of the name; 0 for the record's first name, or if its content has no room for the time.
  var named: UInt64
  let created: UInt64
  let id: ItemID
  let verdict: MergeVerdict

  /// The later of both names, or the greater one by bytes if the times are equal. Only a time that fits into the content
  /// that stays counts, so the next merge finds the same.
  init(_ ours: MergeRecord, _ theirs: MergeRecord, _ number: Int, _ verdict: MergeVerdict) {
    let isTimed = verdict.isOfOurs ? ours.tellsNamed : theirs.tellsNamed
    let isLaterThere = isTimed && ours.named != theirs.named ? ours.named < theirs.named : ours.key < theirs.key
    pair = number
    name = isLaterThere ? theirs.key : ours.key
    named = isTimed ? max(ours.named, theirs.named) : 0
    created = max(ours.created, theirs.created)
    id = max(ours.id, theirs.id)
    self.verdict = verdict
  }

  init(_ record: MergeRecord, _ number: Int, _ verdict: MergeVerdict) {
    (pair, name, named) = (number, record.key, record.named)
    (created, id, self.verdict) = (record.created, record.id, verdict)
  }

  /// Whether this record got the name later, and so keeps it.
  private func goesBefore(_ other: NameClaim) -> Bool {
    let (own, others) = (max(named, created), max(other.named, other.created))
    return own == others ? other.id < id : own > others
  }

  /// Gives each record a unique name. If several share a name, all but one get a number; if a record that takes no part has
  /// it, all do.
  ///
  /// Neither vault may use the numbered name for something else, not even for an item about to be deleted: the other vault
  /// still has it, and would match it by name.
  ///
  /// - Parameters:
  ///   - taken: names of records that take no part.
  ///   - isTaken: whether a record that was not read has a name.
  static func settled(
    _ claims: [NameClaim], of pairs: [MergePair], beside taken: [ItemName] = [],
    isTaken: (ItemName) throws(StoreError) -> Bool = { _ in false }
  ) throws(StoreError) -> [NameClaim] {
    let fixed = Set(pairs.filter(\.isLeftOut).flatMap(\.keys) + taken)
    var owners: [ItemName: Set<Int>] = [:]
    for (number, pair) in pairs.enumerated() { for key in pair.keys { owners[key, default: []].insert(number) } }
    var holders: [ItemName: Int] = [:]
    var others: [Int] = []
    for (place, claim) in claims.enumerated() {
      guard !fixed.contains(claim.name), let holder = holders[claim.name] else {
        if fixed.contains(claim.name) { others.append(place) } else { holders[claim.name] = place }
        continue
      }
      let isBefore = claim.goesBefore(claims[holder])
      holders[claim.name] = isBefore ? place : holder
      others.append(isBefore ? holder : place)
    }
    var settled = claims
    for place in others.sorted(by: { claims[$0].isListed(before: claims[$1]) }) {
      let claim = claims[place]
      settled[place].name = try claim.name.numbered { (name) throws(StoreError) in
        guard holders[name] == nil, owners[name, default: []].allSatisfy({ $0 == claim.pair }) else { return false }
        return try !isTaken(name)
      }
      // Later than both previous names, so the next merge keeps it.
      settled[place].named += 1
      holders[settled[place].name] = place
    }
    return settled
  }

  private func isListed(before other: NameClaim) -> Bool { name == other.name ? id < other.id : name < other.name }
}

extension ItemName {
  /// For a field only its own name, because its item may have another name in the other vault.
  var key: ItemName { field.isEmpty ? self : ItemName(sealed: "", "", field: field) }

  /// A field's name in another item; else that item's.
  func moved(to item: ItemName) -> ItemName { ItemName(sealed: item.service, item.account, field: field) }

  func numbered(_ isFree: (ItemName) throws(StoreError) -> Bool) throws(StoreError) -> ItemName {
    var number = 2
    while true {
      let name = numbered(number)
      if try isFree(name) { return name }
      number += 1
    }
  }

  private func numbered(_ number: Int) -> ItemName {
    let end = "(\(number))"
    guard field.isEmpty else {
      return ItemName(sealed: service, account, field: "\(field.cut(to: RecordMeta.longestField - end.utf8.count - 1)) \(end)")
    }
    guard !account.isEmpty else { return ItemName(sealed: service, end) }
    return ItemName(sealed: service, "\(account.cut(to: RecordMeta.longestName - end.utf8.count - 1)) \(end)")
  }
}

extension String {
  /// The longest prefix of whole scalars within `limit` bytes.
  fileprivate func cut(to limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var end = unicodeScalars.startIndex, count = 0
    while end < unicodeScalars.endIndex {
      count += UTF8.width(unicodeScalars[end])
      guard count <= limit else { break }
      end = unicodeScalars.index(after: end)
    }
    return String(unicodeScalars[..<end])
  }
}
