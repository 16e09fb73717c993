public import CofferPlatform

/// Looks up the outcome of a transaction whose process died, by the place of the deciding store, such as its file.
///
/// A router lends its vault's lookup to its plain store. Without one, plain keys of such a transaction throw
/// ``/CofferPlatform/StoreError/Kind/pending(_:)``. All functions run under the plain store's lock, must not call that store,
/// and throw if the outcome cannot be told now.
public struct DecisionLookup: Sendable {
  /// The outcome recorded by the store at the place; nil if none is. Writes nothing.
  public let outcome: @Sendable (TransactionID, String) throws(StoreError) -> TransactionOutcome?
  /// The outcome recorded by the store at the place, durable on return. Without one, it records the transaction as dropped,
  /// so that a commit not seen yet cannot take effect later.
  public let settle: @Sendable (TransactionID, String) throws(StoreError) -> TransactionOutcome
  /// Drops the records of committed transactions, once the plain store holds their changes durably. Ignores unknown ids.
  public let forget: @Sendable ([TransactionID], String) throws(StoreError) -> Void
  /// Whether another store in the same database may add its writes to the transaction of a ``Store/commit(_:decision:)``.
  public var sharesTransactions = false

  /// A lookup by three functions of the deciding store.
  public init(
    outcome: @escaping @Sendable (TransactionID, String) throws(StoreError) -> TransactionOutcome?,
    settle: @escaping @Sendable (TransactionID, String) throws(StoreError) -> TransactionOutcome,
    forget: @escaping @Sendable ([TransactionID], String) throws(StoreError) -> Void
  ) {
    self.outcome = outcome
    self.settle = settle
    self.forget = forget
  }
}
