internal import CofferDefaults
internal import CofferMemory
internal import CofferPlatform
internal import CofferPostgres
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// Another process with both real stores: it changes two plain keys and a secret in one transaction, and dies at a given
/// step; or it reads the plain keys without a passphrase.
///
/// The vault is `vault.sqlite` in HOME, or in the place that the file `place` there names.
///
/// `TestTool transact HOME KEYFILE VALUE [STEP]` · `prepare HOME KEYFILE` · `migrate HOME KEYFILE [STEP]` · `contents HOME
/// KEYFILE` · `serve HOME KEYFILE [MILLISECONDS [STEP]]` · `agent HOME KEYFILE` · `read-preferences HOME` · `record HOME
/// KEYFILE RECORD SEED COUNT [MILLISECONDS]`
enum TransactionVerbs {
  /// Runs `verb`; false if it is not a transaction verb.
  static func run(_ verb: String, _ arguments: [String]) throws -> Bool {
    guard let first = arguments.first else { return false }
    PostgresVaults.use()
    let home = FilePath(first), rest = Array(arguments.dropFirst())
    func word(_ number: Int) -> String? { rest.count > number ? rest[number] : nil }
    switch verb {
    case "transact": try transact(home, rest[0], rest[1], dyingAt: word(2))
    case "prepare": try prepare(home, rest[0])
    case "migrate": try migrate(home, rest[0], dyingAt: word(1))
    case "contents": try contents(home, rest[0])
    case "serve": try Serving(home, keyFile: rest[0], agentMilliseconds: word(1).flatMap(Int.init), step: word(2)).run()
    case "record":
      var recorder = try Recorder(home, rest)
      Serving.say("open")
      try recorder.run(Int(rest[3]) ?? 0)
    case "agent": try runAgent(home, rest[0])
    case "read-preferences": try read(home)
    default: return false
    }
    return true
  }

  private static func transact(_ home: FilePath, _ keyFile: String, _ value: String, dyingAt step: String?) throws {
    let router = try StorageRouter(
      plain: plainStore(home, dyingAt: step), vault: DyingVault(try vaultStore(home, keyFile), step: step),
      keys: TransactionKeys())
    let keys = TransactionKeys()
    try router.transaction { transaction in
      try transaction.set(value, for: keys.theme)
      try transaction.set(value, for: keys.size)
      try transaction.set(Sealed(value), for: keys.token)
    }
    print("acknowledged")
  }

  /// Stores data as the program's first version, in all files: list, journal and last good copy.
  private static func prepare(_ home: FilePath, _ keyFile: String) throws {
    let keys = TransactionKeys()
    let plain = try plainStore(home, dyingAt: nil)
    let router = try StorageRouter(plain: plain, vault: vaultStore(home, keyFile), keys: keys)
    try router.set("dark", for: keys.theme)
    try router.set(Sealed("t"), for: keys.token)
    try router.set("a-secret-size, the first", for: keys.size)
    try plain.synchronize()
    try router.set("a-secret-size", for: keys.size)
    try plain.synchronize()
    try router.update(keys.theme) { _ in }
  }

  private static func migrate(_ home: FilePath, _ keyFile: String, dyingAt step: String?) throws {
    let router = try StorageRouter(
      plain: plainStore(home, dyingAt: step), vault: DyingVault(try vaultStore(home, keyFile), step: step), keys: NextKeys())
    for change in router.migrations.done { print("\(change.key): \(change.change)") }
    for error in router.migrations.pending { print("pending: \(error)") }
  }

  /// Everything in both stores as `plain theme = old`, after settling.
  private static func contents(_ home: FilePath, _ keyFile: String) throws {
    let plain = try plainStore(home, dyingAt: nil), vault = try vaultStore(home, keyFile)
    try plain.save(.string("reader was here"), for: "other")
    try plain.save(nil, for: "other")
    for (name, form) in try plain.contents().sorted(by: { $0.key < $1.key }) {
      if case .string(let text) = form { print("plain \(name) = \(text)") }
    }
    for name in try vault.names() {
      let text = try vault.load(name)?.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      print("vault \(name) = \(text ?? "absent")")
    }
  }

  static func vaultStore(_ home: FilePath, _ keyFile: String) throws -> VaultStore {
    let key = try Data(contentsOf: URL(fileURLWithPath: keyFile)).bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let locked = try LockedVault.open(place(of: home), options: .withoutPins)
    let vault = try locked.unlock(with: Credentials(keyFile: key))
    return try VaultStore(service: "app", vault: vault)
  }

  static func place(of home: FilePath) -> VaultPlace {
    let written = FileManager.default.contents(atPath: home.appending("place").string)
    return written.map { VaultPlace(String(decoding: $0, as: UTF8.self)) } ?? .file(home.appending("vault.sqlite"))
  }

  private static func read(_ home: FilePath) throws {
    let plain = try plainStore(home, dyingAt: nil)
    // Taking the lock settles a dead process's transaction.
    try plain.save(.string("reader was here"), for: "other")
    for name in ["theme", "size"] {
      guard case .string(let text)? = try plain.load(name) else { return print("absent") }
      print(text)
    }
  }

  static func plainStore(_ home: FilePath, dyingAt step: String? = nil) throws -> DefaultsStore {
    var options = EngineOptions(decisions: DecidedTransactions.lookup)
    options.calls.reached = { reached in
      if reached.rawValue == step { DyingVault.die() }
      if "stop-\(reached.rawValue)" == step { kill(getpid(), SIGSTOP) }
    }
    if let step, step.hasPrefix("steps-") {
      options.foldsWhenIdle = false
      try Steps.announce(String(step.dropFirst(6)), &options.calls)
    }
    return try DefaultsStore.open(domain: "app", in: home, options: options)
  }
}

struct TransactionKeys: KeySpace {
  let theme = StorageKey("theme", default: "absent")
  let size = StorageKey("size", default: "absent")
  let token = StorageKey("token", secret: String.self)
}

/// The keys a version later: a preference and a secret are renamed, and a preference became a secret.
struct NextKeys: KeySpace {
  let look = StorageKey("look", default: "absent").renamed(from: "theme")
  let size = StorageKey("size", secret: String.self)
  let apiToken = StorageKey("api_token", secret: String.self).renamed(from: "token")
}
