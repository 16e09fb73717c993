public import SystemPackage

/// How a vault is opened, beside where it lies and what opens it.
public struct VaultOptions: Sendable, Equatable {
  /// The folder of the lock that lets one passphrase of this user be hashed at a time, made with mode 0700 where it is missing;
  /// nil takes no turns. Hashing takes 64 to 256 MiB.
  public var lockFolder: FilePath?

  /// Options; all of them have sensible defaults.
  public init(lockFolder: FilePath? = nil) { self.lockFolder = lockFolder }
}
