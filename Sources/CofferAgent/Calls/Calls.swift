internal import CofferClient
internal import CofferMemory
internal import CofferPlatform
package import CofferStorage
package import CofferVault
package import FoundationEssentials

/// The calls of the agent. Four requests are not among these: `find` sends descriptions as they lie in memory, `commit`
/// asks whether its client is still there, and an import comes as `stage` and `add`.
package enum Calls {
  // Items as they are.
  package static let get = Call<SecretForm?, ItemName>(.get) { (vault, name) throws(StoreError) in try vault.get(name) }
  /// Empty where there is no such item.
  package static let item = ListCall<VaultItem, ItemName>(.item) { (vault, name) throws(StoreError) in
    try vault.item(name).map { [$0] } ?? []
  }
  package static let fields = ListCall<VaultItem, ItemName>(.fields) { (vault, name) throws(StoreError) in
    try vault.fields(of: name)
  }
  package static let apply = ListCall<VaultItem, [ItemChange]>(.apply, .items) { (vault, changes) throws(StoreError) in
    try vault.apply(changes)
  }
  package static let rehearse = Call<Nothing, [ItemChange]>(.rehearse) { (vault, changes) throws(StoreError) in
    try Nothing(vault.rehearse(changes))
  }
  /// Nil removes for good.
  package static let remove = Call<Bool, ItemName, WriteCondition, Date?>(.delete, .items) {
    (vault, name, condition, date) throws(StoreError) in
    try vault.remove(name, if: condition, keptUntil: date)
  }
  /// With a prefix.
  package static let names = ListCall<String, String?, String>(.names) { (vault, service, prefix) throws(StoreError) in
    try vault.names(of: service, prefix: prefix)
  }

  // Items as they were.
  package static let revisions = ListCall<VaultRevision, ItemName>(.revisions) { (vault, name) throws(StoreError) in
    try vault.revisions(of: name)
  }
  package static let revision = Call<SecretForm?, ItemName, UInt64>(.revision) { (vault, name, revision) throws(StoreError) in
    try vault.get(name, revision: revision)
  }
  package static let deleted = ListCall<VaultRevision, String?>(.deleted) { (vault, service) throws(StoreError) in
    try vault.deleted(service: service)
  }
  package static let revert = Call<VaultItem, ItemName, UInt64, WriteCondition>(.revert, .items) {
    (vault, name, revision, condition) throws(StoreError) in
    try vault.revert(name, to: revision, if: condition)
  }
  package static let undelete = Call<VaultItem, ItemName>(.undelete, .items) { (vault, name) throws(StoreError) in
    try vault.undelete(name)
  }
  package static let prune = Call<UInt64, PruneRule, ItemName?>(.prune, .items) { (vault, rule, name) throws(StoreError) in
    UInt64(clamping: try vault.prune(rule, of: name))
  }

  // A store of one service.
  static let load = ListCall<Reading<Vault>, String, [String]>(.load) { (vault, service, names) throws(StoreError) in
    try vault.load(names, service: service, mostBytes: AgentProtocol.mostLoaded)
  }
  static let contains = Call<Bool, String, String>(.contains) { (vault, service, name) throws(StoreError) in
    try vault.contains(name, service: service)
  }
  static let version = Call<RecordVersion, String, String>(.version) { (vault, service, name) throws(StoreError) in
    try vault.version(of: name, service: service)
  }
  static let marked = ListCall<MarkedItem, String>(.marked) { (vault, service) throws(StoreError) in
    try vault.sessionItems(service: service).map { MarkedItem(name: $0, version: $1) }.sorted { $0.name < $1.name }
  }
  static let forget = Call<Nothing, TransactionID>(.forget, .file) { (vault, id) throws(StoreError) in
    try Nothing(vault.forget(id))
  }

  // The vault as a whole.
  package static let verify = Call<VerifyReport>(.verify) { (vault) throws(StoreError) in try vault.verify() }
  package static let log = ListCall<VaultLogEntry, UInt64?>(.log) { (vault, limit) throws(StoreError) in
    try vault.log(limit: limit.map { Int(clamping: $0) })
  }
  package static let describe = Call<HeldVaultDescription>(.describe) { (vault) throws(StoreError) in
    let memory = SecretMemory.report
    return HeldVaultDescription(
      status: try vault.status(), pin: try vault.pinStatus(), log: try vault.logLength(), lockedBytes: memory.lockedBytes,
      unlockedBytes: memory.unlockedBytes)
  }
  package static let contents = ListCall<StoredContent, [ItemName]>(.contents) { (vault, names) throws(StoreError) in
    try vault.contents(of: names, mostBytes: AgentProtocol.mostLoaded)
  }
}

/// An item that a logout removes.
struct MarkedItem: WireValue {
  let name: String, version: RecordVersion

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(name, version)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> MarkedItem {
    MarkedItem(name: try fields.text(), version: try fields.read())
  }
}
