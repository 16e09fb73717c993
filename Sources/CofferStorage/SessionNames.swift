// The plain keys that a logout removes are listed in the domain itself: a program that knows nothing of a key removes it too.

extension PlainForm {
  /// The names in a list of the keys that end with a session; anything else lists none.
  package var sessionNames: [String] {
    guard case .array(let forms) = self else { return [] }
    return forms.compactMap { if case .string(let name) = $0 { name } else { nil } }
  }

  /// A list with `name`; nil when `list` has it already.
  static func sessionList(_ list: PlainForm?, adding name: String) -> PlainForm? {
    let names = list?.sessionNames ?? []
    return names.contains(name) ? nil : .array((names + [name]).map(PlainForm.string))
  }
}

extension Store where R == Plain {
  /// The names that a logout removes, whichever program listed them.
  package func namesEndingWithSession() throws(StoreError) -> [String] {
    try load([ReservedName.endsWithSession]).first?.stamp?.sessionNames ?? []
  }
}

extension StorageRouter {
  /// Lists `key` among those that a logout removes, before it has a value.
  @usableFromInline
  func noteSession<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    guard R.self == Plain.self, try !plain.namesEndingWithSession().contains(key.name) else { return }
    try plain.update(ReservedName.endsWithSession) { (list) throws(StoreError) in
      PlainForm.sessionList(list, adding: key.name) ?? list
    }
  }
}

extension Transaction {
  /// The same within a transaction.
  func noteSession<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    guard R.self == Plain.self else { return }
    let list = try plain.stored(ReservedName.endsWithSession)
    if let list = PlainForm.sessionList(list, adding: key.name) { plain.writes[ReservedName.endsWithSession] = .set(list) }
  }
}
