/// `name=value` pairs.
enum Attributes {
  /// Names that begin so belong to the library.
  private static let reserved = "coffer."

  static func parse(_ pairs: [String]) throws -> [String: String] {
    var attributes: [String: String] = [:]
    for pair in pairs {
      guard let (name, value) = split(pair) else {
        throw Failure.usage("an attribute is not name=value", try: "--attribute env=production")
      }
      guard !name.hasPrefix(reserved) else {
        throw Failure.usage("attributes that begin with '\(reserved)' are reserved", try: "another name")
      }
      guard attributes.updateValue(value, forKey: name) == nil else {
        throw Failure.usage("the attribute '\(name)' was given twice", try: "one value for each name")
      }
    }
    return attributes
  }

  static func split(_ pair: String) -> (name: String, value: String)? {
    // Not among characters: a combining mark after the sign makes one character of both.
    let scalars = pair.unicodeScalars
    guard let equals = scalars.firstIndex(of: "="), equals != scalars.startIndex else { return nil }
    return (String(scalars[..<equals]), String(scalars[scalars.index(after: equals)...]))
  }
}
