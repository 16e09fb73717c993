internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

/// An item as seen by clients, without its secret.
struct StoredItem: Sendable, Equatable {
  let path: ItemPath
  let label: String
  let attributes: [String: String]
  let created: Date
  let modified: Date
  /// The item and its number of writes: equal ones mean equal content.
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

/// The collections and their aliases at one moment. Names are distinguished by their bytes, as in the vault, and not by
/// Unicode's characters: each is found by its path element, which is ASCII.
struct CollectionBook: Sendable, Equatable {
  private(set) var collections = CollectionState.standard
  /// Whether it was read from the vault: until then an alias may lead elsewhere than initially.
  var isRead = false
  /// The index of each collection by its element: clients can make thousands, and each change looks up all.
  private var places = Dictionary(uniqueKeysWithValues: CollectionState.standard.enumerated().map { ($1.name, $0) })
  /// The collection's name by the alias's element. `default` leads to the login collection until it is set, and `session`
  /// always to the session's, as with other providers.
  private var aliases = [
    "default": CollectionState.login, "session": CollectionState.session, "login": CollectionState.login,
  ]

  subscript(name: String) -> CollectionState? { places[PathElement.encode(name)].map { collections[$0] } }

  /// The name of the collection behind an alias; nil if there is none.
  func collection(behind alias: String) -> String? { aliases[PathElement.encode(alias)] }

  /// The last parts of the paths of all aliases.
  var aliasElements: [String] { aliases.keys.sorted() }

  /// Records the collection of an alias.
  mutating func lead(_ alias: String, to name: String) { aliases[PathElement.encode(alias)] = name }

  /// Records the state of a collection.
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
