public import CofferPlatform
public import CofferStorage
public import CofferVault
public import FoundationEssentials

/// The items of the vault, as ``UnlockedVault`` has them.
extension AgentClient {
  /// The value and metadata of `name`; nil when there is no such item.
  public func get(_ name: ItemName) throws(StoreError) -> SecretForm? {
    try ask(.get, isWrite: false) { (writer) throws(StoreError) in
      try writer.put(name)
    } answer: { (fields) throws(StoreError) in
      try fields.optionalForm()
    }
  }

  /// All but the value of `name`; nil when there is no such item.
  public func item(_ name: ItemName) throws(StoreError) -> VaultItem? {
    try askForPages(.item) { (writer) throws(StoreError) in
      try writer.put(name)
    } element: { (fields) throws(StoreError) in
      try fields.item()
    }.first
  }

  /// All items, or those of one service, by name.
  public func list(service: String? = nil) throws(StoreError) -> [VaultItem] {
    try find(ItemQuery(service: service)).items()
  }

  /// What `query` asks for, by name.
  package func find(_ query: ItemQuery) throws(StoreError) -> ItemDescriptions {
    var found = ItemDescriptions(place: place.socket.string)
    _ = try askForPages(.find) { (writer) throws(StoreError) in
      try writer.put(query)
    } element: { (fields) throws(StoreError) in
      try fields.withPrefixed { (raw) throws(StoreError) in try found.append(raw) }
    }
    return found
  }

  /// The services that begin with `prefix`, each once, or the accounts of `service` that do, by name.
  package func names(of service: String?, prefix: String) throws(StoreError) -> [String] {
    try askForPages(.names) { (writer) throws(StoreError) in
      try writer.put(service)
      try writer.put(prefix)
    } element: { (fields) throws(StoreError) in
      try fields.text()
    }
  }

  /// The fields of an item, by name.
  public func fields(of name: ItemName) throws(StoreError) -> [VaultItem] {
    try askForPages(.fields) { (writer) throws(StoreError) in
      try writer.put(name)
    } element: { (fields) throws(StoreError) in
      try fields.item()
    }
  }

  /// Has the agent check everything that the vault holds, without decrypting a value.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered``, ``/CofferPlatform/StoreError/Kind/damaged``.
  package func verify() throws(StoreError) -> VerifyReport {
    try ask(.verify, isWrite: false) { (_) throws(StoreError) in
    } answer: { (fields) throws(StoreError) in
      let (records, items, buckets) = (
        try fields.number(UInt64.self), try fields.number(UInt64.self), try fields.number(UInt64.self)
      )
      return VerifyReport(records: Int(clamping: records), items: Int(clamping: items), buckets: Int(clamping: buckets))
    }
  }

  /// Stores `form` under `name` and returns the new listing.
  @discardableResult
  public func set(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always, keeping: Int? = nil
  ) throws(StoreError) -> VaultItem {
    guard let item = try apply([.set(form, for: name, if: condition, keeping: keeping)]).first else {
      throw FrameReader.malformed("it does not say what was stored")
    }
    return item
  }

  /// Removes `name` where `condition` holds, so that it can be brought back until `date`; false when there was nothing.
  @discardableResult
  public func remove(
    _ name: ItemName, if condition: WriteCondition = .always, keptUntil date: Date? = nil
  ) throws(StoreError) -> Bool {
    try ask(.delete, isWrite: true) { (writer) throws(StoreError) in
      try writer.put(name)
      try writer.put(condition)
      try writer.put(date)
    } answer: { (fields) throws(StoreError) in
      try fields.flag()
    }
  }

  /// Has the agent write all of `changes` up to the commit, and take them back, as ``/CofferVault/UnlockedVault/rehearse(_:)``
  /// does.
  public func rehearse(_ changes: [ItemChange]) throws(StoreError) {
    try ask(.rehearse, isWrite: false) { (writer) throws(StoreError) in
      try writer.put(changes)
    } answer: { (_) throws(StoreError) in
    }
  }

  /// Makes all of `changes` in one transaction, or none.
  @discardableResult
  public func apply(_ changes: [ItemChange]) throws(StoreError) -> [VaultItem] {
    try askForPages(.apply, isWrite: true) { (writer) throws(StoreError) in
      try writer.put(changes)
    } element: { (fields) throws(StoreError) in
      try fields.item()
    }
  }
}
