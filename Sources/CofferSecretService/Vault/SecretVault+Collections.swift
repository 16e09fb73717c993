internal import CofferAgent
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

// The collections, which are items of the vault themselves: see `VaultNaming`.
extension SecretVault {
  /// The collections and aliases.
  func book() throws(Refusal) -> CollectionBook {
    var query = ItemQuery(service: VaultNaming.collections)
    query.isUse = false
    let (own, services) = try asking(ObjectPath.root) { () throws(StoreError) in
      (try client.find(query).items(), try client.names(of: nil, prefix: VaultNaming.prefix))
    }
    var book = CollectionBook()
    book.isRead = true
    // A collection made at the shell has items, but no item of its own.
    for name in services.compactMap(VaultNaming.collection(of:)) { book.note(CollectionState(name: name, label: "")) }
    for item in own where !item.name.account.isEmpty {
      book.note(
        CollectionState(
          name: item.name.account, label: item.metadata.label, created: item.created.seconds, modified: item.modified.seconds))
      for alias in item.metadata.attributes.keys.compactMap({ $0.rest(after: VaultNaming.alias) }) {
        book.lead(alias, to: item.name.account)
      }
    }
    return book
  }

  /// - Throws: ``Refusal`` `NoSuchObject` for a missing collection.
  func requireCollection(_ name: String) throws(Refusal) {
    guard name != CollectionState.login, name != CollectionState.session else { return }
    guard try book()[name] != nil else { throw .noSuchObject(ObjectPath.of(collection: name)) }
  }

  func collection(behind alias: String) throws(Refusal) -> String {
    guard let name = try book().collection(behind: alias) else { throw .noSuchObject(ObjectPath.of(alias: alias)) }
    return name
  }

  /// Makes a collection, or finds the one with the alias.
  ///
  /// - Returns: its name.
  func createCollection(_ label: String, alias: String, by client: AgentClient) throws(Refusal) -> String {
    let book = try book()
    if !alias.isEmpty, let name = book.collection(behind: alias) { return name }
    let name = Self.freeName(label, book)
    var metadata = ItemMetadata(label: label)
    if !alias.isEmpty { metadata.attributes[VaultNaming.alias + alias] = "" }
    try write(name, metadata, by: client)
    return name
  }

  /// Stores a collection's own item, which has no value.
  private func write(_ name: String, _ metadata: ItemMetadata, by client: AgentClient) throws(Refusal) {
    let empty = try Refusal.memory { () throws(SecretMemoryError) in try SecretBytes(zeros: 0) }
    let form = SecretForm(empty, metadata: metadata)
    try asking(ObjectPath.of(collection: name)) { () throws(StoreError) in
      let item = try ItemName(service: VaultNaming.collections, account: name)
      // An existing one is described: a set would keep attributes left empty, and so the last alias to remove.
      do throws(StoreError) { _ = try client.apply([.describe(item, as: metadata)]) } catch {
        guard error.kind == .notFound else { throw error }
        _ = try client.set(form, for: item)
      }
    }
  }

  /// The most bytes of a new name: each may take three in an object path.
  private static let longestName = 64

  /// An unused name for a collection of that label, if possible the label.
  private static func freeName(_ label: String, _ book: CollectionBook) -> String {
    let scalars = label.unicodeScalars.filter { $0.properties.generalCategory != .control }
    var start = String(String.UnicodeScalarView(scalars))
    while start.utf8.count > longestName { start.removeLast() }
    if start.isEmpty { start = "collection" }
    guard book[start] != nil else { return start }
    var number = 2
    while book["\(start) \(number)"] != nil { number += 1 }
    return "\(start) \(number)"
  }

  func label(_ name: String, _ label: String, by client: AgentClient) throws(Refusal) {
    try requireCollection(name)
    var metadata = try ownItem(name)
    metadata.label = label
    try write(name, metadata, by: client)
  }

  private func ownItem(_ name: String) throws(Refusal) -> ItemMetadata {
    let item = try asking(ObjectPath.of(collection: name)) { () throws(StoreError) in
      try client.item(ItemName(service: VaultNaming.collections, account: name))
    }
    return item?.metadata ?? ItemMetadata(label: CollectionBook()[name]?.label ?? name)
  }

  /// Nil removes the alias.
  func setAlias(_ alias: String, _ name: String?, by client: AgentClient) throws(Refusal) {
    let key = VaultNaming.alias + alias
    if let name {
      try requireCollection(name)
      let aliases = try ownItem(name).attributes
      // An item has one attribute per text: under its other spelling nobody would find the alias.
      if let place = aliases.index(forKey: key), !aliases[place].key.hasSameBytes(as: key) {
        throw .invalidArguments("the collection has an alias of the same text in another spelling of Unicode")
      }
    }
    var query = ItemQuery(service: VaultNaming.collections)
    query.attributeNames = [key]
    let asked = query
    let holders = try asking(ObjectPath.root) { () throws(StoreError) in try client.find(asked).items() }
    for holder in holders where name?.hasSameBytes(as: holder.name.account) != true {
      var metadata = holder.metadata
      metadata.attributes[key] = nil
      try write(holder.name.account, metadata, by: client)
    }
    guard let name, !holders.contains(where: { $0.name.account.hasSameBytes(as: name) }) else { return }
    // It leads there even without its own item.
    if CollectionBook().collection(behind: alias) == name { return }
    var metadata = try ownItem(name)
    metadata.attributes[key] = ""
    try write(name, metadata, by: client)
  }

  /// Deletes a collection with its items; shared ones are only unshared.
  ///
  /// - Returns: the items that clients no longer see.
  func deleteCollection(_ name: String, by client: AgentClient) throws(Refusal) -> [ItemEvent] {
    try requireCollection(name)
    let path = ObjectPath.of(collection: name)
    guard name != CollectionState.session else { throw .notSupported("the session's collection ends with the session") }
    guard try book().collection(behind: "default")?.hasSameBytes(as: name) != true else {
      throw .notSupported("it is the default collection: have the alias lead to another one first")
    }
    guard name != CollectionState.login else { throw .notSupported("the login collection is always there") }
    let events = try find([:], in: name).map { (item) throws(Refusal) in try delete(item.path, by: client) }
    _ = try asking(path) { () throws(StoreError) in
      try client.remove(ItemName(service: VaultNaming.collections, account: name))
    }
    return events
  }

  /// A sandboxed application's secret, made at its first request.
  ///
  /// Source: XDG Desktop Portal, "org.freedesktop.portal.Secret": the same for an application each time.
  func portalSecret(_ application: String, by client: AgentClient) throws(Refusal) -> SecretForm {
    let path = ObjectPath.portalRoot
    let name: ItemName
    do throws(StoreError) { name = try ItemName(service: VaultNaming.portal, account: application) } catch {
      throw Refusal(error, at: path)
    }
    if let present = try asking(path, { () throws(StoreError) in try client.get(name) }) { return present }
    let bytes = try Refusal.memory { () throws(SecretMemoryError) in try SecretBytes.random(Self.portalBytes) }
    // The portal has no name for an unsandboxed program.
    let owner = application.isEmpty ? "programs without a sandbox" : application
    let form = SecretForm(bytes, metadata: ItemMetadata(label: "Secret of \(owner)", contentType: "application/octet-stream"))
    do throws(StoreError) { try client.set(form, for: name, if: .absent) } catch {
      // Another provider, or this program at the shell, was first.
      guard error.kind == .alreadyExists else { throw Refusal(error, at: path) }
      return try portalSecret(application, by: client)
    }
    return form
  }

  private static let portalBytes = 64
}
