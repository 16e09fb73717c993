internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension OpenVault {
  /// The watch over the vault that `header` names; nil where the options name no folder of pins. Before any secret is used.
  static func watch(
    _ header: VaultHeader, at path: FilePath, _ options: VaultOptions, _ accepting: Bool
  ) throws(StoreError) -> PinWatch? {
    try options.check(VaultID(bytes: header.vault.bytes), at: path)
    guard let folder = options.pins else { return nil }
    return try PinWatch(folder, vault: header.vault, path: path, accepting: accepting)
  }

  /// Anyone can make a vault that a recipient's public key opens, so a recipient who never saw this one must have been told of it.
  static func requireKnown(
    _ kind: SlotKind?, _ pins: PinWatch?, _ options: VaultOptions, path: FilePath
  ) throws(StoreError) {
    guard kind == .recipient, options.expected == nil, let pins, pins.isFirstUse else { return }
    throw StoreError(
      .refused, "a recipient's key opens this vault, this machine never saw it, and anyone could have made it",
      place: path.string, cure: "ask its owner for the vault's id, and give it as VaultOptions.expected",
      remedy: .expectVault)
  }

  /// Compares the state just read with the options and the pin, and remembers it.
  func begin(_ pins: PinWatch?, _ accepting: Bool) throws(StoreError) {
    try options.check(generation: state.generation, at: path)
    if accepting { try pins?.accept(state, epoch: header.epoch) } else { try pins?.check(state, epoch: header.epoch) }
    if database.isReadOnly, !accepting { pins?.observe() }
    pins?.remember(state, epoch: header.epoch)
    self.pins = pins
    unlocking = LogEntry(.unlocked, by: .current, time: now, detail: slot.id.bytes)
  }

  /// Remembers a vault that was just made here, in the place of what may have stood there before.
  func watchCreated() {
    guard let folder = options.pins else { return }
    do throws(StoreError) {
      let pins = try PinWatch(folder, vault: header.vault, path: path, accepting: true)
      try pins.accept(state, epoch: header.epoch)
      self.pins = pins
    } catch {
      // The vault is made, and an older copy of it cannot exist yet.
      Notices.warn("the vault was made, but its rollback pin could not be written: \(error)")
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
