public import CofferMemory
public import CofferPlatform
public import CofferStorage
package import SystemPackage

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
  ///   - cost: the Argon2id cost of a passphrase, which becomes the floor of all later passphrase slots; nil measures this machine:
  ///     3 passes and more over 64, 128 or 256 MiB, half a second here, and a floor of 3 passes over 64 MiB.
  ///   - label: a name for the slot, at most 64 bytes.
  ///   - options: how the vault is opened, and where this machine remembers it.
  /// - Throws: `StoreError` `.alreadyExists`, `.denied`, `.noSpace`, `.kdfMemory`, `.noCredentials`, `.unsupported` (a server); nothing is
  ///   left behind then.
  public static func create(
    at place: VaultPlace, with credentials: consuming Credentials, cost: PassphraseCost? = nil, label: String = "",
    options: VaultOptions
  ) throws(StoreError) -> UnlockedVault {
    UnlockedVault(try OpenVault.create(at: place.file(), with: credentials, cost: cost, label: label, options: options))
  }

  /// Where it is.
  public var place: VaultPlace { .file(core.path) }
  /// The vault's file.
  package var path: FilePath { core.path }
  /// The vault's id.
  public var id: VaultID { core.id }

  /// The value and metadata of `name`; nil when there is no such item.
  ///
  /// - Throws: `StoreError` `.expired`, `.clockBehind`, `.tampered`, `.damaged`, `.afterFork`, `.io`.
  public borrowing func get(_ name: ItemName) throws(StoreError) -> SecretForm? {
    try about(name) { () throws(StoreError) in
      try core.read { (vault) throws(StoreError) in
        try vault.items.get(name)?.form
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
    try core.read { (vault) throws(StoreError) in
      try vault.items.list(service: service)
    }
  }

  /// Stores `form` under `name` and returns what a listing now says. A label or attributes left empty keep what was there; an
  /// expiry does not outlive its value.
  ///
  /// - Parameters:
  ///   - form: the value and what describes it.
  ///   - name: the item.
  ///   - condition: what must be so for the write to happen.
  /// - Throws: `StoreError` `.tooLarge`, `.alreadyExists`, `.conflict`, `.busy`, `.tampered`, `.noSpace`, `.io`; nothing has changed
  ///   then, and nothing of it comes back. `.outcomeUnknown` when the disk fails so that nobody can tell.
  @discardableResult
  public borrowing func set(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always
  ) throws(StoreError) -> VaultItem {
    try about(name) { () throws(StoreError) in
      try core.write { (vault, change) throws(StoreError) in
        try vault.items.put(form, for: name, if: condition, &change)
      }
    }
  }

  /// Stores `secret` under `name`, called `label` in listings. A label left empty keeps the one that was there.
  ///
  /// - Throws: what ``set(_:for:if:)`` throws.
  @discardableResult
  public borrowing func set(_ secret: consuming SecretBytes, label: String = "", for name: ItemName) throws(StoreError)
    -> VaultItem
  {
    try set(SecretForm(secret, metadata: ItemMetadata(label: label)), for: name)
  }

  /// Removes `name`; false when there was nothing.
  @discardableResult
  public borrowing func remove(_ name: ItemName) throws(StoreError) -> Bool {
    try about(name) { () throws(StoreError) in
      try core.write { (vault, change) throws(StoreError) in
        try vault.items.remove(name, &change)
      }
    }
  }

  /// Waits for running calls, wipes the keys and closes the file.
  public consuming func lock() throws(StoreError) -> LockedVault {
    core.close()
    return try LockedVault.open(.file(core.path), options: core.options)
  }
}

/// Runs `body`, whose errors are said of `name`.
private func about<Result>(_ name: ItemName, _ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
  do { return try body() } catch { throw error.about(key: name.description) }
}

/// What must be so for a write to happen.
public enum WriteCondition: Sendable, Equatable {
  /// Whatever is there is replaced.
  case always
  /// Nothing may be there: ``/CofferPlatform/StoreError/Kind/alreadyExists`` otherwise.
  case absent
  /// The item's revision must be this one: ``/CofferPlatform/StoreError/Kind/conflict`` otherwise.
  case revision(UInt64)
}

/// The Argon2id cost of a passphrase slot: passes over a memory.
public struct PassphraseCost: Sendable, Equatable {
  /// Passes over the memory.
  public let passes: UInt32
  /// Memory in MiB.
  public let mebibytes: UInt32
  /// 3 passes over 256 MiB: 324 ms measured.
  public static let standard = PassphraseCost(passes: 3, mebibytes: 256)
  /// 1 pass over 8 MiB, the least that a reader accepts: for tests, where slowness protects nothing.
  public static let testing = PassphraseCost(passes: 1, mebibytes: 8)
  /// A cost of `passes` over `mebibytes` MiB.
  public init(passes: UInt32, mebibytes: UInt32) {
    self.passes = passes
    self.mebibytes = mebibytes
  }
}
