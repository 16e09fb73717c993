package import CofferPlatform

/// The result of a look, to tell whether the next one differs.
package enum Sight: Sendable {
  /// One for each value.
  case values([SeenValue])
  /// The error of the read.
  case failure(StoreError.Kind, key: String?)

  init(_ error: StoreError) { self = .failure(error.kind, key: error.key) }

  /// Whether the store is closed: nothing more will be seen.
  var isEnd: Bool {
    if case .failure(.closed, _) = self { true } else { false }
  }

  /// Whether an observer of `other` would see no difference.
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
  /// The stored values: forms of the plain store, versions of the vault. Empty if no store has one.
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
  /// Tells two readings apart: by the form in the plain store, which may be an override's, and by the version in the vault.
  var seen: any Equatable & Sendable {
    if let form = form as? PlainForm { return Optional(form) }
    return R.self == Plain.self ? PlainForm?.none : stamp
  }
}

extension Store {
  /// Tells whether the value of `name` changed since the last look.
  package func look(at name: String) throws(StoreError) -> any Equatable & Sendable { try load([name])[0].seen }
}
