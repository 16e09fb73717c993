internal import CofferPlatform
internal import CofferStorage

/// A name that a record has, or is to have, after a merge.
struct NameClaim {
  /// Whose it is.
  let pair: Int
  var name: ItemName
  /// When the record got the name; 0 for its first.
  var named: UInt64
  let created: UInt64
  let id: ItemID
  /// Whether the record does not take part, and stays where it is.
  let isFixed: Bool

  /// The name of both sides: the one that was given last, and of those given at one time the last by bytes.
  init(_ ours: MergeRecord, _ theirs: MergeRecord, _ number: Int) {
    let later = theirs.named == ours.named ? ours.key < theirs.key : ours.named < theirs.named
    self.init(later ? theirs : ours, number, named: max(ours.named, theirs.named), created: max(ours.created, theirs.created))
  }

  init(_ record: MergeRecord, _ number: Int, named: UInt64? = nil, created: UInt64? = nil, isFixed: Bool = false) {
    pair = number
    name = record.key
    self.named = named ?? record.named
    self.created = created ?? record.created
    id = record.id
    self.isFixed = isFixed
  }

  /// Whether the name goes to this one and not to `other`: to what got it later.
  private func goesBefore(_ other: NameClaim) -> Bool {
    if isFixed != other.isFixed { return isFixed }
    let (own, others) = (max(named, created), max(other.named, other.created))
    return own == others ? other.id < id : own > others
  }

  /// Gives each record a name of its own: of several with one name all but one get a number behind it.
  static func settled(_ claims: [NameClaim]) -> [NameClaim] {
    var holders: [ItemName: Int] = [:]
    var others: [Int] = []
    for (place, claim) in claims.enumerated() {
      guard let holder = holders[claim.name] else {
        holders[claim.name] = place
        continue
      }
      let isBefore = claim.goesBefore(claims[holder])
      holders[claim.name] = isBefore ? place : holder
      others.append(isBefore ? holder : place)
    }
    var settled = claims
    for place in others.sorted(by: { claims[$0].isListed(before: claims[$1]) }) {
      settled[place].name = claims[place].name.numbered { holders[$0] == nil }
      // Later than either name that it had, so that the next merge keeps it.
      settled[place].named += 1
      holders[settled[place].name] = place
    }
    return settled
  }

  private func isListed(before other: NameClaim) -> Bool { name == other.name ? id < other.id : name < other.name }
}

extension ItemName {
  /// The name with the first number behind it that makes it a free one.
  fileprivate func numbered(_ isFree: (ItemName) -> Bool) -> ItemName {
    var number = 2
    while true {
      let name = numbered(number)
      if isFree(name) { return name }
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
  /// As many of its scalars from the first on as fit in so many bytes.
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
