internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

/// An item as clients see it, without its secret.
struct StoredItem: Sendable, Equatable {
  let path: ItemPath
  let label: String
  let attributes: [String: String]
  let created: Date
  let modified: Date
  /// Which item it is, and how often it was written: two sights of an item that are equal in both are of the same content.
  let id: UUID
  let revision: UInt64

  /// Whether it is no item of its collection, and only shown there.
  var isShared: Bool { VaultNaming.sharedID(path.element) != nil }
}

/// What clients give an item.
struct ItemDraft: Sendable {
  var label = ""
  var attributes: [String: String] = [:]
}

/// A collection as clients see it, without its items.
struct CollectionState: Sendable, Equatable {
  let name: String
  var label: String
  /// Seconds since 1970; 0 where that is not known.
  var created: UInt64 = 0
  var modified: UInt64 = 0

  var path: String { ObjectPath.of(collection: name) }

  /// The initial collection.
  static let login = "login"
  /// What ends with the process, and is never locked.
  static let session = "session"
  static let standard = [CollectionState(name: login, label: "Login"), CollectionState(name: session, label: "session")]
}

/// The collections and their aliases, at one moment. Names are told apart by their bytes, as the vault does, and not by the
/// characters that Unicode makes of them: each is found by its element of a path, which is ASCII.
struct CollectionBook: Sendable, Equatable {
  private(set) var collections = CollectionState.standard
  /// Whether it was read from the vault: until then an alias may lead elsewhere than it does from the start.
  var isRead = false
  /// Where each collection stands, by its element: clients can make thousands, and with each change all are looked up.
  private var places = Dictionary(uniqueKeysWithValues: CollectionState.standard.enumerated().map { ($1.name, $0) })
  /// The name of the collection behind each alias, by the alias's element. `default` leads to the login collection until it is
  /// set, and `session` always to the one of the session, as with other providers.
  private var aliases = [
    "default": CollectionState.login, "session": CollectionState.session, "login": CollectionState.login,
  ]

  subscript(name: String) -> CollectionState? { places[PathElement.encode(name)].map { collections[$0] } }

  /// The name of the collection that an alias leads to; nil where it leads to none.
  func collection(behind alias: String) -> String? { aliases[PathElement.encode(alias)] }

  /// The last parts of the paths of all aliases.
  var aliasElements: [String] { aliases.keys.sorted() }

  /// Takes over where an alias leads.
  mutating func lead(_ alias: String, to name: String) { aliases[PathElement.encode(alias)] = name }

  /// Takes over the state of a collection.
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
