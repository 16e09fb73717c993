/// A breach of the rules that every store must keep.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
  /// The store, as the suite was told to call it.
  public let store: String
  /// The check that failed.
  public let check: ConformanceCheck
  /// The finding. Never a secret: the suite stores its own samples only.
  public let what: String
  /// The error beneath, where a call threw that should not have.
  public let underlying: (any Error)?

  /// `MyStore fails 'removing': a removed value is still read`.
  public var description: String {
    "\(store) fails '\(check.rawValue)': \(what)" + (underlying.map { ": \($0)" } ?? "")
  }
}

/// The checks of the suite, each on a fresh store.
public enum ConformanceCheck: String, Sendable, CaseIterable {
  /// A name that was never stored reads as nil and is in no listing.
  case absence
  /// Every kind of value comes back as it went in.
  case saving
  /// A second value takes the first one's place.
  case replacing
  /// nil removes, and removing a missing value does nothing.
  case removing
  /// All names with a value, ascending.
  case names
  /// Several values in the order they were asked for, those that are absent too.
  case severalAtOnce
  /// A stamp changes with its value and with nothing else, and is the same whichever way it is asked for.
  case stamps
  /// The items that a logout removes are listed with their stamps, expired ones too; preferences are none of them.
  case sessionItems
  /// A batch happens as a whole.
  case batches
  /// A batch whose expectations do not hold is a conflict and changes nothing.
  case expectations
  /// A batch without writes compares and leaves no trace.
  case emptyBatch
  /// Writes wait for the decision, and are dropped where it is not made.
  case decisions
  /// Records of decided transactions can be dropped, unknown ones too.
  case forgetting
  /// A value is replaced by the result of a closure.
  case updates
  /// A closure that throws changes nothing, and its error comes out.
  case failingUpdates
  /// A call from inside an update is refused.
  case reentrancy
  /// Names that no store may take.
  case badNames
  /// Names that every store must take.
  case goodNames
  /// A value over the limit is refused whole.
  case limits
  /// Changes are told, with name and cause, once the new value can be read.
  case changes
  /// A write that changes nothing is not told.
  case unchanged
  /// Changes are told in their order, a batch at once.
  case changeOrder
  /// A closed store refuses every call, and its feed ends.
  case closing
  /// Another opening of the same place reads acknowledged values.
  case reopening
  /// No update of many threads is lost.
  case concurrency
  /// An error names its kind, place and cure, and never holds a value.
  case errors
}
