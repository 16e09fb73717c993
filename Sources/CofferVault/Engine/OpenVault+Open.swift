internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import SystemPackage

extension OpenVault {
  /// Opens the vault at `path` with the first slot that `credentials` open.
  ///
  /// No transaction is held while Argon2id runs. Should the header change meanwhile (another process rotates the key), what was
  /// opened is of the past: the slot follows to the present by its kept secret.
  static func unlock(
    _ path: FilePath, with credentials: consuming Credentials, options: VaultOptions = .withoutPins, accepting: Bool = false,
    clock: @escaping @Sendable () -> Date = { Date() }
  ) throws(StoreError) -> sending OpenVault {
    let database = try VaultDatabase.openToRead(path)
    let tried = try database.read { () throws(StoreError) in try readHeader(database) }
    let pins = try watch(tried.header, at: database.path, options, accepting)
    var inputs = try credentials.passphraseInputs()
    var slot: OpenSlot? = try search(tried.header, with: credentials, options, database.path)
    try requireKnown(slot?.kind, pins, options, path: database.path)
    if !accepting { try pins?.read() }
    let vault = try database.read { () throws(StoreError) in
      let (header, digest) = try readHeader(database)
      guard var current = slot.take() else { throw missing("slot", database) }
      if digest != tried.digest { try current.reopen(in: header, path: database.path.string) }
      return try OpenVault(
        database: database, header: header, headerDigest: digest, slot: current, options: options, clock: clock)
    }
    try vault.begin(pins, accepting)
    vault.keep(inputs.take())
    return vault
  }

  /// The slot that `credentials` open; passphrases are hashed in turn.
  static func search(
    _ header: VaultHeader, with credentials: consuming Credentials, _ options: VaultOptions, _ path: FilePath
  ) throws(StoreError) -> OpenSlot {
    let hashes = SlotSearch.mayHashPassphrase(header, with: credentials)
    var credentials = Optional(credentials)
    return try PassphraseTurn.take(in: hashes ? options.lockFolder : nil) { () throws(StoreError) in
      try SlotSearch.open(
        header, with: credentials.take() ?? Credentials(), memory: MemoryLimit.available(), path: path.string)
    }
  }
}
