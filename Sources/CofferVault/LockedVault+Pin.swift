public import CofferPlatform
public import CofferStorage
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
  /// - Throws: `StoreError` `.damaged` for a pin that is unreadable, `.denied` for one that is not this user's private file, `.refused`
  ///   when the options name no folder.
  public func pinMemory() throws(StoreError) -> PinMemory {
    guard let pins = options.pins else {
      throw StoreError(.refused, "there is no folder of pins", place: path.string, cure: "name one in the options")
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
}
