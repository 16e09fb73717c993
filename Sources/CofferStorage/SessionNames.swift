internal import CofferPlatform

/// The list of the plain keys that end with a session: a text for each key, and for each family a dictionary with the prefix
/// of its members' names, so that the list does not grow with the members. It is in the domain itself, so that a program
/// which does not know a key removes it too.
struct SessionNames {
  private let names: [String]
  private let prefixes: [String]
  private static let prefix = "prefix"

  /// No names if there is no list.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/undecodable(stored:)`` for anything but an array of names. A logout that
  ///   took it for an empty list would leave its values behind, and a write that replaced it would leave them for good.
  init(_ form: PlainForm?, in place: String) throws(StoreError) {
    guard let form else {
      (names, prefixes) = ([], [])
      return
    }
    var names: [String] = [], prefixes: [String] = []
    guard case .array(let items) = form else { throw Self.damage(form, place) }
    for item in items {
      switch item {
      case .string(let name): names.append(name)
      case .dictionary(let entry):
        guard case .string(let prefix)? = entry[Self.prefix], !prefix.isEmpty else { throw Self.damage(form, place) }
        prefixes.append(prefix)
      default: throw Self.damage(form, place)
      }
    }
    (self.names, self.prefixes) = (names, prefixes)
  }

  func contains(_ name: String) -> Bool { names.contains(name) || prefixes.contains { name.utf8.starts(with: $0.utf8) } }

  /// Nil if the list has `name` already.
  func adding(_ name: String, ofFamily prefix: String?) -> PlainForm? {
    guard !contains(name) else { return nil }
    let (names, prefixes) = prefix.map { (self.names, self.prefixes + [$0]) } ?? (self.names + [name], self.prefixes)
    return .array(names.map(PlainForm.string) + prefixes.map { .dictionary([Self.prefix: .string($0)]) })
  }

  private static func damage(_ form: PlainForm, _ place: String) -> StoreError {
    StoreError(
      .undecodable(stored: form.kindName), "the list of keys that end with the session is not an array of names",
      key: ReservedName.endsWithSession, place: place,
      cure: "remove that key, and the keys of the session that it should have named; nothing was changed")
  }
}

extension Store where R == Plain {
  /// - Throws: ``/CofferPlatform/StoreError/Kind/undecodable(stored:)`` if the list is damaged.
  func sessionNames() throws(StoreError) -> SessionNames {
    try SessionNames(load([ReservedName.endsWithSession]).first?.stamp, in: place)
  }

  /// Lists the key `name` in the same step as `batch`, which stores it.
  func noteSession(_ name: String, in batch: inout Batch<Plain>) throws(StoreError) {
    let list = try load([ReservedName.endsWithSession])[0].stamp
    batch.expectations[ReservedName.endsWithSession] = .some(list)
    guard let longer = try SessionNames(list, in: place).adding(name, ofFamily: nil) else { return }
    batch.writes[ReservedName.endsWithSession] = .set(longer)
  }
}

extension Transaction {
  /// As this transaction sees them.
  func sessionNames() throws(StoreError) -> SessionNames {
    try SessionNames(plain.stored(ReservedName.endsWithSession), in: router.plain.place)
  }

  func noteSession<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    guard R.self == Plain.self, let list = try sessionNames().adding(key.name, ofFamily: router.keys.family(of: key.name)?.name)
    else {
      return
    }
    plain.writes[ReservedName.endsWithSession] = .set(list)
  }
}

extension ItemMetadata {
  /// Whether a logout removes the item; ``DecidingStore/sessionItems()`` lists these.
  public var isSessionItem: Bool { attributes[Self.endsWithSession] == "true" }
}
