import Testing

/// A store is used through `Store`, which has everything its users need.
@Suite struct StoreCastTests {
  /// A cast to a store type or protocol, or a test for one. The error type is called StoreError.
  nonisolated(unsafe) private static let cast =
    /(\bas[?!]|\bis) (any |some )?((Defaults|Vault|Agent|Memory|Cache|UserDefaults|Mock)Store|Store|\w*(Listing|OfService))\b/

  @Test func `no store is cast`() throws {
    for line in [
      "if let store = store as? DefaultsStore {", "guard let all = vault as? any Store<Plain> else {", "store is VaultStore",
    ] {
      #expect(line.contains(Self.cast))
    }
    for line in ["error as? StoreError", "let store = open() as any Store<Plain>", "// is a store"] {
      #expect(!line.contains(Self.cast))
    }
    for target in try Package.entries(of: Package.sources) {
      for file in try Package.files(of: target) {
        // A plain search first: most lines have neither word.
        for (number, line) in file.code where (line.contains(" as") || line.contains(" is ")) && line.contains(Self.cast) {
          Issue.record("Sources/\(file.path):\(number): give Store what its user needs: \(line)")
        }
      }
    }
  }
}
