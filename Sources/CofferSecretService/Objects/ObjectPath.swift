internal import CofferStorage

/// Source: Secret Service API 0.2, "Object paths".
enum ObjectPath: Hashable, Sendable {
  case service
  case collection(String)
  /// A collection under an alias, as a separate object.
  case alias(String)
  case item(ItemPath)
  case session
  case prompt
  case portal
  /// A parent of other paths.
  case folder(String)

  static let root = "/org/freedesktop/secrets"
  static let portalRoot = "/org/freedesktop/portal/desktop"
  /// No object: no prompt is necessary, or no collection has the alias.
  static let none = "/"
  private static let folders: Set = [
    "/", "/org", "/org/freedesktop", root + "/collection", root + "/aliases", root + "/session", root + "/prompt",
    "/org/freedesktop/portal",
  ]

  /// The object of that path; nil if there can be none.
  init?(_ path: String) {
    if path == Self.root {
      self = .service
    } else if path == Self.portalRoot {
      self = .portal
    } else if Self.folders.contains(path) {
      self = .folder(path)
    } else {
      guard path.hasPrefix(Self.root + "/") else { return nil }
      let parts = path.dropFirst(Self.root.count + 1).split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      switch (parts.first, parts.count) {
      case ("collection", 2):
        guard let name = PathElement.decode(parts[1]) else { return nil }
        self = .collection(name)
      case ("aliases", 2):
        guard let name = PathElement.decode(parts[1]) else { return nil }
        self = .alias(name)
      case ("collection", 3):
        guard let name = PathElement.decode(parts[1]) else { return nil }
        self = .item(ItemPath(collection: name, element: parts[2]))
      case ("session", 2): self = .session
      case ("prompt", 2): self = .prompt
      default: return nil
      }
    }
  }

  static func of(collection name: String) -> String { root + "/collection/" + PathElement.encode(name) }
  static func of(alias name: String) -> String { root + "/aliases/" + PathElement.encode(name) }
  static func of(session number: UInt64) -> String { root + "/session/s\(number)" }
  static func of(prompt number: UInt64) -> String { root + "/prompt/p\(number)" }
}

/// Paths are compared by bytes.
struct ItemPath: Hashable, Sendable {
  /// Its collection's name.
  let collection: String
  /// The last part of its path.
  let element: String

  var text: String { ObjectPath.of(collection: collection) + "/" + element }

  static func == (left: ItemPath, right: ItemPath) -> Bool {
    left.element == right.element && left.collection.hasSameBytes(as: right.collection)
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(element)
    for byte in collection.utf8 { hasher.combine(byte) }
  }
}
