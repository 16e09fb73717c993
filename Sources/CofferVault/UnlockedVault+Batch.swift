internal import CofferMemory
package import CofferPlatform
package import CofferStorage
internal import SystemPackage

/// What a store of one service does, for whoever holds the vault for several services at once.
extension UnlockedVault {
  /// Several values of `service` from one moment.
  ///
  /// - Parameter mostBytes: bytes of all values together, at most.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` for more; nothing is handed out then.
  package borrowing func load(
    _ names: [String], service: String, mostBytes: Int = .max
  ) throws(StoreError) -> [Reading<Vault>] {
    try core.read { (vault) throws(StoreError) in
      try vault.items.load(names, service: service, mostBytes: mostBytes)
    }
  }

  /// Whether `service` has an item of that name, expired or not.
  package borrowing func contains(_ name: String, service: String) throws(StoreError) -> Bool {
    let item = try ItemName(service: service, account: name)
    return try core.read { (vault) throws(StoreError) in
      try vault.items.version(of: item) != .absent
    }
  }

  /// The version of the item of that name, expired or not; ``RecordVersion/absent`` where there is none.
  package borrowing func version(of name: String, service: String) throws(StoreError) -> RecordVersion {
    let item = try ItemName(service: service, account: name)
    return try core.read { (vault) throws(StoreError) in
      try vault.items.version(of: item)
    }
  }

  /// The items of `service` that a logout removes, expired ones too, with their versions from one moment.
  package borrowing func sessionItems(service: String) throws(StoreError) -> [String: RecordVersion] {
    try core.read { (vault) throws(StoreError) in
      try vault.items.sessionItems(service: service)
    }
  }

  /// Applies a batch of `service` in one transaction, or nothing.
  ///
  /// - Parameter check: throws where the batch is no longer wanted. Asked under the vault's lock: who has given the batch up by then has
  ///   not been able to record that since, and who gives it up later will find it committed.
  package borrowing func commit(
    _ batch: Batch<Vault>, service: String, if check: () throws(StoreError) -> Void = { () throws(StoreError) in }
  ) throws(StoreError) {
    try core.write { (vault, change) throws(StoreError) in
      try check()
      try vault.items.apply(batch, service: service, &change)
    }
  }

  /// Drops the record of a decided transaction.
  package borrowing func forget(_ transaction: TransactionID) throws(StoreError) {
    try core.run { (vault) throws(StoreError) in try vault.forget(transaction) }
  }
}
