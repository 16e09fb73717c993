/// A change of a name's stored value: its cause and its origin. It never holds the value. Receivers read it, and so never get
/// a stale one.
public struct Change: Sendable, Hashable {
  /// The cause of a change.
  public enum Cause: Sendable, Hashable {
    /// A value was stored.
    case set
    /// The value was removed.
    case removed
    /// The value was removed because it had expired. Expiry alone is no change.
    case expired
    /// The value moved to or from another name, form or store, or was removed as a leftover of such a move. Other processes
    /// see a vault's items as set and removed.
    case migrated
    /// A value was stored or removed beneath a stronger override or layer: reads return the same as before.
    case overridden
  }

  /// The origin of a change.
  public enum Origin: Sendable, Hashable {
    /// This process, through any of its stores.
    case thisProcess
    /// Another process; nil if it is unknown: a program that does not use Coffer, a change seen only in the property list
    /// because its record was folded away first, or any change of a vault, which notes no author for observers.
    case otherProcess(id: Int32?)
  }

  /// The name whose value changed.
  public let name: String
  /// The cause.
  public let cause: Cause
  /// The origin.
  public let origin: Origin

  /// A change of `name`.
  public init(_ name: String, _ cause: Cause, by origin: Origin) {
    self.name = name
    self.cause = cause
    self.origin = origin
  }
}
