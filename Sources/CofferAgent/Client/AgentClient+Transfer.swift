internal import CofferClient
package import CofferPlatform
internal import CofferStorage
package import CofferVault

/// The vault as a whole: its description, export and import.
extension AgentClient {
  /// The contents of `names`, expired items included, at one moment.
  package func contents(of names: [ItemName]) throws(StoreError) -> [StoredContent] {
    let contents = try ask(Calls.contents, names)
    guard contents.count == names.count else { throw FrameReader.malformed("it has too many or too few contents") }
    return contents
  }

  /// Lends each item and its value, as ``UnlockedVault/forEachItem(withFields:withoutValue:_:)`` does.
  ///
  /// - Parameter withoutValue: also receives each withheld item, whose fields are left out.
  package func forEachItem(
    withFields: Bool = false, withoutValue: (VaultItem) throws -> Void, _ body: (VaultItem, SecretForm) throws -> Void
  ) throws {
    var items = try list()
    if withFields {
      items += try find(.fields()).items()
      items.sort { $0.name < $1.name }
    }
    let keys = Set(items.lazy.filter(\.metadata.isWithheld).map(\.name))
    for item in items where keys.contains(item.name) { try withoutValue(item) }
    items.removeAll { keys.contains($0.name) || keys.contains($0.name.item) }
    for batch in TransferBatches(items, bytes: \.valueBytes) {
      for (item, content) in zip(batch, try contents(of: batch.map(\.name))) {
        switch content {
        case .form(let form): try body(item, form)
        case .withoutValue: try withoutValue(item)
        case .absent: throw StoreError.changed("the item was deleted meanwhile", item.name.description)
        }
      }
    }
  }

  /// Exports the vault's items, as ``UnlockedVault/export(to:services:with:cost:label:)`` does.
  ///
  /// - Throws: its errors; ``/CofferPlatform/StoreError/Kind/conflict`` if the vault changed meanwhile.
  package func export(
    to target: VaultPlace, of vault: VaultPlace, services: [String]? = nil, with credentials: consuming Credentials,
    cost: PassphraseCost = .standard, label: String = "", pins: FilePath? = nil
  ) throws(StoreError) -> Int {
    let start = try moment(after: nil)
    var found: [ItemDescriptions] = []
    for service in services.map({ $0.map(Optional.some) }) ?? [nil] {
      let items = try find(ItemQuery(service: service))
      if let service, items.isEmpty { throw ExportedVault.noItems(of: service, vault) }
      found.append(items)
    }
    for service in services.map({ $0.map(Optional.some) }) ?? [nil] { found.append(try find(.fields(of: service))) }
    return try ExportedVault.make(
      at: target, of: vault, with: credentials, cost: cost, label: label, pins: pins, found
    ) { (names) throws(StoreError) in
      try contents(of: names)
    } check: { () throws(StoreError) in
      guard try moment(after: nil) == start else { throw StoreError.changed("the vault was changed during the export", nil) }
    }
  }

  package static func takes(_ items: [ImportedItem]) -> Bool {
    items.count <= AgentProtocol.mostStaged && items.reduce(0) { $0 + $1.stagedBytes } <= AgentProtocol.mostStagedBytes
  }

  /// Adds all `items` or none, as ``UnlockedVault/add(_:duplicates:keeping:isTrial:progress:)`` does.
  ///
  /// - Parameter progress: called with the number of items that have reached the agent.
  /// - Throws: its errors; ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` above the agent's limits.
  package func add(
    _ items: [ImportedItem], duplicates: DuplicatePolicy = .refuse, keeping: Int = 0, isTrial: Bool = false,
    progress: (Int) -> Void = { _ in }
  ) throws(StoreError) -> ImportReport {
    var count = 0
    for batch in TransferBatches(items, bytes: \.stagedBytes) {
      progress(count)
      try ask(.stage) { (writer) throws(StoreError) in
        try writer.put(count == 0, Array(batch))
      } answer: { (_) throws(StoreError) in
      }
      count += batch.count
    }
    var report = ImportReport()
    try askForPages(.add, isWrite: !isTrial, within: Self.unlockTime) { (writer) throws(StoreError) in
      try writer.put(UInt64(clamping: items.count), duplicates.number, UInt32(clamping: keeping), isTrial)
    } element: { (fields) throws(StoreError) in
      try report.take(&fields)
    }
    return report
  }
}

extension StoreError {
  fileprivate static func changed(_ what: String, _ key: String?) -> StoreError {
    StoreError(.conflict, what, key: key, cure: "try again")
  }
}

extension ItemQuery {
  fileprivate static func fields(of service: String? = nil) -> ItemQuery {
    var query = ItemQuery(service: service)
    query.ofFields = true
    return query
  }
}

extension ImportedItem {
  /// An upper estimate of its bytes in a message.
  fileprivate var stagedBytes: Int {
    let metadata = form.metadata
    let attributes = metadata.attributes.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 8 }
    return form.bytes.count + name.service.utf8.count + name.account.utf8.count + name.field.utf8.count
      + metadata.label.utf8.count + metadata.contentType.utf8.count + attributes + 64
  }
}
