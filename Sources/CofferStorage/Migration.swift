public import CofferPlatform

/// A change to values of an older program, made when a router was opened or a key was first used.
public struct Migration: Sendable, Hashable {
  /// The change. Each is one atomic step: the old state stands before it, the new one after it.
  public enum Change: Sendable, Hashable {
    /// The value moved from a former name to the key's name.
    case renamed(from: String)
    /// The value had a former type and is now stored as the key's type.
    case upgraded
    /// The value lay in the plain store under this name. It is in the vault, and the plain copy is scrubbed.
    case movedIntoVault(from: String)
    /// This former name, or plain copy, had a value beside the key's own, which stands. It was removed, or it would come back
    /// once the key's own value is removed.
    case superseded(String)
  }

  /// The key's name.
  public let key: String
  /// The change.
  public let change: Change

  /// A change made for `key`.
  public init(key: String, _ change: Change) {
    self.key = key
    self.change = change
  }
}

/// The migrations of a router: see ``StorageRouter/migrations``.
public struct MigrationReport: Sendable {
  /// The changes since the router was opened, in order.
  public internal(set) var done: [Migration] = []
  /// The errors of unfinished migrations, each with its key: ``/CofferPlatform/StoreError/Kind/locked`` while the vault is
  /// locked. A read of such a key tries again and throws this error. Setting or removing the key drops a former value that
  /// cannot be read. Only a renamed value whose store cannot be written (``/CofferPlatform/StoreError/Kind/readOnly``) is
  /// read under its former name.
  public internal(set) var pending: [StoreError] = []
}

/// Coffer's own names in the plain store, forbidden for keys.
package enum ReservedName {
  /// The array of names that a logout removes, even by a program built without their key space.
  package static let endsWithSession = "coffer.session-keys"
  /// True after a value left the plain store for the vault, until the plain store's files hold no trace of it.
  package static let scrubPending = "coffer.scrub-pending"
  /// The prefix of pending logins of a web service's users.
  package static let pendingLogins = "coffer.login/"
  static let all: Set<String> = [endsWithSession, scrubPending, pendingLogins]

  static func owns(_ name: String) -> Bool { all.contains(name) || name.utf8.starts(with: pendingLogins.utf8) }
}
