internal import CofferDefaults
internal import CofferMemory
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// Changes a plain key, another, and a secret in one transaction over real stores, and dies where it is told to; or reads the plain
/// keys as a process without any passphrase does.
///
/// `TransactionTestTool transact HOME KEYFILE VALUE [STEP]` · `TransactionTestTool read HOME`
@main
enum TransactionTestTool {
  static func main() throws {
    let arguments = CommandLine.arguments
    let home = FilePath(arguments[2])
    switch arguments[1] {
    case "transact": try transact(home, arguments[3], arguments[4], dyingAt: arguments.count > 5 ? arguments[5] : nil)
    default: try read(home)
    }
  }

  private static func transact(_ home: FilePath, _ keyFile: String, _ value: String, dyingAt step: String?) throws {
    let key = try Data(contentsOf: URL(fileURLWithPath: keyFile)).bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let vault = try LockedVault.open(home.appending("vault.sqlite")).unlock(with: Credentials(keyFile: key))
    let plain = try plainStore(home, dyingAt: step)
    let router = try StorageRouter(
      plain: plain, vault: DyingVault(try VaultStore(service: "app", vault: vault), step: step), keys: TestKeys())
    let keys = TestKeys()
    try router.transaction { transaction in
      try transaction.set(value, for: keys.theme)
      try transaction.set(value, for: keys.size)
      try transaction.set(Sealed(value), for: keys.token)
    }
    print("acknowledged")
  }

  private static func read(_ home: FilePath) throws {
    let plain = try plainStore(home, dyingAt: nil)
    // Taking the lock is what settles a transaction that a dead process left.
    try plain.save(.string("reader was here"), for: "other")
    for name in ["theme", "size"] {
      guard case .string(let text)? = try plain.load(name) else { return print("absent") }
      print(text)
    }
  }

  private static func plainStore(_ home: FilePath, dyingAt step: String?) throws -> DefaultsStore {
    var options = EngineOptions(
      decisions: DecisionLookup(contains: DecidedTransactions.contains, forget: DecidedTransactions.forget))
    options.calls.reached = { reached in if reached.rawValue == step { die() } }
    return try DefaultsStore.open(domain: "app", in: home, options: options)
  }

  static func die() { kill(getpid(), SIGKILL) }
}

struct TestKeys: KeySpace {
  let theme = StorageKey("theme", default: "absent")
  let size = StorageKey("size", default: "absent")
  let token = StorageKey("token", secret: String.self)
}

/// A real vault store that ends the process before or after one of its two parts in a transaction.
struct DyingVault: Store {
  typealias R = Vault
  let store: VaultStore
  let step: String?
  var place: String { store.place }

  init(_ store: VaultStore, step: String?) {
    self.store = store
    self.step = step
  }

  func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
    if step == "beforeVaultCommit" { TransactionTestTool.die() }
    try store.commit(batch, decision: decision)
    if step == "afterVaultCommit" { TransactionTestTool.die() }
  }

  func forget(_ transaction: TransactionID) throws(StoreError) {
    if step == "beforeForget" { TransactionTestTool.die() }
    try store.forget(transaction)
    if step == "afterForget" { TransactionTestTool.die() }
  }

  func load(_ name: String) throws(StoreError) -> SecretForm? { try store.load(name) }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] { try store.load(names) }
  func contains(_ name: String) throws(StoreError) -> Bool { try store.contains(name) }
  func names() throws(StoreError) -> [String] { try store.names() }
  func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    try store.update(name, body)
  }
}
