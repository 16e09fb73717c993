/// The names that `import Coffer` shows, one a line: those that an application writes. Members of these, and results of
/// their calls, need no name.
///
/// At most 27. For another name a program imports its library; each is a product.
enum VisibleNames {
  static let most = 27

  static let ofCoffer: Set<String> = [
    // Stored values.
    "StorageKey",
    "KeySpace",
    "PlainValue",
    "SecretPayload",
    "Sealed",
    "Plain",
    "Vault",
    // Reading and writing.
    "StorageKeyFamily", "ObservableValue", "StorageRouter",
    "Transaction",
    "Subscription",
    "Overrides",
    "Places",
    "StoreError",
    // Logins.
    "Session", "SessionFamily",
    // The vault.
    "LockedVault",
    "UnlockedVault",
    "VaultPlace",
    "Credentials",
    "ItemName",
    "SecretBytes",
    // The stores by themselves.
    "DefaultsStore",
    "VaultStore",
    "AgentStore",
    // Of swift-system.
    "FilePath",
  ]

  /// Names of libraries beneath, with the module that shows them: Coffer must show none.
  static let ofOthers = [
    "Errno": "SystemPackage",
    "FileDescriptor": "SystemPackage",
    "Logger": "Logging",
    "Mutex": "Synchronization",
    "Date": "FoundationEssentials",
    "sqlite3_vfs": "CCofferSQLite",
    "randombytes_implementation": "CCofferSodium",
    "pid_t": "Glibc",
  ]
}
