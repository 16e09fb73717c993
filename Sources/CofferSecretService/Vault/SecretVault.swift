internal import CofferAgent
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials
internal import Synchronization

/// The items of all collections, in the agent's vault or in memory. Used on one queue, which may wait for the agent, and on
/// the bus's thread while the queue is idle.
final class SecretVault: Sendable {
  let client: AgentClient
  let state: State

  final class State: Sendable {
    let memory = Mutex(SessionItems())
    /// The clients' knowledge; nil while they can have none.
    let known = Mutex<[ItemPath: StoredItem]?>(nil)
  }

  private init(_ client: AgentClient, _ state: State) {
    self.client = client
    self.state = state
  }

  convenience init(_ client: AgentClient) { self.init(client, State()) }

  /// The same items, through another client.
  func asked(by client: AgentClient) -> SecretVault { SecretVault(client, state) }

  func asking<Result>(_ path: String, _ body: () throws(StoreError) -> Result) throws(Refusal) -> Result {
    do throws(StoreError) { return try body() } catch { throw Refusal(error, at: path) }
  }

  // MARK: Reading

  /// The items with `attributes` in `collection`, or in all: stored ones before shared ones.
  func find(_ attributes: [String: String], in collection: String?) throws(Refusal) -> [StoredItem] {
    var found: [StoredItem] = []
    if collection != CollectionState.session {
      var query = ItemQuery(service: collection.map(VaultNaming.service))
      query.attributes = attributes.map { ItemQuery.Attribute($0.key, $0.value) }
      // The attributes of a shared item are not stored.
      query.besides = ItemQuery.Mark(VaultNaming.shared, collection)
      query.isUse = false
      let asked = query
      let all = try asking(ObjectPath.root) { () throws(StoreError) in try client.find(asked).items() }
        .compactMap(VaultNaming.stored)
        .filter { item in item.attributes.holds(attributes) && (collection?.hasSameBytes(as: item.path.collection) ?? true) }
      found = all.filter { !$0.isShared } + all.filter(\.isShared)
    }
    if collection == nil || collection == CollectionState.session { found += state.memory.withLock { $0.find(attributes) } }
    return found
  }

  func item(_ path: ItemPath) throws(Refusal) -> StoredItem {
    let found: StoredItem?
    if path.collection == CollectionState.session {
      found = state.memory.withLock { $0.item(path.element) }
    } else {
      found = try vaultItem(path).flatMap(VaultNaming.stored)
    }
    guard let found else { throw .noSuchObject(path.text) }
    return found
  }

  private func vaultItem(_ path: ItemPath) throws(Refusal) -> VaultItem? {
    guard let id = VaultNaming.sharedID(path.element) else {
      guard let account = PathElement.decode(path.element) else { return nil }
      let name = try VaultNaming.name(path.collection, account)
      return try asking(path.text) { () throws(StoreError) in try client.item(name) }
    }
    var query = ItemQuery()
    query.isUse = false
    query.attributes = [ItemQuery.Attribute(VaultNaming.shared, path.collection)]
    let shared = try asking(path.text) { () throws(StoreError) in try client.find(query).items() }
    return shared.first { VaultNaming.hexadecimal($0.id) == id }
  }

  /// The vault's name for the item, looked up only if `path` does not have it.
  private func name(_ path: ItemPath) throws(Refusal) -> ItemName {
    if VaultNaming.sharedID(path.element) == nil, let account = PathElement.decode(path.element) {
      return try VaultNaming.name(path.collection, account)
    }
    guard let item = try vaultItem(path) else { throw .noSuchObject(path.text) }
    return item.name
  }

  func secret(_ path: ItemPath) throws(Refusal) -> SecretForm {
    let found: SecretForm?
    if path.collection == CollectionState.session {
      found = state.memory.withLock { $0.secret(path.element) }
    } else {
      let name = try name(path)
      found = try asking(path.text) { () throws(StoreError) in try client.get(name) }
    }
    guard let found else { throw .noSuchObject(path.text) }
    return found
  }

  // MARK: Writing

  /// Replaces the oldest item with equal attributes, if `replaces`.
  func create(
    _ draft: ItemDraft, _ secret: SecretForm, in collection: String, replaces: Bool, by client: AgentClient
  ) throws(Refusal) -> ItemEvent {
    try requireCollection(collection)
    try Self.checkFree(draft.attributes)
    let equal =
      try replaces
      ? find(draft.attributes, in: collection).filter { $0.attributes.count == draft.attributes.count }.min {
        $0.created < $1.created
      } : nil
    if collection == CollectionState.session {
      return try state.memory.withLock { (memory) throws(Refusal) in
        ItemEvent(equal == nil ? .created : .changed, try memory.set(draft, secret, at: equal?.path.element))
      }
    }
    // A shared item keeps its name, and the mark that shows it here.
    let old = try equal.map { (item) throws(Refusal) in try existing(item.path, writing: true) }
    let name: ItemName
    if let old { name = old.name } else { name = try VaultNaming.name(collection, VaultNaming.hexadecimal(UUID())) }
    var form = secret
    form.metadata.label = draft.label
    form.metadata.attributes = Self.attributes(draft.attributes, of: old)
    let (stored, condition) = (form, old?.isUnchanged ?? .absent)
    let item = try asking(equal?.path.text ?? ObjectPath.of(collection: collection)) { () throws(StoreError) in
      let item = try client.set(stored, for: name, if: condition)
      // For the vault, an empty label means the previous one.
      guard stored.metadata.label.isEmpty, !item.metadata.label.isEmpty else { return item }
      return try client.apply([.describe(name, as: stored.metadata, if: item.isUnchanged)]).first ?? item
    }
    return try noted(old == nil ? .created : .changed, item)
  }

  /// Attributes for the vault after a client sets `attributes`: Coffer's own stay, such as the mark of a shared item.
  private static func attributes(_ attributes: [String: String], of item: VaultItem?) -> [String: String] {
    attributes.merging(item?.metadata.ownAttributes ?? [:]) { _, own in own }
  }

  /// - Throws: ``Refusal`` `InvalidArgs` for Coffer's own names: a client could set where a login is renewed.
  private static func checkFree(_ attributes: [String: String]) throws(Refusal) {
    guard let name = attributes.keys.first(where: ItemMetadata.isOwn(attribute:)) else { return }
    throw .invalidArguments("the attribute \(name) is reserved")
  }

  /// - Parameter writing: whether it gets another secret; only Coffer sets that of a login.
  private func existing(_ path: ItemPath, writing: Bool = false) throws(Refusal) -> VaultItem {
    guard let item = try vaultItem(path) else { throw .noSuchObject(path.text) }
    guard !writing || !item.metadata.isKeptByCoffer else {
      throw .denied("the item is a login; only coffer login replaces it")
    }
    return item
  }

  /// Keeps the item's label and attributes.
  func setSecret(_ secret: SecretForm, at path: ItemPath, by client: AgentClient) throws(Refusal) -> ItemEvent {
    if path.collection == CollectionState.session {
      return try state.memory.withLock { (memory) throws(Refusal) in
        guard let old = memory.item(path.element) else { throw .noSuchObject(path.text) }
        let draft = ItemDraft(label: old.label, attributes: old.attributes)
        return ItemEvent(.changed, try memory.set(draft, secret, at: path.element))
      }
    }
    let old = try existing(path, writing: true)
    var form = secret
    let type = secret.metadata.contentType
    form.metadata = old.metadata
    form.metadata.contentType = type
    let item = try asking(path.text) { () throws(StoreError) in
      try client.set(form, for: old.name, if: old.isUnchanged)
    }
    return try noted(.changed, item)
  }

  func describe(
    _ path: ItemPath, label: String? = nil, attributes: [String: String]? = nil, by client: AgentClient
  ) throws(Refusal) -> ItemEvent {
    try Self.checkFree(attributes ?? [:])
    if path.collection == CollectionState.session {
      return try state.memory.withLock { (memory) throws(Refusal) in
        guard let old = memory.item(path.element), let secret = memory.secret(path.element) else {
          throw .noSuchObject(path.text)
        }
        let draft = ItemDraft(label: label ?? old.label, attributes: attributes ?? old.attributes)
        return ItemEvent(.changed, try memory.set(draft, secret, at: path.element))
      }
    }
    let old = try existing(path)
    var metadata = old.metadata
    if let label { metadata.label = label }
    if let attributes { metadata.attributes = Self.attributes(attributes, of: old) }
    let described = metadata
    let items = try asking(path.text) { () throws(StoreError) in
      try client.apply([.describe(old.name, as: described, if: old.isUnchanged)])
    }
    guard let item = items.first else { return try noted(.changed, existing(path)) }
    return try noted(.changed, item)
  }

  /// Deletes the item; a shared one is only unshared.
  func delete(_ path: ItemPath, by client: AgentClient) throws(Refusal) -> ItemEvent {
    if path.collection == CollectionState.session {
      guard let old = state.memory.withLock({ $0.item(path.element) }), state.memory.withLock({ $0.remove(path.element) }) else {
        throw .noSuchObject(path.text)
      }
      return ItemEvent(.deleted, old)
    }
    let old = try existing(path)
    guard let stored = VaultNaming.stored(old) else { throw .noSuchObject(path.text) }
    if VaultNaming.sharedID(path.element) != nil {
      var metadata = old.metadata
      metadata.attributes[VaultNaming.shared] = nil
      let described = metadata
      _ = try asking(path.text) { () throws(StoreError) in
        try client.apply([.describe(old.name, as: described, if: old.isUnchanged)])
      }
    } else {
      let isDone = try asking(path.text) { () throws(StoreError) in try client.remove(old.name) }
      guard isDone else { throw .noSuchObject(path.text) }
    }
    _ = state.known.withLock { $0?.removeValue(forKey: path) }
    return ItemEvent(.deleted, stored)
  }

  /// The event of `item`, signaled now and not again by a survey.
  private func noted(_ kind: ItemEvent.Kind, _ item: VaultItem) throws(Refusal) -> ItemEvent {
    guard let stored = VaultNaming.stored(item) else { throw .failed("the item is in no collection") }
    state.known.withLock { if $0 != nil { $0?[stored.path] = stored } }
    return ItemEvent(kind, stored)
  }
}

struct ItemEvent: Sendable, Equatable {
  enum Kind: Sendable, Equatable { case created, changed, deleted }
  let kind: Kind
  let item: StoredItem

  init(_ kind: Kind, _ item: StoredItem) {
    self.kind = kind
    self.item = item
  }
}
