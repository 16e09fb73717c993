internal import Coffer

/// Has docker ask `docker-credential-coffer`.
enum DockerHelperSetting {
  /// What to write into the configuration `text`; nothing where it names a helper for all servers already.
  ///
  /// - Throws: `.unsupported` where it names another.
  static func cuts(_ text: borrowing SecretBytes, _ place: String) throws -> [ImportedEntry.Cut] {
    try text.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place)
      var helper: String?
      _ = scanner.peek()
      let start = scanner.offset + 1
      try scanner.object { scanner, name in
        if name == "credsStore" { helper = try scanner.textOrNothing() } else { try scanner.skip() }
      }
      guard let helper, !helper.isEmpty else {
        return [ImportedEntry.Cut(range: start..<start, stub: "\n\t\"credsStore\": \"coffer\",")]
      }
      guard helper == "coffer" else {
        throw StoreError(
          .unsupported, "docker has another helper, \(Printable.line(helper))", place: place,
          cure: "remove \"credsStore\" if coffer is to take its place; nothing was removed from the file")
      }
      return []
    }
  }
}
