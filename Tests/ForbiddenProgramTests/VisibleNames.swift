/// What `import Coffer` shows, a name a line: what an application writes down. Members of these, and what their calls return,
/// need no name.
///
/// At most 26. Who needs another name imports the library that it is of, each of which is a product.
enum VisibleNames {
  static let most = 26

  static let ofCoffer: Set<String> = [
    // What is kept.
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
    // Who is logged in.
    "Session",
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

  /// Names of other libraries beneath, with the module that shows them: none may come along.
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
