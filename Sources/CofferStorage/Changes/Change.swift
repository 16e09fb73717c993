/// That a name's stored value changed: what happened and who did it. It never holds a value; whoever needs that reads it, and so
/// never gets an older one than there is.
public struct Change: Sendable, Hashable {
  /// What happened.
  public enum Cause: Sendable, Hashable {
    /// A value was stored.
    case set
    /// The value was removed.
    case removed
    /// The value was removed because its time had passed. The passing of time by itself is no change.
    case expired
    /// The value was moved to or from another name, form or store, or removed as a leftover of such a move. Of a vault's items
    /// other processes are told that they were set and removed.
    case migrated
    /// A value was stored or removed beneath a stronger one, an override or a layer: reads return the same as before.
    case overridden
  }

  /// Who did it.
  public enum Origin: Sendable, Hashable {
    /// This process, through any of its stores.
    case thisProcess
    /// Another process; nil where it is not known which: a program that knows nothing of Coffer; one whose change is seen in the
    /// property list alone, because the record that named it was folded away first; and all that change a vault, which notes no
    /// author for observers.
    case otherProcess(id: Int32?)
  }

  /// The name whose value changed.
  public let name: String
  /// What happened.
  public let cause: Cause
  /// Who did it.
  public let origin: Origin

  /// A change of `name`.
  public init(_ name: String, _ cause: Cause, by origin: Origin) {
    self.name = name
    self.cause = cause
    self.origin = origin
  }
}
