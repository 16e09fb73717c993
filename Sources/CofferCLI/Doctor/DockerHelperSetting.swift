internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal

/// Has docker ask `docker-credential-coffer`.
enum DockerHelperSetting {
  /// A configuration's helper for all servers.
  private struct Setting {
    /// The helper; nil where none is named, by an empty text or `null` either.
    let name: String?
    /// Where the value stands; nil where the key is absent.
    let value: Range<Int>?
    /// Where the object's content begins.
    let start: Int
  }

  /// What to write into the configuration `text`; nothing where it names coffer for all servers already.
  static func cuts(_ text: borrowing SecretBytes, _ place: String) throws -> [ImportedEntry.Cut] {
    let setting = try setting(text, place)
    guard setting.name == nil else { return [] }
    // A key that stands there twice has its last value for docker.
    if let value = setting.value { return [ImportedEntry.Cut(range: value, stub: "\"coffer\"")] }
    return [ImportedEntry.Cut(range: setting.start..<setting.start, stub: "\n\t\"credsStore\": \"coffer\",")]
  }

  /// Why docker would not ask coffer; nil where it does or will.
  static func obstacle(_ text: borrowing SecretBytes, _ place: String) throws -> String? {
    guard let helper = try setting(text, place).name, helper != "coffer" else { return nil }
    return "docker asks another helper, \(Printable.line(helper)): remove \"credsStore\" if coffer is to take its place"
  }

  private static func setting(_ text: borrowing SecretBytes, _ place: String) throws -> Setting {
    try text.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place)
      var name = ""
      var value: Range<Int>?
      _ = scanner.peek()
      let start = scanner.offset + 1
      try scanner.object { scanner, key in
        // docker is written in Go, whose decoder looks for names in any case and passes over `null`.
        guard key.lowercased() == "credsstore" else { return try scanner.skip() }
        _ = scanner.peek()
        let first = scanner.offset
        if try !scanner.isNull() { name = try scanner.textOrNothing() }
        value = first..<scanner.offset
      }
      return Setting(name: name.isEmpty ? nil : name, value: value, start: start)
    }
  }
}
