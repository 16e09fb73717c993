package import CofferPlatform

/// What was seen at a look, to tell whether the next one sees something else.
package enum Sight: Sendable {
  /// Of each value.
  case values([SeenValue])
  /// Why there was none.
  case failure(StoreError.Kind, key: String?)

  init(_ error: StoreError) { self = .failure(error.kind, key: error.key) }

  /// Whether the store is closed, so that nothing more will be seen.
  var isEnd: Bool {
    if case .failure(.closed, _) = self { true } else { false }
  }

  /// Whether an observer of `other` would see the same again.
  func isSame(as other: Sight) -> Bool {
    switch (self, other) {
    case (.values(let mine), .values(let others)):
      mine.count == others.count && zip(mine, others).allSatisfy { $0.isSame(as: $1) }
    case (.failure(let kind, let key), .failure(let otherKind, let otherKey)): kind == otherKind && key == otherKey
    default: false
    }
  }
}

/// One value as it was seen.
package struct SeenValue: Sendable {
  /// The value; nil for a secret, of which no copy is kept.
  let value: (any Sendable)?
  /// What is stored for it: forms of the plain store, versions of the vault. Empty where no store has it.
  let stored: [any Equatable & Sendable]

  package init(_ value: (any Sendable)?, stored: [any Equatable & Sendable] = []) {
    self.value = value
    self.stored = stored
  }

  package func isSame(as other: SeenValue) -> Bool {
    if let value = value as? any Equatable, let former = other.value, value.isEqual(to: former) { return true }
    return !stored.isEmpty && stored.count == other.stored.count && zip(stored, other.stored).allSatisfy { $0.isEqual(to: $1) }
  }
}

extension Equatable {
  package func isEqual(to other: Any) -> Bool { other as? Self == self }
}

extension Reading {
  /// What of the reading tells it from another: the form that is read in the plain store, which may be an override's, and the
  /// version in the vault.
  var seen: any Equatable & Sendable {
    if let form = form as? PlainForm { return Optional(form) }
    return R.self == Plain.self ? PlainForm?.none : stamp
  }
}

extension Store {
  /// What tells whether the value of `name` is another than at the last look.
  package func look(at name: String) throws(StoreError) -> any Equatable & Sendable { try load([name])[0].seen }
}
