internal import CCofferSodium
internal import CofferPlatform

/// The state of this process's protections for secrets, for `status` and `doctor`.
public enum SecretMemory {
  /// The protections that the system granted.
  public struct Report: Sendable, Equatable {
    /// Bytes of guarded memory locked against swapping.
    public let lockedBytes: Int
    /// Bytes of guarded memory that the system refused to lock (`RLIMIT_MEMLOCK`): they may reach swap.
    public let unlockedBytes: Int
    /// The `errno` of the first refusal; 0 without one.
    public let firstError: Int32
  }

  /// The state of the guarded memory taken so far.
  public static var report: Report {
    let tally = SecretArena.shared.tally
    return Report(lockedBytes: tally.locked, unlockedBytes: tally.unlocked, firstError: tally.firstError)
  }

  /// Regions ever made. A secret of more than 16 KiB, and each copy of it, has its own: tests count copies.
  package static var regionsMade: Int { SecretArena.shared.tally.regions }

  /// Closes this process's memory to core dumps, debuggers and other processes of the same user. For programs, not libraries:
  /// it changes the whole process.
  ///
  /// - Returns: false if the system refused, with `errno` set.
  public static func hardenProcess() -> Bool { coffer_forbid_core_dumps() == 0 }
}

/// A failure to get guarded memory.
public enum SecretMemoryError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The system refused `bytes` more bytes of guarded memory.
  case exhausted(bytes: Int)

  /// The cause and its cure.
  public var description: String {
    switch self {
    case .exhausted(let bytes):
      "no guarded memory for \(bytes) bytes: raise the process's address-space limit (ulimit -v) or free memory"
    }
  }
}

/// libsodium, initialized. Every entry into libsodium goes through a type that touched `ready` first.
package enum Sodium {
  /// `sodium_init` is idempotent and thread-safe; it fails only if the system's random source is unusable, and then nothing
  /// in this library could be safe.
  package static let ready: Void = {
    precondition(sodium_init() >= 0, "libsodium could not be initialized: the system's random source is unusable")
  }()
}
