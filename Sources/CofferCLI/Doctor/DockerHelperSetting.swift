internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal

enum DockerHelperSetting {
  /// The name is nil also for an empty text or `null`, the value's place if the key is absent.
  private typealias Setting = (name: String?, value: Range<Int>?, start: Int)

  /// None if it names coffer for all servers already.
  static func cuts(_ text: borrowing SecretBytes, _ place: String) throws -> [ImportedEntry.Cut] {
    let setting = try setting(text, place)
    guard setting.name == nil else { return [] }
    // docker uses the last value of a repeated key.
    if let value = setting.value { return [ImportedEntry.Cut(range: value, stub: "\"coffer\"")] }
    return [ImportedEntry.Cut(range: setting.start..<setting.start, stub: "\n\t\"credsStore\": \"coffer\",")]
  }

  /// Why docker would not ask coffer; nil if it does or will.
  static func obstacle(_ text: borrowing SecretBytes, _ place: String) throws -> String? {
    guard let helper = try setting(text, place).name, helper != "coffer" else { return nil }
    return "docker uses another helper, \(Printable.line(helper)): remove \"credsStore\" to use coffer instead"
  }

  private static func setting(_ text: borrowing SecretBytes, _ place: String) throws -> Setting {
    try text.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place)
      var name = ""
      var value: Range<Int>?
      _ = scanner.peek()
      let start = scanner.offset + 1
      try scanner.object { scanner, key in
        // docker is written in Go, whose decoder matches names in any case and ignores `null`.
        guard key.lowercased() == "credsstore" else { return try scanner.skip() }
        _ = scanner.peek()
        let first = scanner.offset
        if try !scanner.isNull() { name = try scanner.textOrNothing() }
        value = first..<scanner.offset
      }
      return (name.isEmpty ? nil : name, value, start)
    }
  }
}
