internal import Coffer
internal import CofferStorage

/// Has docker ask `docker-credential-coffer`.
enum DockerHelperSetting {
  /// What to write into the configuration `text`; nothing where it names coffer for all servers already.
  static func cuts(_ text: borrowing SecretBytes, _ place: String) throws -> [ImportedEntry.Cut] {
    let (helper, start) = try helper(text, place)
    return helper == nil ? [ImportedEntry.Cut(range: start..<start, stub: "\n\t\"credsStore\": \"coffer\",")] : []
  }

  /// Why docker would not ask coffer; nil where it does or will.
  static func obstacle(_ text: borrowing SecretBytes, _ place: String) throws -> String? {
    guard let helper = try helper(text, place).name, helper != "coffer" else { return nil }
    return "docker asks another helper, \(Printable.line(helper)): remove \"credsStore\" if coffer is to take its place"
  }

  /// The helper for all servers that the configuration names, and where its object begins.
  private static func helper(_ text: borrowing SecretBytes, _ place: String) throws -> (name: String?, start: Int) {
    try text.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place)
      var helper: String?
      _ = scanner.peek()
      let start = scanner.offset + 1
      try scanner.object { scanner, name in
        if name == "credsStore" { helper = try scanner.textOrNothing() } else { try scanner.skip() }
      }
      return (helper.flatMap { $0.isEmpty ? nil : $0 }, start)
    }
  }
}
