public import CofferMemory
public import CofferPlatform
public import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// An open vault. Safe to share between threads; locking it consumes it, so that nothing can be asked of a locked vault.
public struct UnlockedVault: ~Copyable, Sendable {
  let core: VaultCore

  init(_ vault: sending OpenVault) { core = VaultCore(vault) }

  deinit { core.close() }

  /// Creates a vault with one slot: for a passphrase, a key file, or both together, whatever `credentials` hold.
  ///
  /// A missing folder is made with mode 0700; the file, of mode 0600, appears under its name once it is complete.
  ///
  /// - Parameters:
  ///   - place: where the vault will be.
  ///   - credentials: what opens it.
  ///   - cost: the Argon2id cost of a passphrase, which becomes the floor of all later passphrase slots; nil measures this
  ///     machine: 3 passes and more over 64, 128 or 256 MiB, half a second here, and a floor of 3 passes over 64 MiB.
  ///   - label: a name for the slot, at most 64 bytes.
  ///   - options: how the vault is opened, and where this machine remembers it.
  /// - Throws: `StoreError` `.alreadyExists`, `.denied`, `.noSpace`, `.kdfMemory`, `.noCredentials`, `.unsupported` (a server);
  ///   nothing is left behind then.
  public static func create(
    at place: VaultPlace, with credentials: consuming Credentials, cost: PassphraseCost? = nil, label: String = "",
    options: VaultOptions
  ) throws(StoreError) -> UnlockedVault {
    UnlockedVault(try OpenVault.create(at: place, with: credentials, cost: cost, label: label, options: options))
  }

  /// Where it is.
  public var place: VaultPlace { core.place }
  /// The vault's id.
  public var id: VaultID { core.id }

  /// The value and metadata of `name`; nil when there is no such item.
  ///
  /// - Throws: `StoreError` `.expired`, `.clockBehind`, `.tampered`, `.damaged`, `.afterFork`, `.io`.
  public borrowing func get(_ name: ItemName) throws(StoreError) -> SecretForm? {
    try about(name) { () throws(StoreError) in
      try core.read(about: name) { (vault) throws(StoreError) in
        try vault.items.get(name)?.form
      }
    }
  }

  /// The value of `name` and what a listing says of it, of one moment, so that ``WriteCondition/item(_:revision:)`` can hold a
  /// write to that content; nil when there is no such item.
  ///
  /// - Throws: what ``get(_:)`` throws.
  public borrowing func getWithItem(_ name: ItemName) throws(StoreError) -> (form: SecretForm, item: VaultItem)? {
    try about(name) { () throws(StoreError) in
      try core.read(about: name) { (vault) throws(StoreError) in
        guard let form = try vault.items.get(name)?.form, let item = try vault.items.item(name) else { return nil }
        return (form, item)
      }
    }
  }

  /// All but the value of `name`, without opening the value; nil when there is no such item. Tells of expired items too.
  public borrowing func item(_ name: ItemName) throws(StoreError) -> VaultItem? {
    try about(name) { () throws(StoreError) in
      try core.read { (vault) throws(StoreError) in
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
        throw StoreError(.notFound, "there is no such item", place: place.description, cure: "look at the list of items")
      }
      return fields
    }
  }

  /// Stores `form` under `name` and returns what a listing now says. A label or attributes left empty keep what was there; an
  /// expiry does not outlive its value.
  ///
  /// - Parameters:
  ///   - form: the value and what describes it.
  ///   - name: the item, or the field of an item that is there.
  ///   - condition: what must be so for the write to happen.
  ///   - keeping: how many former contents are kept from now on, up to ``VaultItem/longestHistory``: those of so many writes
  ///     before this one, of which the first now to be kept is the content that is replaced. Nil for as many as the item keeps
  ///     already, a new one none. Of an item that ends with a session none is kept whatever is asked.
  /// - Throws: `StoreError` `.tooLarge`, `.alreadyExists`, `.conflict`, `.notFound` (the item of a field), `.busy`, `.tampered`,
  ///   `.noSpace`, `.io`; nothing has changed then, and nothing of it comes back. `.outcomeUnknown` when the disk fails so that
  ///   nobody can tell.
  @discardableResult
  public borrowing func set(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always, keeping: Int? = nil
  ) throws(StoreError) -> VaultItem {
    try about(name) { () throws(StoreError) in
      try core.write(about: name) { (vault, change) throws(StoreError) in
        try vault.items.put(form, for: name, if: condition, keeping: keeping, &change)
      }
    }
  }

  /// Stores `secret` under `name`, called `label` in listings. A label left empty keeps the one that was there.
  ///
  /// - Throws: what ``set(_:for:if:keeping:)`` throws.
  @discardableResult
  public borrowing func set(_ secret: consuming SecretBytes, label: String = "", for name: ItemName) throws(StoreError)
    -> VaultItem
  {
    try set(SecretForm(secret, metadata: ItemMetadata(label: label)), for: name)
  }

  /// Waits for running calls, wipes the keys and closes the file.
  public consuming func lock() throws(StoreError) -> LockedVault {
    core.close()
    return try LockedVault.open(core.place, options: core.options)
  }
}

// The vault's reports about itself.
extension UnlockedVault {
  /// Checks everything a vault holds without decrypting a value: both headers, state, lists, digests, root, the log's chain,
  /// both tags of every row of both tables, that there is no row more, and every page of the file.
  ///
  /// - Parameter progress: called now and then with the number of records checked and their total; it must not call the vault.
  /// - Throws: `StoreError` `.tampered`, `.damaged`.
  public borrowing func verify(progress: (Int, Int) -> Void = { _, _ in }) throws(StoreError) -> VerifyReport {
    try core.run { (vault) throws(StoreError) in
      // Memory of a server's rows is read again even if the state is the same.
      if vault.view.database.isRemote { vault.view.forget() }
      return try vault.read { (vault) throws(StoreError) in try vault.verify(progress) }
    }
  }

  /// The status of the vault.
  public borrowing func status() throws(StoreError) -> VaultStatus {
    try core.read { (vault) throws(StoreError) in
      vault.status
    }
  }

  /// Removes remains of removals from the file, if that was postponed because many followed each other. Call it now and then
  /// while a vault stays open; it writes nothing if nothing is due.
  package borrowing func removeOldBytes() throws(StoreError) {
    try core.run { (vault) throws(StoreError) in vault.oldBytes.removeOwedWhenDue(from: vault) }
  }

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

  /// The vault's id and the mark of its key, for a person or machine that is to trust this vault. Send it over a channel that
  /// nobody can tamper with, and again after a slot was removed.
  public borrowing func invitation() throws(StoreError) -> Invitation {
    try core.read { (vault) throws(StoreError) in Invitation(vault: vault.view.id, key: vault.view.keys.epochMark) }
  }

  /// Checks that the vault's key comes from that of each of `invitations`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/replaced``, ``/CofferPlatform/StoreError/Kind/rolledBack``,
  ///   ``/CofferPlatform/StoreError/Kind/forked``.
  public borrowing func check(_ invitations: [Invitation]) throws(StoreError) {
    guard !invitations.isEmpty else { return }
    try core.read { (vault) throws(StoreError) in try vault.view.check(invitations) }
  }

  /// What comparing the vault with this machine's pin has shown since it was unlocked.
  public borrowing func pinStatus() throws(StoreError) -> PinStatus {
    try core.run { (vault) throws(StoreError) in vault.view.pins?.status ?? .none }
  }
}

/// Runs `body`, whose errors are said of `name`.
func about<Result>(_ name: ItemName, _ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
  do { return try body() } catch { throw error.about(key: name.description) }
}

extension UnlockedVault {
  /// What `query` asks for, by name, without opening a value.
  package borrowing func find(_ query: ItemQuery) throws(StoreError) -> ItemDescriptions {
    try core.read { (vault) throws(StoreError) in try vault.find(query) }
  }

  /// The services that begin with `prefix`, each once, or the accounts of `service` that do, by name.
  package borrowing func names(of service: String?, prefix: String) throws(StoreError) -> [String] {
    try core.read { (vault) throws(StoreError) in
      guard let all = try vault.indexed() else {
        return try vault.items.find(ItemQuery(service: service)).names(of: service, prefix: prefix)
      }
      return all.names(of: service, prefix: prefix)
    }
  }

  /// Reads part of the index, if one is kept; true once nothing is left to read.
  package borrowing func prepareIndex(most: Int) throws(StoreError) -> Bool {
    try core.read { (vault) throws(StoreError) in try vault.prepareIndex(most: most) }
  }
}
