internal import FoundationEssentials

/// An item as seen by clients, without its secret.
struct StoredItem: Sendable, Equatable {
  let path: ItemPath
  let label: String
  let attributes: [String: String]
  let created: Date
  let modified: Date
  /// Equal ids and revisions mean equal content.
  let id: UUID
  let revision: UInt64

  /// Whether it belongs elsewhere, and is only shown in its collection.
  var isShared: Bool { VaultNaming.sharedID(path.element) != nil }
}

/// A client's data for an item.
struct ItemDraft: Sendable {
  var label = ""
  var attributes: [String: String] = [:]
}

/// A collection as seen by clients, without its items.
struct CollectionState: Sendable, Equatable {
  let name: String
  var label: String
  /// Seconds since 1970; 0 if unknown.
  var created: UInt64 = 0
  var modified: UInt64 = 0

  var path: String { ObjectPath.of(collection: name) }

  /// The initial collection.
  static let login = "login"
  /// It ends with the process, and is never locked.
  static let session = "session"
  static let standard = [CollectionState(name: login, label: "Login"), CollectionState(name: session, label: "session")]
}

/// The collections and their aliases at one moment. As in the vault, names are distinguished by their bytes and not by
/// Unicode's characters: each is found by its path element, which is ASCII.
struct CollectionBook: Sendable, Equatable {
  private(set) var collections = CollectionState.standard
  /// Whether it was read from the vault: until then an alias may lead elsewhere than initially.
  var isRead = false
  /// Indices by element: clients can make thousands of collections, and each change looks up all.
  private var places = Dictionary(uniqueKeysWithValues: CollectionState.standard.enumerated().map { ($1.name, $0) })
  /// The collection's name by the alias's element. `default` leads to the login collection until it is set, `session` always
  /// to the session's, as with other providers.
  private var aliases = [
    "default": CollectionState.login, "session": CollectionState.session, "login": CollectionState.login,
  ]

  subscript(name: String) -> CollectionState? { places[PathElement.encode(name)].map { collections[$0] } }

  /// Nil if the alias leads nowhere.
  func collection(behind alias: String) -> String? { aliases[PathElement.encode(alias)] }

  /// The last parts of the aliases' paths.
  var aliasElements: [String] { aliases.keys.sorted() }

  mutating func lead(_ alias: String, to name: String) { aliases[PathElement.encode(alias)] = name }

  mutating func note(_ state: CollectionState) {
    guard !state.name.isEmpty, state.name != CollectionState.session else { return }
    let element = PathElement.encode(state.name)
    guard let place = places[element] else {
      var new = state
      if new.label.isEmpty { new.label = new.name }
      places[element] = collections.count
      return collections.append(new)
    }
    if !state.label.isEmpty { collections[place].label = state.label }
    collections[place].created = state.created
    collections[place].modified = state.modified
  }
}

extension Date {
  /// Whole seconds since 1970.
  var seconds: UInt64 { UInt64(max(0, timeIntervalSince1970)) }
}
