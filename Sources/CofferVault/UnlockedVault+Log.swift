public import CofferPlatform
internal import CofferStorage

extension UnlockedVault {
  /// What happened to the vault, oldest first, after the whole chain was checked. Reading writes nothing, and is not logged.
  ///
  /// - Parameter limit: how many of the newest entries to return; nil for all that are kept.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` when a row was changed, added or taken away.
  public borrowing func log(limit: Int? = nil) throws(StoreError) -> [VaultLogEntry] {
    try core.read { (vault) throws(StoreError) in
      try vault.entries(limit: limit)
    }
  }

  /// How many entries the log keeps at the moment.
  public borrowing func logLength() throws(StoreError) -> Int {
    try core.read { (vault) throws(StoreError) in
      try vault.log.length()
    }
  }
}

extension OpenVault {
  /// The newest `limit` entries of the log, or all, with the names of items that there are.
  func entries(limit: Int?) throws(StoreError) -> [VaultLogEntry] {
    var names: [RecordIndex: ItemName] = [:]
    for item in try items.list(service: nil) { names[items.index(of: item.name)] = item.name }
    var entries: [VaultLogEntry] = []
    try log.forEach { (sequence, entry) throws(StoreError) in
      entries.append(VaultLogEntry(sequence, entry, name: names[entry.index]))
    }
    return limit.map { Array(entries.suffix(max(0, $0))) } ?? entries
  }
}
