package import CofferPlatform
package import CofferStorage
package import SystemPackage

/// How to learn the outcome of a transaction whose process cannot tell it any more: from the store that decides.
///
/// Without it, plain keys of such a transaction throw ``/CofferPlatform/StoreError/Kind/pending(_:)`` until a process that has it opens the
/// domain. All functions are called with the domain's lock held, and must not call the plain store. Throwing means that it cannot be
/// told now.
package struct DecisionLookup: Sendable {
  /// What the file's store has recorded; nil where that is nothing. Writes nothing.
  package let outcome: @Sendable (TransactionID, FilePath) throws(StoreError) -> TransactionOutcome?
  /// What the file's store has recorded, durable when this returns. Where that is nothing, the transaction is recorded as dropped, so that
  /// no commit that was written and not seen, or that is still on its way, takes effect later.
  package let settle: @Sendable (TransactionID, FilePath) throws(StoreError) -> TransactionOutcome
  /// Drops the records of transactions that were committed, once the domain has their changes durably. Unknown ids are ignored.
  package let forget: @Sendable ([TransactionID], FilePath) throws(StoreError) -> Void

  /// A lookup by three functions of the deciding store.
  package init(
    outcome: @escaping @Sendable (TransactionID, FilePath) throws(StoreError) -> TransactionOutcome?,
    settle: @escaping @Sendable (TransactionID, FilePath) throws(StoreError) -> TransactionOutcome,
    forget: @escaping @Sendable ([TransactionID], FilePath) throws(StoreError) -> Void
  ) {
    self.outcome = outcome
    self.settle = settle
    self.forget = forget
  }
}
