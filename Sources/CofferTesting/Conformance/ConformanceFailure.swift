/// A breach of the rules for every store.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
  /// The store's name in the suite.
  public let store: String
  /// The check that failed.
  public let check: ConformanceCheck
  /// The finding. Never a secret: the suite stores only its own samples.
  public let what: String
  /// The error of a call that should not have thrown.
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
  /// Every kind of value reads back unchanged.
  case saving
  /// A second value replaces the first.
  case replacing
  /// nil removes, and removing a missing value does nothing.
  case removing
  /// All names with a value, ascending.
  case names
  /// Several values in the requested order, including absent ones.
  case severalAtOnce
  /// A stamp changes only with its value, and every call returns the same one.
  case stamps
  /// The items that a logout removes are listed with their stamps, including expired ones; preferences are not.
  case sessionItems
  /// A batch happens as a whole.
  case batches
  /// A batch with failed expectations is a conflict and changes nothing.
  case expectations
  /// A batch without writes compares and leaves no trace.
  case emptyBatch
  /// Writes wait for the decision. Without it they are dropped.
  case decisions
  /// Records of decided transactions can be dropped, even unknown ones.
  case forgetting
  /// A value is replaced by the result of a closure.
  case updates
  /// A closure that throws changes nothing, and its error is rethrown.
  case failingUpdates
  /// A call from inside an update is refused.
  case reentrancy
  /// Invalid names are refused.
  case badNames
  /// Valid names are accepted.
  case goodNames
  /// A value over the limit is refused whole.
  case limits
  /// Changes are reported, with name and cause, once the new value can be read.
  case changes
  /// A write that changes nothing is not reported.
  case unchanged
  /// Changes are reported in order, a batch at once.
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
