public import CofferMemory
public import CofferPlatform
public import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// An open vault, safe to share between threads. Locking consumes it, so no call can reach a locked vault.
public struct UnlockedVault: ~Copyable, Sendable {
  let core: VaultCore

  /// Whether another value closes the vault.
  private let isLent: Bool

  init(_ vault: sending OpenVault) { (core, isLent) = (VaultCore(vault), false) }

  /// The same vault for a call on another thread. It is closed when the owner locks it.
  init(lending core: VaultCore) { (self.core, isLent) = (core, true) }

  deinit { if !isLent { core.close() } }

  /// Creates a vault with one slot: for a passphrase, a key file, or both together.
  ///
  /// Creates a missing folder with mode 0700. The file, of mode 0600, appears under its name once complete.
  ///
  /// - Parameters:
  ///   - place: the place of the vault.
  ///   - credentials: the slot's secrets.
  ///   - cost: the Argon2id cost of a passphrase, and the floor of all later passphrase slots. Nil measures this machine: at
  ///     least 3 passes over 64, 128 or 256 MiB for half a second, with a floor of 3 passes over 64 MiB.
  ///   - label: a name for the slot, at most 64 bytes.
  ///   - options: how to open the vault, and where this machine remembers it.
  /// - Throws: `StoreError` `.alreadyExists`, `.denied`, `.noSpace`, `.kdfMemory`, `.noCredentials`, `.unsupported` (a
  ///   server). Leaves nothing behind.
  public static func create(
    at place: VaultPlace, with credentials: consuming Credentials, cost: PassphraseCost? = nil, label: String = "",
    options: VaultOptions
  ) throws(StoreError) -> UnlockedVault {
    UnlockedVault(try OpenVault.create(at: place, with: credentials, cost: cost, label: label, options: options))
  }

  /// The place of the vault.
  public var place: VaultPlace { core.place }
  /// The vault's id.
  public var id: VaultID { core.id }

  /// The value and metadata of `name`; nil if there is no such item.
  ///
  /// - Throws: `StoreError` `.expired`, `.clockBehind`, `.tampered`, `.damaged`, `.afterFork`, `.io`.
  public borrowing func get(_ name: ItemName) throws(StoreError) -> SecretForm? {
    try about(name) { () throws(StoreError) in
      try core.read(about: name) { (vault) throws(StoreError) in
        try vault.items.get(name)?.form
      }
    }
  }

  /// The value and listing of `name` from one moment, to bind a write to them with ``WriteCondition/item(_:revision:)``; nil
  /// if there is no such item.
  ///
  /// - Throws: the errors of `get(_:)`.
  public borrowing func getWithItem(_ name: ItemName) throws(StoreError) -> (form: SecretForm, item: VaultItem)? {
    try about(name) { () throws(StoreError) in
      try core.read(about: name) { (vault) throws(StoreError) in
        guard let form = try vault.items.get(name)?.form, let item = try vault.items.item(name) else { return nil }
        return (form, item)
      }
    }
  }

  /// Lends the value of a withheld item or field, even with ``VaultOptions/withholdsKeys``, and its listing from the same moment
  /// to `body`, for one use. The value is wiped afterwards. `body` may call the vault.
  ///
  /// - Throws: `StoreError` `.notFound`, `.refused` for a record that is not withheld; the errors of `get(_:)` and of `body`.
  package borrowing func withKey<Result>(
    _ name: ItemName, _ body: (borrowing SecretBytes, VaultItem) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let (form, item) = try about(name) { () throws(StoreError) in
      try core.read(about: name) { (vault) throws(StoreError) in
        let items = vault.items.whole
        guard let record = try items.record(name) else {
          throw StoreError(.notFound, "there is no such item", place: place.description, cure: "list the items")
        }
        let item = items.item(record.meta)
        guard item.metadata.isWithheld else {
          throw StoreError(
            .refused, "the item is no key that programs use and never read", place: place.description, cure: "read its value")
        }
        try items.checkExpiry(record.meta)
        guard let form = try record.form(for: items) else { throw ItemTable.withoutValue(name, place) }
        return (form, item)
      }
    }
    return try body(form.bytes, item)
  }

  /// The listing of `name` without opening its value, expired or not; nil if there is no such item.
  public borrowing func item(_ name: ItemName) throws(StoreError) -> VaultItem? {
    try about(name) { () throws(StoreError) in
      try core.read(about: name) { (vault) throws(StoreError) in
        try vault.items.item(name)
      }
    }
  }

  /// All items, or those of one service, by name, without opening a value.
  public borrowing func list(service: String? = nil) throws(StoreError) -> [VaultItem] {
    try find(ItemQuery(service: service)).items()
  }

  /// The listing of an item's fields, by name; empty if it has none.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/notFound`` if there is no such item.
  public borrowing func fields(of name: ItemName) throws(StoreError) -> [VaultItem] {
    try about(name) { () throws(StoreError) in
      guard let fields = try core.read({ (vault) throws(StoreError) in try vault.items.fields(of: name) }) else {
        throw StoreError(.notFound, "there is no such item", place: place.description, cure: "list the items")
      }
      return fields
    }
  }

  /// Stores `form` under `name` and returns the new listing. An empty label or empty attributes keep the old ones. An old
  /// expiry ends with its value.
  ///
  /// - Parameters:
  ///   - form: the value and its metadata.
  ///   - name: the item, or a field of an existing item.
  ///   - condition: the condition for the write.
  ///   - keeping: the number of previous versions to keep from now on, beginning with the replaced one, at most
  ///     ``VaultItem/longestHistory``. Nil keeps as many as before, none for a new item. An item that ends with a session
  ///     keeps none.
  /// - Throws: `StoreError` `.tooLarge`, `.alreadyExists`, `.conflict`, `.notFound` (the item of a field), `.busy`,
  ///   `.tampered`, `.noSpace`, `.io`. Nothing has changed then, and the write cannot appear later. `.outcomeUnknown` if a
  ///   disk failure leaves the result open, or another writer to a server does not finish in time.
  @discardableResult
  public borrowing func set(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always, keeping: Int? = nil
  ) throws(StoreError) -> VaultItem {
    try about(name) { () throws(StoreError) in
      try core.writeOrQueue(about: name) { (vault, change) throws(StoreError) in
        try vault.items.put(form, for: name, if: condition, keeping: keeping, &change)
      }
    }
  }

  /// Stores `secret` under `name` with `label`. An empty label keeps the old one.
  ///
  /// - Throws: the errors of `set(_:for:if:keeping:)`.
  @discardableResult
  public borrowing func set(_ secret: consuming SecretBytes, label: String = "", for name: ItemName) throws(StoreError)
    -> VaultItem
  {
    try set(SecretForm(secret, metadata: ItemMetadata(label: label)), for: name)
  }

  /// Waits for running calls, wipes the keys, and closes the file.
  public consuming func lock() throws(StoreError) -> LockedVault {
    core.close()
    return try LockedVault.open(core.place, options: core.options)
  }
}

extension UnlockedVault {
  /// Checks the whole vault without decrypting a value: both headers, state, lists, digests, root, the log's chain, both
  /// tags of every row of both tables, absence of extra rows, and every page of the file.
  ///
  /// - Parameter progress: receives the number of checked records and the total; must not call the vault.
  /// - Throws: `StoreError` `.tampered`, `.damaged`.
  public borrowing func verify(progress: (Int, Int) -> Void = { _, _ in }) throws(StoreError) -> VerifyReport {
    try core.run { (vault) throws(StoreError) in
      // A server's rows are read again even if the state is unchanged.
      if vault.view.database.isRemote { vault.view.forget() }
      return try vault.read { (vault) throws(StoreError) in try vault.verify(progress) }
    }
  }

  /// The status of the vault.
  public borrowing func status() throws(StoreError) -> VaultStatus {
    try core.read { (vault) throws(StoreError) in try vault.status() }
  }

  /// Commits since creation.
  package borrowing func generation() throws(StoreError) -> UInt64 {
    try core.read { (vault) throws(StoreError) in vault.view.state.generation }
  }

  /// Removes remains of removals from the file if many in a row postponed that. Call it occasionally while a vault stays
  /// open; it writes nothing if nothing is due.
  package borrowing func removeOldBytes() throws(StoreError) {
    try core.run { (vault) throws(StoreError) in vault.oldBytes.removeOwedWhenDue(from: vault) }
  }

  /// The vault's log, oldest entry first, after a check of the whole chain. Writes and logs nothing.
  ///
  /// - Parameter limit: how many of the newest entries to return; nil for all.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` for a changed, added or missing row.
  public borrowing func log(limit: Int? = nil) throws(StoreError) -> [VaultLogEntry] {
    try core.read { (vault) throws(StoreError) in
      try vault.entries(limit: limit)
    }
  }

  /// The number of entries in the log.
  public borrowing func logLength() throws(StoreError) -> Int {
    try core.read { (vault) throws(StoreError) in
      try vault.log.length()
    }
  }

  /// The vault's id and the mark of its key, for a person or machine that is to trust this vault. Send it over a
  /// tamper-proof channel, and again after removing a slot.
  public borrowing func invitation() throws(StoreError) -> Invitation {
    try core.read { (vault) throws(StoreError) in Invitation(vault: vault.view.id, key: vault.view.keys.epochMark) }
  }

  /// Checks that the vault's key descends from the key of each of `invitations`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/replaced``, ``/CofferPlatform/StoreError/Kind/rolledBack``,
  ///   ``/CofferPlatform/StoreError/Kind/forked``.
  public borrowing func check(_ invitations: [Invitation]) throws(StoreError) {
    guard !invitations.isEmpty else { return }
    try core.read { (vault) throws(StoreError) in try vault.view.check(invitations) }
  }

  /// The result of comparing the vault with this machine's pin since the unlock.
  public borrowing func pinStatus() throws(StoreError) -> PinStatus {
    try core.run { (vault) throws(StoreError) in vault.view.pins?.status ?? .none }
  }
}

func about<Result>(_ name: ItemName, _ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
  do { return try body() } catch { throw error.about(key: name.description) }
}

extension UnlockedVault {
  /// The result of `query`, by name, without opening a value.
  package borrowing func find(_ query: ItemQuery) throws(StoreError) -> ItemDescriptions {
    try core.read { (vault) throws(StoreError) in try vault.find(query) }
  }

  /// The number of items that `query` finds, without holding their descriptions.
  package borrowing func count(_ query: ItemQuery) throws(StoreError) -> Int {
    try core.read { (vault) throws(StoreError) in try vault.items.count(query) }
  }

  /// The distinct services that begin with `prefix`, or the accounts of `service` that do, by name.
  package borrowing func names(of service: String?, prefix: String) throws(StoreError) -> [String] {
    try core.read { (vault) throws(StoreError) in
      guard let all = try vault.indexed() else {
        return try vault.items.find(ItemQuery(service: service)).names(of: service, prefix: prefix)
      }
      return all.names(of: service, prefix: prefix)
    }
  }

  /// Reads part of the index, if there is one; true once nothing is left to read.
  package borrowing func prepareIndex(most: Int) throws(StoreError) -> Bool {
    try core.read { (vault) throws(StoreError) in try vault.prepareIndex(most: most) }
  }
}
