internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension OpenVault {
  /// Clocks drift and are set by hand; a day of it, in milliseconds, says nothing about expiry yet.
  private static let clockTolerance: UInt64 = 24 * 3_600_000

  /// Where `name` stands.
  func index(of name: ItemName) -> RecordIndex {
    RecordPlace.item.index(service: name.service, account: name.account, keys: keys)
  }

  /// The version of `name`, or ``RecordVersion/absent``, from the verified list alone.
  func version(of name: ItemName) throws(StoreError) -> RecordVersion {
    let index = index(of: name)
    return try list(of: index.bucket).record(at: index).map { RecordVersion($0.bytes) } ?? .absent
  }

  /// Value and metadata of `name`, with its version; nil when there is no such item.
  func get(_ name: ItemName) throws(StoreError) -> (version: RecordVersion, form: SecretForm)? {
    let index = index(of: name)
    guard let id = try list(of: index.bucket).record(at: index) else { return nil }
    let form = try withRow(index, id, .all) { (row) throws(StoreError) in
      let record = try checked { () throws(FormatError) in try row.open(at: nil, keys: keys) }
      try check(record.meta, is: name)
      try checkExpiry(record.meta)
      guard let form = record.form() else {
        throw Self.withoutValue(name, path)
      }
      return form
    }
    return (RecordVersion(id.bytes), form)
  }

  /// What a listing says of `name`; nil when there is no such item.
  func item(_ name: ItemName) throws(StoreError) -> VaultItem? {
    let index = index(of: name)
    guard let id = try list(of: index.bucket).record(at: index) else { return nil }
    return item(try meta(index, id, of: name))
  }

  /// What a listing says of all items, or those of one service, by name.
  func list(service: String?) throws(StoreError) -> [VaultItem] {
    var items: [VaultItem] = []
    for bucket in 0..<DigestTree.buckets where tree.digests[bucket] != .zero {
      for entry in try list(of: bucket).entries {
        let meta = try withRow(entry.index, entry.id, .metadata) { (row) throws(StoreError) in
          try checked { () throws(FormatError) in try row.openMeta(keys: keys) }
        }
        if let service, !meta.service.hasSameBytes(as: service) { continue }
        items.append(item(meta))
      }
    }
    return Self.sorted(items)
  }

  /// By name. What is moved about are places in the list: an item is ten times as large, and counts references.
  private static func sorted(_ items: [VaultItem]) -> [VaultItem] {
    items.withUnsafeBufferPointer { items in
      items.indices.sorted { items[$0].name < items[$1].name }.map { items[$0] }
    }
  }

  /// The description of the record at `index`, which is that of `name`.
  func meta(_ index: RecordIndex, _ id: RecordID, of name: ItemName) throws(StoreError) -> RecordMeta {
    let meta = try withRow(index, id, .metadata) { (row) throws(StoreError) in
      try checked { () throws(FormatError) in try row.openMeta(at: nil, keys: keys) }
    }
    try check(meta, is: name)
    return meta
  }

  func item(_ meta: RecordMeta) -> VaultItem {
    VaultItem(
      name: ItemName(sealed: meta.service, meta.account), metadata: meta.itemMetadata,
      created: Milliseconds.date(meta.created), modified: Milliseconds.date(meta.modified), revision: meta.revision,
      valueBytes: meta.valueCount ?? 0)
  }

  /// Lends the row at `index`, which must be the version that the verified list names.
  func withRow<Result: ~Copyable>(
    _ index: RecordIndex, _ id: RecordID, _ part: VaultDatabase.RecordPart,
    _ body: (RecordRow) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let result = try index.withBytes { (bytes) throws(StoreError) in
      try database.withRecord(bytes, part) { (columns) throws(StoreError) in
        guard RecordID(columns.rid) == id else { throw Self.tampered("a record is not the version it should be", path) }
        return try body(RecordRow(index: index, id: id, meta: columns.meta, value: columns.value))
      }
    }
    guard let result else { throw Self.tampered("a record that should exist is missing", path) }
    return result
  }

  private func check(_ meta: RecordMeta, is name: ItemName) throws(StoreError) {
    guard meta.service.hasSameBytes(as: name.service), meta.account.hasSameBytes(as: name.account) else {
      throw Self.tampered("a record stands at another name's place", path)
    }
  }

  private func checkExpiry(_ meta: RecordMeta) throws(StoreError) {
    guard meta.expires != 0 else { return }
    let now = now
    guard state.time < Self.clockTolerance || now > state.time - Self.clockTolerance else {
      throw StoreError(
        .clockBehind, "this machine's clock is more than a day behind the vault's last write", place: path.string,
        cure: "set the clock, then try again")
    }
    guard now < meta.expires else {
      throw StoreError(
        .expired, "the item has expired", place: path.string,
        cure: "store a fresh value, or delete the item")
    }
  }
}
