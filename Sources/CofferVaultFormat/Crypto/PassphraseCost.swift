/// The Argon2id cost of a passphrase slot: passes over memory.
public struct PassphraseCost: Sendable, Equatable {
  /// Passes over the memory.
  public let passes: UInt32
  /// Memory in MiB.
  public let mebibytes: UInt32
  /// 3 passes over 256 MiB: 324 ms measured.
  public static let standard = PassphraseCost(passes: 3, mebibytes: 256)
  /// 1 pass over 8 MiB, the minimum that a reader accepts: for tests, where slowness protects nothing.
  public static let testing = PassphraseCost(passes: 1, mebibytes: 8)
  /// A cost of `passes` over `mebibytes` MiB.
  public init(passes: UInt32, mebibytes: UInt32) {
    self.passes = passes
    self.mebibytes = mebibytes
  }
}
