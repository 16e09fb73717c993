package import CofferPlatform

// The plain keys that a logout removes are listed in the domain itself: a program that knows nothing of a key removes it too.

/// The list of the plain keys that end with a session, as the domain stores it.
struct SessionNames {
  let names: [String]

  /// The names in `form`, which is stored in `place`; none where there is no list.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/undecodable(stored:)`` for anything else than an array of names. What it once listed would be left
  ///   behind by a logout that took it for an empty list, and for good by a write that replaced it.
  init(_ form: PlainForm?, in place: String) throws(StoreError) {
    guard let form else {
      names = []
      return
    }
    var names: [String] = []
    guard case .array(let items) = form else { throw Self.damage(form, place) }
    for item in items {
      guard case .string(let name) = item else { throw Self.damage(form, place) }
      names.append(name)
    }
    self.names = names
  }

  /// The list with `name` too; nil when it has it already.
  func adding(_ name: String) -> PlainForm? {
    names.contains(name) ? nil : .array((names + [name]).map(PlainForm.string))
  }

  private static func damage(_ form: PlainForm, _ place: String) -> StoreError {
    StoreError(
      .undecodable(stored: form.kindName), "the list of keys that end with the session is no array of names",
      key: ReservedName.endsWithSession, place: place,
      cure: "remove that key, and the keys of the session that it should have named; nothing was changed")
  }
}

extension Store where R == Plain {
  /// The names that a logout removes, whichever program listed them.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/undecodable(stored:)`` where the list is damaged.
  package func namesEndingWithSession() throws(StoreError) -> [String] {
    try SessionNames(load([ReservedName.endsWithSession]).first?.stamp, in: place).names
  }
}

extension Transaction {
  /// The names that a logout removes, as this transaction sees them.
  func sessionNames() throws(StoreError) -> SessionNames {
    try SessionNames(plain.stored(ReservedName.endsWithSession), in: router.plain.place)
  }

  /// Lists `key` among them, once the transaction commits.
  func noteSession<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    guard R.self == Plain.self, let list = try sessionNames().adding(key.name) else { return }
    plain.writes[ReservedName.endsWithSession] = .set(list)
  }
}

extension ItemMetadata {
  /// Whether a logout removes the item: what a store's ``Store/sessionItems()`` lists.
  public var isSessionItem: Bool { attributes[Self.endsWithSession] == "true" }
}
