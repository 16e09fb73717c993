public import CofferPlatform

/// Something that opening a router, or the first use of a key, changed about what an older program had stored.
public struct Migration: Sendable, Hashable {
  /// What was changed. Each is one atomic step: before it the old state stands, after it the new one.
  public enum Change: Sendable, Hashable {
    /// The value was found under a former name and stands under the key's name now.
    case renamed(from: String)
    /// The value was of a former type and has been stored as the key's.
    case upgraded
    /// The value lay in the plain store under this name. It is in the vault, and the plain copy is scrubbed.
    case movedIntoVault(from: String)
    /// This former name, or plain copy, still had a value although the key has one of its own, which stands. It was removed,
    /// since it would come back once the key's own is.
    case superseded(String)
  }

  /// The key's name.
  public let key: String
  /// What was changed.
  public let change: Change

  /// A change made for `key`.
  public init(key: String, _ change: Change) {
    self.key = key
    self.change = change
  }
}

/// What a router knows of migrations: see ``StorageRouter/migrations``.
public struct MigrationReport: Sendable {
  /// What was changed since the router was opened, in order.
  public internal(set) var done: [Migration] = []
  /// What could not be done yet, and why, each error with its key: ``/CofferPlatform/StoreError/Kind/locked`` where the vault has
  /// yet to be unlocked. A read of such a key tries again and throws this; setting or removing the key drops a former value that
  /// cannot be read. Only a renamed value whose store cannot be written (``/CofferPlatform/StoreError/Kind/readOnly``) is read
  /// where it lies.
  public internal(set) var pending: [StoreError] = []
}

/// Names that Coffer keeps in the plain store for itself. No key may have one.
package enum ReservedName {
  /// An array of the names that a logout removes, so that a program built without their key space removes them too.
  package static let endsWithSession = "coffer.session-keys"
  /// True from the moment a value left the plain store for the vault until no trace of it is left in the plain store's files.
  package static let scrubPending = "coffer.scrub-pending"
  static let all: Set<String> = [endsWithSession, scrubPending]
}
