internal import CofferStorage

/// The time of a record's current name; a rename changes no other times. A merge uses it to find the newer name. Callers
/// never see this attribute, and only renamed records have it.
extension RecordMeta {
  package static let namedAttribute = "coffer.named"
  private static let namedBytes = 4 + namedAttribute.utf8.count + String(FileCounter.most).utf8.count

  /// Milliseconds since 1970; 0 for a first name, or if the description has no room for the time.
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

  /// Whether there is room for the time; the owner's own text takes precedence. Neither the time nor a name counts, so the
  /// answer is the same under every name.
  package var tellsNamed: Bool {
    let others = describingAttributes
    guard others.count < Self.mostAttributes else { return false }
    var described = self
    described.setAttributes(others)
    (described.service, described.account, described.field) = ("", "", "")
    return described.limitedCount + 2 * Self.longestName + Self.longestField + Self.namedBytes <= Self.largest
  }

  package var describingAttributes: [Attribute] { attributes.filter { !$0.name.hasSameBytes(as: Self.namedAttribute) } }
}
