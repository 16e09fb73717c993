public import CofferPlatform

/// The rules for names of keys, services and accounts.
public enum StoredName {
  /// The most bytes of UTF-8 in a name. A service is often a URL; a longer name is a value in the wrong place.
  public static let longest = 1024

  /// Returns a valid `name`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` when it is empty, longer than ``longest`` or holds a control
  ///   character (which could forge a line in a line-based protocol or a terminal).
  @discardableResult
  public static func check(_ name: String, as role: String = "key") throws(StoreError) -> String {
    if isPrintableASCII(name) { return name }
    guard !name.isEmpty else {
      throw StoreError(.invalidName, "the \(role) name is empty", cure: "give the \(role) a name of 1 to \(longest) bytes")
    }
    guard name.utf8.count <= longest else {
      throw StoreError(
        .invalidName, "the \(role) name has \(name.utf8.count) bytes", cure: "use at most \(longest) bytes of UTF-8")
    }
    if let bad = name.unicodeScalars.first(where: { $0.properties.generalCategory == .control }) {
      throw StoreError(
        .invalidName,
        "the \(role) name contains the control character U+\(String(bad.value, radix: 16, uppercase: true))",
        cure: "use printable characters only")
    }
    return name
  }

  static func isValid(_ name: String) -> Bool {
    do throws(StoreError) { try check(name) } catch { return false }
    return true
  }

  /// True for 1 to ``longest`` characters of printable ASCII, which no rule forbids. For other names the rules look up each
  /// character in Unicode's tables.
  @inlinable
  package static func isPrintableASCII(_ name: String) -> Bool {
    let bytes = name.utf8Span.span
    guard (1...longest).contains(bytes.count) else { return false }
    for index in bytes.indices where bytes[index] &- 0x20 > 0x7E - 0x20 { return false }
    return true
  }
}
