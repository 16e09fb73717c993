internal import Coffer
internal import CofferDefaults
internal import CofferStorage
internal import CofferTerminal

/// Short names for vaults in `--vault` and `COFFER_VAULT`: settings of this program.
struct VaultNames {
  let context: Context

  private static let prefix = "vault."

  /// A text with a slash is always a path.
  static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 64 && !text.hasPrefix(".") && !text.hasPrefix("-")
      && !text.hasPrefix(VaultPlace.mirrorPrefix)
      && text.unicodeScalars.allSatisfy { $0 != "/" && $0 != " " } && Printable.line(text) == text
  }

  static func check(_ name: String) throws(Failure) {
    guard !isName(name) else { return }
    throw .usage(
      "a vault's name has no slash, space or invisible character, does not begin with '.' or '-', and has at most 64 bytes",
      try: "work")
  }

  /// Nil if no vault has the name.
  func path(of name: String) throws -> String? {
    guard Self.isName(name) else { return nil }
    guard case .string(let path) = try context.domain(Settings.domain).load(Self.prefix + name) else { return nil }
    return path
  }

  /// The path of the vault called `text`, or `text` itself.
  ///
  /// - Throws: ``unknown(_:)`` for a text that can only be a name, and is none.
  func place(_ text: String) throws -> String {
    if let path = try path(of: text) { return path }
    if Self.isName(text), FileFacts.isAbsent(FilePath(text)) { throw try unknown(text) }
    return text
  }

  func unknown(_ name: String) throws -> Failure {
    let names = try all().map(\.name)
    let told = names.isEmpty ? "no vault has a name yet" : "the names are \(names.map(Printable.line).joined(separator: ", "))"
    let add = "coffer vault use \(Printable.line(name)) PATH names a vault"
    return Failure(
      StoreError(
        .noVault, "there is no vault or file of this name", key: name, place: context.places.vault.description,
        cure: [LikelyNames.question(LikelyNames.near(name, among: names)), "\(told); \(add)"].compactMap(\.self)
          .joined(separator: " ")))
  }

  /// Sorted by name.
  func all() throws -> [(name: String, path: String)] {
    try Settings.all(Self.prefix, context) { if case .string(let path) = $0 { path } else { nil } }
      .map { ($0.name, $0.value) }
  }

  func set(_ name: String, to path: String) throws { try Settings.save(.string(path), as: Self.prefix + name, context) }

  func remove(_ name: String) throws {
    guard try path(of: name) != nil else {
      throw StoreError(.notFound, "no vault has this name", key: name, cure: "coffer vault use")
    }
    try Settings.save(nil, as: Self.prefix + name, context)
  }
}
