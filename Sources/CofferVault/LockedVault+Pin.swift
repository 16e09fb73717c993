public import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// What this machine remembers of a vault, and of the place where it stands.
public struct PinMemory: Sendable, Equatable {
  /// The vault expected at this path; nil when none was seen here.
  public let expected: VaultID?
  /// The newest generation seen of the vault that stands there; nil when it was never seen.
  public let seen: UInt64?
  /// The newest generation that this machine wrote; nil when it wrote none.
  public let own: UInt64?
}

extension LockedVault {
  /// What the pins in the options' folder say. Changes nothing.
  ///
  /// - Throws: `StoreError` `.damaged` for a pin that is unreadable, `.denied` for one that is not this user's private file, `.incomplete`
  ///   when the options name no folder.
  public func pinMemory() throws(StoreError) -> PinMemory {
    guard let pins = options.pins else {
      throw StoreError(.incomplete, "there is no folder of pins", place: path.string, cure: "name one in the options")
    }
    let folder = try PinFolder(pins, calls: SystemCalls())
    let expected = try folder.expected(at: path)
    guard let vault = VaultSalt(id.bytes), let record = try folder.pin(of: vault)?.read(of: vault) else {
      return PinMemory(expected: expected.map { VaultID(bytes: $0.bytes) }, seen: nil, own: nil)
    }
    return PinMemory(
      expected: expected.map { VaultID(bytes: $0.bytes) }, seen: record.seen.generation,
      own: record.own == .never ? nil : record.own.generation)
  }

  /// Compares the vault with what this machine remembers of it, as far as that can be done without a key: an older copy of the file that
  /// was put back is noticed, unless it was written on since. Changes nothing.
  ///
  /// - Throws: `StoreError` `.rolledBack`, `.replaced`; `.damaged` for a pin that is unreadable or a vault without a state; `.denied`, `.io`.
  public func checkAge() throws(StoreError) {
    let pins = try pinWatch()
    let database = try VaultDatabase.openToRead(path)
    defer { database.close() }
    try check(database.read { () throws(StoreError) in try StatedAge(database) }, pins)
  }

  /// The watch over this vault; nil where the options name no folder of pins. To be made before the file is looked at.
  func pinWatch() throws(StoreError) -> PinWatch? {
    guard let folder = options.pins, let vault = VaultSalt(id.bytes) else { return nil }
    return try PinWatch(folder, vault: vault, path: path)
  }

  /// Checks what the vault's file, or a copy just made of it, states.
  func check(_ stated: StatedAge, _ pins: PinWatch?) throws(StoreError) {
    try VaultOptions(pins: nil, expected: id).check(stated.vault, at: path)
    try options.check(generation: stated.generation, at: path)
    try pins?.check(stated)
  }
}
