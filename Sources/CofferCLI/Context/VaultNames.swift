internal import Coffer
internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

/// Short names for vaults, which `--vault` and `COFFER_VAULT` take in the place of a path: settings of this program.
struct VaultNames {
  let context: Context

  /// The prefix of a name's setting.
  private static let prefix = "vault."

  /// Whether `text` can be a name. A text with a slash is always a path.
  static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 64 && !text.hasPrefix(".") && !text.hasPrefix("-")
      && !text.hasPrefix(VaultPlace.mirrorPrefix)
      && text.unicodeScalars.allSatisfy { $0 != "/" && $0 != " " } && Printable.line(text) == text
  }

  /// - Throws: a usage failure for what can be no name.
  static func check(_ name: String) throws(Failure) {
    guard !isName(name) else { return }
    throw .usage(
      "a vault's name has no slash, no space and nothing that is not seen, does not begin with '.' or '-', and has at most 64 "
        + "bytes",
      try: "work")
  }

  /// The path of the vault `name`; nil where nobody gave it one.
  func path(of name: String) throws -> String? {
    guard Self.isName(name) else { return nil }
    guard case .string(let path) = try context.domain(Settings.domain).load(Self.prefix + name) else { return nil }
    return path
  }

  /// The place that `text` says: that of the vault of this name, or `text` itself.
  ///
  /// - Throws: ``unknown(_:)`` for what can be a name alone, and is none.
  func place(_ text: String) throws -> String {
    if let path = try path(of: text) { return path }
    if Self.isName(text), FileFacts.isAbsent(FilePath(text)) { throw try unknown(text) }
    return text
  }

  /// Says that `name` is neither a name nor a file, with the names that there are.
  func unknown(_ name: String) throws -> Failure {
    let names = try all().map(\.name)
    let told = names.isEmpty ? "no vault has a name yet" : "the names are \(names.map(Printable.line).joined(separator: ", "))"
    let add = "coffer vault use \(Printable.line(name)) PATH gives a vault this one"
    return Failure(
      StoreError(
        .noVault, "no vault has the name, and no file here either", key: name, place: context.places.vault.description,
        cure: [LikelyNames.question(LikelyNames.near(name, among: names)), "\(told); \(add)"].compactMap(\.self)
          .joined(separator: " ")))
  }

  /// All names with their paths, by name.
  func all() throws -> [(name: String, path: String)] {
    try context.domain(Settings.domain).contents().compactMap { key, form in
      guard key.hasPrefix(Self.prefix), case .string(let path) = form else { return nil }
      return (String(key.dropFirst(Self.prefix.count)), path)
    }.sorted { $0.name < $1.name }
  }

  /// Gives the vault at `path` a name, or another path to the name.
  func set(_ name: String, to path: String) throws {
    let store = try context.places.openDefaults(Settings.domain)
    try store.save(.string(path), for: Self.prefix + name)
    try store.close()
  }

  /// - Throws: `.notFound`.
  func remove(_ name: String) throws {
    guard try path(of: name) != nil else {
      throw StoreError(.notFound, "no vault has the name", key: name, cure: "coffer vault use")
    }
    let store = try context.places.openDefaults(Settings.domain)
    try store.save(nil, for: Self.prefix + name)
    try store.close()
  }
}
