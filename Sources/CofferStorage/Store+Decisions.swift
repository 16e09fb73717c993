public import CofferPlatform

/// How to learn the outcome of a transaction whose process cannot tell it any more: from the place of the store that decides,
/// such as its file.
///
/// A router lends its vault's to its plain store. Without one, plain keys of such a transaction throw
/// ``/CofferPlatform/StoreError/Kind/pending(_:)``. All functions are called with the plain store's lock held, and must not call
/// that store. Throwing means that it cannot be told now.
public struct DecisionLookup: Sendable {
  /// The outcome recorded by the store at the place; nil if none is. Writes nothing.
  public let outcome: @Sendable (TransactionID, String) throws(StoreError) -> TransactionOutcome?
  /// The outcome recorded by the store at the place, durable on return. If none is recorded, the transaction is recorded as
  /// dropped, so that a commit that was not seen yet cannot take effect later.
  public let settle: @Sendable (TransactionID, String) throws(StoreError) -> TransactionOutcome
  /// Drops the records of transactions that were committed, once the plain store has their changes durably. Unknown ids are
  /// ignored.
  public let forget: @Sendable ([TransactionID], String) throws(StoreError) -> Void

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

extension Store {
  /// Nobody learns what became of a transaction that this store decided in a process that died.
  public var decisions: DecisionLookup? { nil }

  /// Nothing outlives the process of this store that would have to be settled.
  public func settle(with decisions: DecisionLookup) {}
}
