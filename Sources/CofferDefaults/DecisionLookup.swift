public import CofferStorage
public import SystemPackage

/// How to learn the outcome of a transaction whose process died before it could tell: from the store that decided.
///
/// Without it, plain keys of such a transaction throw ``/CofferStorage/StoreError/Kind/pending(_:)`` until a process that has it
/// opens the domain.
public struct DecisionLookup: Sendable {
  /// Whether the file's store recorded the transaction as decided. Throwing means that it cannot be told now.
  public let contains: @Sendable (TransactionID, FilePath) throws(StoreError) -> Bool
  /// Drops that record, once the domain has applied the transaction.
  public let forget: @Sendable (TransactionID, FilePath) throws(StoreError) -> Void

  /// A lookup by two functions of the deciding store. They are called with the domain's lock held, and must not call the
  /// plain store.
  public init(
    contains: @escaping @Sendable (TransactionID, FilePath) throws(StoreError) -> Bool,
    forget: @escaping @Sendable (TransactionID, FilePath) throws(StoreError) -> Void
  ) {
    self.contains = contains
    self.forget = forget
  }
}
