internal import CofferClient
public import CofferPlatform
public import CofferStorage
public import CofferVault
public import FoundationEssentials

/// The vault's items, as in ``UnlockedVault``.
extension AgentClient {
  /// The value and metadata of `name`; nil if it does not exist.
  public func get(_ name: ItemName) throws(StoreError) -> SecretForm? {
    try ask(Calls.get, name)
  }

  /// All but the value of `name`; nil if it does not exist.
  public func item(_ name: ItemName) throws(StoreError) -> VaultItem? {
    try ask(Calls.item, name).first
  }

  /// All items, or those of one service, by name.
  public func list(service: String? = nil) throws(StoreError) -> [VaultItem] {
    try find(ItemQuery(service: service)).items()
  }

  package func find(_ query: ItemQuery) throws(StoreError) -> ItemDescriptions {
    var found = ItemDescriptions(place: place.socket.string)
    try askForPages(.find) { (writer) throws(StoreError) in
      try writer.put(query)
    } element: { (fields) throws(StoreError) in
      try fields.withPrefixed { (raw) throws(StoreError) in try found.append(raw) }
    }
    return found
  }

  /// The services that begin with `prefix`, or such accounts of `service`, by name.
  package func names(of service: String?, prefix: String) throws(StoreError) -> [String] {
    try ask(Calls.names, service, prefix)
  }

  /// The fields of an item, by name.
  public func fields(of name: ItemName) throws(StoreError) -> [VaultItem] {
    try ask(Calls.fields, name)
  }

  /// Stores `form` under `name`, and returns the new listing.
  @discardableResult
  public func set(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always, keeping: Int? = nil
  ) throws(StoreError) -> VaultItem {
    guard let item = try apply([.set(form, for: name, if: condition, keeping: keeping)]).first else {
      throw FrameReader.malformed("it does not say what was stored")
    }
    return item
  }

  /// Removes `name` if `condition` holds; it can be restored until `date`. False if there was nothing.
  @discardableResult
  public func remove(
    _ name: ItemName, if condition: WriteCondition = .always, keptUntil date: Date? = nil
  ) throws(StoreError) -> Bool {
    try ask(Calls.remove, name, condition, date)
  }

  /// Makes the agent write all `changes` and take them back, as ``/CofferVault/UnlockedVault/rehearse(_:)`` does.
  public func rehearse(_ changes: [ItemChange]) throws(StoreError) {
    _ = try ask(Calls.rehearse, changes)
  }

  /// Makes all `changes` in one transaction, or none.
  @discardableResult
  public func apply(_ changes: [ItemChange]) throws(StoreError) -> [VaultItem] {
    try ask(Calls.apply, changes)
  }
}
