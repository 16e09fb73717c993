package import CofferPlatform

/// The result of a look, for comparison with the next one.
package enum Sight: Sendable {
  /// One for each value.
  case values([SeenValue])
  /// The error of the read.
  case failure(StoreError.Kind, key: String?)

  init(_ error: StoreError) { self = .failure(error.kind, key: error.key) }

  var isEnd: Bool {
    if case .failure(.closed, _) = self { true } else { false }
  }

  func isSame(as other: Sight) -> Bool {
    switch (self, other) {
    case (.values(let mine), .values(let others)):
      mine.count == others.count && zip(mine, others).allSatisfy { $0.isSame(as: $1) }
    case (.failure(let kind, let key), .failure(let otherKind, let otherKey)): kind == otherKind && key == otherKey
    default: false
    }
  }
}

package struct SeenValue: Sendable {
  /// Nil for a secret, of which no copy is kept.
  let value: (any Sendable)?
  /// Forms of the plain store, versions of the vault. Empty if no store has one.
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
  /// The form in the plain store, which may be an override's; the version in the vault.
  var seen: any Equatable & Sendable {
    if let form = form as? PlainForm { return Optional(form) }
    return R.self == Plain.self ? PlainForm?.none : stamp
  }
}

extension Store {
  package func look(at name: String) throws(StoreError) -> any Equatable & Sendable { try load([name])[0].seen }
}
