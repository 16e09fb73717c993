internal import CofferStorage

/// When a record got the name that it has, beside its other times, none of which a rename changes. A merge asks it which of two
/// names is the newer one. It is an attribute of Coffer's own, which only renamed records have and which no caller sees.
extension RecordMeta {
  package static let namedAttribute = "coffer.named"
  /// Bytes of a description that the attribute takes, at most.
  private static let namedBytes = 4 + namedAttribute.utf8.count + String(FileCounter.most).utf8.count

  /// Milliseconds since 1970; 0 for a record that still has its first name, or whose description has no room to tell.
  package var named: UInt64 {
    get {
      guard let attribute = attributes.first(where: { $0.name.hasSameBytes(as: Self.namedAttribute) }),
        let time = UInt64(attribute.value), time <= FileCounter.most
      else { return 0 }
      return time
    }
    set {
      var others = describingAttributes
      defer { setAttributes(others) }
      guard newValue > 0, tellsNamed else { return }
      others.append(Attribute(name: Self.namedAttribute, value: String(min(newValue, FileCounter.most))))
    }
  }

  /// Whether there is room to tell the time: what its owner says of the record goes before. Neither the time nor a name takes
  /// part, so that a content has room under every name or under none.
  package var tellsNamed: Bool {
    let others = describingAttributes
    guard others.count < Self.mostAttributes else { return false }
    var described = self
    described.setAttributes(others)
    (described.service, described.account, described.field) = ("", "", "")
    return described.limitedCount + 2 * Self.longestName + Self.longestField + Self.namedBytes <= Self.largest
  }

  /// The attributes that describe the record, without the time of its name.
  package var describingAttributes: [Attribute] { attributes.filter { !$0.name.hasSameBytes(as: Self.namedAttribute) } }
}
