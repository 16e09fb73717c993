internal import CofferStorage

/// Text from a vault or a file, for a terminal.
package enum Printable {
  /// `text` with invisible characters except newlines spelled out.
  package static func text(_ text: String) -> String { text.spelledOut(but: "\n") }

  /// Like ``text(_:)``, on one line.
  package static func line(_ text: String) -> String {
    // Most text is ASCII, and needs no Unicode properties.
    if StoredName.isPrintableASCII(text) { return text }
    return Self.text(text).unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
      .joined(separator: "\\n")
  }

  /// With `…` in place of each URL's password. The URL may have lost a slash, as a path does, or both, as a mistyped one.
  package static func withoutPasswords(_ text: String) -> String {
    text.split(separator: " ", omittingEmptySubsequences: false).map(withoutPassword).joined(separator: " ")
  }

  /// A password may hold any of `:/@`: it ends at the last `@`.
  private static func withoutPassword(_ word: Substring) -> String {
    guard let end = word.lastIndex(of: "@") else { return String(word) }
    var rest = word[..<end]
    while let scheme = rest.firstIndex(of: ":") {
      rest = rest[scheme...].dropFirst()
      let login = rest.drop { $0 == "/" }
      guard let colon = login.firstIndex(of: ":") else { break }
      if !login[..<colon].contains("/") { return "\(word[...colon])…\(word[end...])" }
    }
    return String(word)
  }
}
