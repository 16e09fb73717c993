internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// The items of a vault, by name. Called within a transaction, which gathers its changes in its ``Change``.
struct ItemTable {
  let view: VerifiedView
  /// See ``VaultOptions/withholdsKeys``.
  var withholdsKeys = false
  var hidesInternal = true
  var records: RecordSet { RecordSet(view: view) }
  var history: ItemHistory { ItemHistory(items: self) }
  var removals: ItemRemoval { ItemRemoval(items: self) }
  var moves: ItemMove { ItemMove(items: self) }
  var transfer: ItemTransfer { ItemTransfer(items: self) }

  /// A day in milliseconds, because clocks drift and are set by hand.
  static let clockTolerance: UInt64 = 24 * 3_600_000

  func index(of name: ItemName) -> RecordIndex {
    RecordAddress.index(.present, name.service, name.account, name.field, 0, view.keys)
  }

  func bucket(of index: RecordIndex) -> Int { RecordTable.present.bucket(of: index) }

  /// Announces the next transaction, which saves a remote vault a round trip.
  ///
  /// - Parameter name: the item concerned, if any.
  func announce(_ name: ItemName?, writing: Bool) throws(StoreError) {
    guard view.database.isRemote, view.keys.isIntact else { return }
    let log = (first: try LogFollowing(view: view).first, most: LogFollowing.most)
    guard let name else { return try view.database.expect(.others(first: log.first, most: log.most)) }
    let index = index(of: name)
    let needsList = writing || !view.keepsList(of: bucket(of: index))
    try view.database.expect(.item(index.bytes, list: needsList, log: log))
  }

  /// Uses only the verified list.
  func version(of name: ItemName) throws(StoreError) -> RecordVersion {
    try find(name).map { RecordVersion($0.id.bytes) } ?? .absent
  }

  func get(_ name: ItemName) throws(StoreError) -> (version: RecordVersion, form: SecretForm)? {
    guard let entry = try find(name) else { return nil }
    return try view.withRow(entry.index, entry.id, .all) { (row) throws(StoreError) in
      // The place was computed from the name, so the cheaper comparison of names is enough.
      let record = try view.checked { () throws(FormatError) in try row.open(checksPlace: false, keys: view.keys) }
      try check(record.meta, is: name)
      try checkExpiry(record.meta)
      guard let form = try record.form(for: self) else { throw Self.withoutValue(name, view.place) }
      return (RecordVersion(entry.id.bytes), form)
    }
  }

  /// The value and metadata, even if expired. `.some(nil)` for an item without a value, nil if there is no such item.
  func form(_ name: ItemName) throws(StoreError) -> SecretForm?? {
    guard let record = try record(name) else { return nil }
    return .some(try record.form(for: self))
  }

  func record(_ name: ItemName) throws(StoreError) -> OpenRecord? {
    guard let entry = try find(name) else { return nil }
    return try view.open(entry.index, entry.id)
  }

  /// - Parameter mostBytes: the limit for all values together.
  func load(_ names: [String], service: String, mostBytes: Int = .max) throws(StoreError) -> [Reading<Vault>] {
    var readings: [Reading<Vault>] = []
    var bytes = 0
    for name in names {
      do throws(StoreError) {
        let found = try get(ItemName(service: service, account: name))
        bytes += found?.form.bytes.count ?? 0
        guard bytes <= mostBytes else {
          throw StoreError(
            .tooLarge(limit: mostBytes), "the requested values have more bytes than are read at once",
            place: view.place.description, cure: "ask for fewer at once, or unlock the vault in this process")
        }
        readings.append(Reading(form: found?.form, stamp: found?.version ?? .absent))
      } catch { throw error.about(key: name) }
    }
    return readings
  }

  func item(_ name: ItemName) throws(StoreError) -> VaultItem? {
    guard let entry = try find(name) else { return nil }
    return item(try meta(entry.index, entry.id, of: name))
  }

  func list(service: String?, withFields: Bool = false) throws(StoreError) -> [VaultItem] {
    var items: [VaultItem] = []
    let buckets = view.tree.filled(.present)
    try view.scanning(.present, .metadata, in: buckets) { () throws(StoreError) in
      for bucket in buckets {
        for entry in try view.list(of: bucket).entries {
          let meta = try view.openMeta(entry.index, entry.id)
          guard meta.isItem || (withFields && meta.kind == .present), !hides(meta.service) else { continue }
          if let service, !meta.service.hasSameBytes(as: service) { continue }
          items.append(item(meta))
        }
      }
    }
    return Self.sorted(items)
  }

  func fields(of name: ItemName) throws(StoreError) -> [VaultItem]? {
    guard try find(name.item) != nil else { return nil }
    var (none, fields) = (Change(), [VaultItem]())
    for note in try records.notes(of: index(of: name.item), in: .present, &none) {
      let bucket = bucket(of: note.index)
      guard let id = try view.list(of: bucket).record(at: note.index) else { continue }
      let meta = try view.openMeta(note.index, id)
      fields.append(item(meta))
    }
    return Self.sorted(fields)
  }

  /// Sorts positions, because an item is ten times as large and counts references.
  private static func sorted(_ items: [VaultItem]) -> [VaultItem] {
    items.withUnsafeBufferPointer { items in
      items.indices.sorted { left, right in
        let order = items[left].name.service.byteOrder(items[right].name.service)
        guard order == 0 else { return order < 0 }
        let next = items[left].name.account.byteOrder(items[right].name.account)
        return next == 0 ? items[left].name.field.byteOrder(items[right].name.field) < 0 : next < 0
      }.map { items[$0] }
    }
  }

  /// The name of a current record, or of a previous version still kept.
  func name(ofRecordAt index: RecordIndex) throws(StoreError) -> ItemName? {
    if let id = try view.list(of: bucket(of: index)).record(at: index) {
      return try view.openMeta(index, id).name
    }
    var none = Change()
    let past = try records.notes(inBucket: RecordTable.old.bucket(of: index), lenient: true, &none)
    return try past.first { $0.present == index }.map { (note) throws(StoreError) in try history.meta(note).name }
  }

  func meta(_ index: RecordIndex, _ id: RecordID, of name: ItemName) throws(StoreError) -> RecordMeta {
    let meta = try view.withRow(index, id, .metadata) { (row) throws(StoreError) in
      try view.checked { () throws(FormatError) in try row.openMeta(checksPlace: false, keys: view.keys) }
    }
    try check(meta, is: name)
    return meta
  }

  func item(_ meta: RecordMeta) -> VaultItem { VaultItem(meta) }

  private func find(_ name: ItemName) throws(StoreError) -> BucketEntry? {
    guard !hides(name.service) else { return nil }
    let index = index(of: name)
    return try view.list(of: bucket(of: index)).record(at: index).map { BucketEntry(index: index, id: $0) }
  }

  private func check(_ meta: RecordMeta, is name: ItemName) throws(StoreError) {
    guard meta.kind == .present, meta.service.hasSameBytes(as: name.service), meta.account.hasSameBytes(as: name.account),
      meta.field.hasSameBytes(as: name.field)
    else {
      throw StoredParts.tampered("a record is at another name's place", view.place)
    }
  }

  func checkExpiry(_ meta: RecordMeta) throws(StoreError) {
    guard meta.expires != 0 else { return }
    let now = view.now
    guard view.state.time < Self.clockTolerance || now > view.state.time - Self.clockTolerance else {
      throw StoreError(
        .clockBehind, "this machine's clock is more than a day behind the vault's last write", place: view.place.description,
        cure: "set the clock, then try again")
    }
    guard now < meta.expires else {
      throw StoreError(
        .expired, "the item has expired", place: view.place.description,
        cure: "store a fresh value, or delete the item")
    }
  }

  static func withoutValue(_ name: ItemName, _ place: VaultPlace) -> StoreError {
    StoreError(
      .damaged, "the item has no value", key: name.description, place: place.description, cure: "store it again, or delete it")
  }
}

extension VaultItem {
  init(_ meta: RecordMeta) {
    self.init(
      id: meta.id.uuid, name: meta.name, metadata: meta.itemMetadata, created: Milliseconds.date(meta.created),
      modified: Milliseconds.date(meta.modified), written: Milliseconds.date(meta.written), revision: meta.revision,
      valueBytes: meta.valueCount ?? 0, history: Int(meta.history))
  }
}
