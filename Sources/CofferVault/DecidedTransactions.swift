public import CofferStorage
public import SystemPackage

/// The record of transactions over both stores that a vault decided. It is unsealed, says nothing of items, and is empty at
/// rest: whoever next takes the plain store's lock can settle what a killed process left, without any key.
public enum DecidedTransactions {
  /// Whether the vault at `path` decided `transaction`.
  ///
  /// - Throws: ``/CofferStorage/StoreError`` when the vault's file cannot be read.
  public static func contains(_ transaction: TransactionID, in path: FilePath) throws(StoreError) -> Bool {
    let database = try VaultDatabase.openToRead(path)
    return try database.read { () throws(StoreError) in try database.isDecided(transaction) }
  }

  /// Drops the record of `transaction`; nothing happens when there is none.
  ///
  /// - Throws: ``/CofferStorage/StoreError`` when the vault's file cannot be written.
  public static func forget(_ transaction: TransactionID, in path: FilePath) throws(StoreError) {
    let database = try VaultDatabase.open(path)
    try database.write { () throws(StoreError) in try database.forget(transaction) }
  }
}
