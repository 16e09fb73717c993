/// The rules for names of keys, services and accounts.
public enum StoredName {
  /// Bytes of UTF-8 in a name, at most: a service is often a URL, and a longer name is a value in the wrong place.
  public static let longest = 1024

  /// Returns `name` when it can name a value.
  ///
  /// - Throws: ``StoreError/Kind/invalidName`` when it is empty, longer than ``longest`` or holds a control character (which
  ///   could forge a line in a line-based protocol or a terminal).
  @discardableResult
  public static func check(_ name: String, as role: String = "key") throws(StoreError) -> String {
    guard !name.isEmpty else {
      throw StoreError(.invalidName, "an empty \(role) name", cure: "give the \(role) a name of 1 to \(longest) bytes")
    }
    guard name.utf8.count <= longest else {
      throw StoreError(
        .invalidName, "a \(role) name of \(name.utf8.count) bytes", cure: "use at most \(longest) bytes of UTF-8")
    }
    // Unicode's controls, U+0000 to U+001F and U+007F to U+009F, without a look-up for each letter.
    if let bad = name.unicodeScalars.first(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) {
      throw StoreError(
        .invalidName, "a \(role) name with the control character U+\(String(bad.value, radix: 16, uppercase: true))",
        cure: "use printable characters only")
    }
    return name
  }
}
