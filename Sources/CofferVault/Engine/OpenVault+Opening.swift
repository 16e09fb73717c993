internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import SystemPackage

extension OpenVault {
  /// Creates a vault at `path` with one slot, of the kind that `credentials` make, and opens it.
  static func create(
    at path: FilePath, with credentials: consuming Credentials, cost: PassphraseCost?, label: String,
    options: VaultOptions = .withoutPins, clock: @escaping @Sendable () -> Date = { Date() }
  ) throws(StoreError) -> sending OpenVault {
    guard !credentials.isEmpty else {
      throw StoreError(
        .noCredentials, "a vault needs a secret to be opened with", place: path.string, cure: "give a passphrase or a key file")
    }
    try RecordLimits.check(slotLabel: label)
    let inputs = try SlotInputs(credentials)
    let kind = try inputs.kindToMake()
    let vault = VaultSalt.random()
    let place = SlotPlace(format: UInt32(VaultFormat.version), vault: vault)
    let key = try VerifiedView.checked(path) { () throws(FormatError) in try VaultKey.random() }
    let floor = cost ?? .floor
    let made = try SlotTable.newSlot(kind, for: inputs, cost: cost, floor: floor, place: place, options)
    let now = Milliseconds.count(clock())
    let keys = try VerifiedView.checked(path) { () throws(FormatError) in try Subkeys(of: key, vault: vault) }
    let header = try VerifiedView.checked(path) { () throws(FormatError) in
      let body = try HeaderBody(created: now, rotated: now, floor: floor, labels: [label]) { _, out in made.writeMix(to: out) }
      let slot = try made.sealed(key, epoch: 1, place: place)
      return try VaultHeader(vault: vault, epoch: 1, slots: [slot], body: body, keys: keys)
    }
    let encoded = header.encoded()
    let digest = encoded.span.bytes.withUnsafeBytes { PlainHash.digest($0) }
    var slot: OpenSlot?
    do { slot = try made.opened(in: header) } catch { throw error.storeError(place: path.string) }
    let database = try VaultDatabase.create(at: path) { (database) throws(StoreError) in
      try encoded.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
        try database.putHeader(.first, bytes)
        try database.putHeader(.second, bytes)
      }
      var state = VaultState(
        generation: 1, commit: .random(), root: DigestTree(emptyUnder: keys).root, records: 0, time: now, logSequence: 0,
        logHead: .zero)
      try VaultLog.append(LogEntry(.vaultCreated, by: .current, time: now), to: &state, database, keys)
      try VerifiedView.put(state, header, digest, database, keys)
    }
    do throws(StoreError) {
      let created = try database.read { () throws(StoreError) in
        guard let slot = slot.take() else { throw VerifiedView.missing("slot", database) }
        return try OpenVault(
          database: database, header: header, headerDigest: digest, slot: slot, options: options, clock: clock)
      }
      created.watchCreated()
      return created
    } catch {
      // Whoever is told that it failed takes back what was to open it.
      database.close()
      VaultDatabase.remove(database.path)
      throw error
    }
  }

  /// Opens the vault at `path` with the first slot that `credentials` open.
  ///
  /// No transaction is held while Argon2id runs. Should the header change meanwhile (another process rotates the key), what was
  /// opened is of the past: the slot follows to the present by its kept secret.
  static func unlock(
    _ path: FilePath, with credentials: consuming Credentials, options: VaultOptions = .withoutPins, accepting: Bool = false,
    clock: @escaping @Sendable () -> Date = { Date() }
  ) throws(StoreError) -> sending OpenVault {
    let database = try VaultDatabase.openToRead(path)
    let tried = try database.read { () throws(StoreError) in try VerifiedView.readHeader(database) }
    let pins = try watch(tried.header, at: database.path, options, accepting)
    var inputs = try credentials.passphraseInputs()
    var slot: OpenSlot? = try search(tried.header, with: credentials, options, database.path)
    try requireKnown(slot?.kind, pins, options, path: database.path)
    if !accepting { try pins?.read() }
    let vault = try database.read { () throws(StoreError) in
      let (header, digest) = try VerifiedView.readHeader(database)
      guard var current = slot.take() else { throw VerifiedView.missing("slot", database) }
      if digest != tried.digest { try current.reopen(in: header, path: database.path.string) }
      return try OpenVault(
        database: database, header: header, headerDigest: digest, slot: current, options: options, clock: clock)
    }
    try vault.begin(pins, accepting)
    vault.slots.keep(inputs.take())
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

  /// The watch over the vault that `header` names; nil where the options name no folder of pins. Before any secret is used.
  private static func watch(
    _ header: VaultHeader, at path: FilePath, _ options: VaultOptions, _ accepting: Bool
  ) throws(StoreError) -> PinWatch? {
    try options.check(VaultID(bytes: header.vault.bytes), at: path)
    guard let folder = options.pins else { return nil }
    return try PinWatch(folder, vault: header.vault, path: path, accepting: accepting)
  }

  /// Anyone can make a vault that a recipient's public key opens, so a recipient who never saw this one must have been told of it.
  private static func requireKnown(
    _ kind: SlotKind?, _ pins: PinWatch?, _ options: VaultOptions, path: FilePath
  ) throws(StoreError) {
    guard kind == .recipient, options.expected == nil, let pins, pins.isFirstUse else { return }
    throw StoreError(
      .unproven, "a recipient's key opens this vault, this machine never saw it, and anyone could have made it",
      place: path.string, cure: "ask its owner for the vault's id, and give it as VaultOptions.expected",
      remedy: .expectVault)
  }

  /// Compares the state just read with the options and the pin, and remembers it.
  private func begin(_ pins: PinWatch?, _ accepting: Bool) throws(StoreError) {
    let (state, epoch) = (view.state, view.header.epoch)
    try options.check(generation: state.generation, at: view.path)
    if accepting { try pins?.accept(state, epoch: epoch) } else { try pins?.check(state, epoch: epoch) }
    if view.database.isReadOnly, !accepting { pins?.observe() }
    pins?.remember(state, epoch: epoch)
    begin(pins)
  }

  /// Remembers a vault that was just made here, in the place of what may have stood there before.
  private func watchCreated() {
    guard let folder = options.pins else { return }
    do throws(StoreError) {
      let pins = try PinWatch(folder, vault: view.header.vault, path: view.path, accepting: true)
      try pins.accept(view.state, epoch: view.header.epoch)
      view.pins = pins
    } catch {
      // The vault is made, and an older copy of it cannot exist yet.
      Notices.warn("the vault was made, but its rollback pin could not be written: \(error.facts)")
    }
  }
}

extension VaultOptions {
  func check(_ found: VaultID, at path: FilePath) throws(StoreError) {
    guard let expected, found != expected else { return }
    throw StoreError(
      .replaced, "vault \(found) stands where \(expected) is expected", place: path.string,
      cure: "put the expected vault back, or expect this one if it is right")
  }

  func check(generation found: UInt64, at path: FilePath) throws(StoreError) {
    guard let leastGeneration, found < leastGeneration else { return }
    throw StoreError(
      .rolledBack, "the vault is at generation \(found), older than the \(leastGeneration) that is expected",
      place: path.string, cure: "put the newer vault back, or expect less if the old one is right")
  }
}
