internal import Coffer
internal import CofferVault
internal import CofferDefaults
internal import CofferStorage
internal import Foundation
internal import SystemPackage

/// Another process of a session: it logs in, logs out, refreshes, and dies at a given step; or it reads the plain keys
/// without a passphrase.
///
/// `TestTool login HOME USER [STEP]` · `logout HOME [STEP]` · `refresh HOME STALE [STEP]` · `read-session HOME` · `settle
/// HOME` · `churn-subscriptions HOME COUNT` · `exhausted HOME` · `login-until HOME SECONDS` · `renew HOME GO`
///
/// A refresh appends a line to `HOME/asked` before it asks, and one to `HOME/renewals` when its renewal begins, which lasts
/// while a file `HOME/hold` exists. `renew` finds the credential of `login-until` expired, notes that in `HOME/asked`, waits
/// for the file `HOME/GO`, and refreshes an unseen value. `XDG_DATA_HOME` moves the files.
enum SessionVerbs {
  /// Runs `verb`; false if it is not a session verb.
  static func run(_ verb: String, _ arguments: [String]) async throws -> Bool {
    guard let first = arguments.first else { return false }
    let home = FilePath(first), rest = Array(arguments.dropFirst())
    do {
      switch verb {
      case "login": try login(home, rest[0], dyingAt: rest.dropFirst().first)
      case "logout": try await open(home, dyingAt: rest.first).session.logout()
      case "refresh": try await refresh(home, rest[0], dyingAt: rest.dropFirst().first)
      case "login-until": try ExpiringLogin(home).login(seconds: Double(rest[0]) ?? 0)
      case "renew": try await ExpiringLogin(home).renew(after: rest[0])
      case "exhausted": try Churn(home).beginWithoutDescriptors()
      case "churn-subscriptions": try await Churn(home).run(times: Int(rest[0]) ?? 0)
      case "settle":
        try settle(home)
        return true
      case "read-session":
        try read(home)
        return true
      default: return false
      }
      print("acknowledged")
      return true
    } catch let error as StoreError {
      print("error \(error.kind)")
      exit(3)
    }
  }

  private static func login(_ home: FilePath, _ user: String, dyingAt step: String?) throws {
    let opened = try open(home, dyingAt: step)
    let keys = opened.keys
    try opened.session.login(as: user) { transaction in
      try transaction.set(Sealed("\(user)-token"), for: keys.token)
      try transaction.set(Sealed("\(user)-renewal"), for: keys.renewal)
      try transaction.set([user], for: keys.recent)
      try transaction.set("theme of \(user)", for: keys.theme)
    }
  }

  private static func refresh(_ home: FilePath, _ stale: String, dyingAt step: String?) async throws {
    let opened = try open(home, dyingAt: step)
    try append(to: home.appending("asked"))
    // Far longer than the tests take on a busy machine: the file ends it.
    let token = try await opened.session.refresh(opened.keys.token, replacing: Sealed(stale), within: .seconds(600)) { _ in
      try append(to: home.appending("renewals"))
      if step == "renewing" { DyingVault.die() }
      while access(home.appending("hold").string, F_OK) == 0 { try await Task.sleep(for: .milliseconds(2)) }
      return try Sealed("ada-renewed-\(getpid())")
    }
    print(try token.reveal())
  }

  static func append(to path: FilePath) throws {
    let file = try require(fopen(path.string, "a"))
    fputs("\(getpid())\n", file)
    fclose(file)
  }

  /// Opens both stores, reports that, and on input writes another preference, which settles a dead process's transaction.
  private static func settle(_ home: FilePath) throws {
    let opened = try open(home, dyingAt: nil)
    FileHandle.standardOutput.write(Data("open\n".utf8))
    guard readLine() != nil else { return }
    try opened.plain.save(.string("settled"), for: "other")
    FileHandle.standardOutput.write(Data("settled\n".utf8))
    _ = readLine()
  }

  private struct Opened {
    let session: Session<String>
    let keys: SessionKeys
    let plain: DefaultsStore
  }

  private static func read(_ home: FilePath) throws {
    let plain = try Places(home: home).openDefaults("app")
    // Taking the lock settles a dead process's transaction.
    try plain.save(.string("reader was here"), for: "other")
    for name in ["user", "recent", "theme"] {
      switch try plain.load(name) {
      case .string(let text): print(text)
      case .array(let items):
        print("\(items.count) of \(items.map { if case .string(let text) = $0 { text } else { "?" } }.joined())")
      default: print("absent")
      }
    }
  }

  static func places(_ home: FilePath) throws -> Places {
    try Places.environment("XDG_DATA_HOME") == nil ? Places(home: home) : Places.standard()
  }

  private static func open(_ home: FilePath, dyingAt step: String?) throws -> Opened {
    let places = try self.places(home)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: home.appending("key").string))
    let key = try bytes.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let vault = try places.openVault().unlock(with: Credentials(keyFile: key))
    var options = EngineOptions(decisions: DecidedTransactions.lookup)
    options.calls.reached = { reached in if reached.rawValue == step { DyingVault.die() } }
    let keys = SessionKeys()
    let plain = try DefaultsStore.open(domain: "app", in: places.defaults, options: options)
    let router = try StorageRouter(
      plain: plain, vault: DyingVault(VaultStore(service: "app", vault: vault), step: step), keys: keys)
    return Opened(
      session: try router.session(user: keys.user, credential: keys.token), keys: keys, plain: plain)
  }

  private static func require<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw POSIXError(.EIO) }
    return value
  }
}

struct SessionKeys: KeySpace {
  let user = StorageKey("user", of: String.self).endsWithSession()
  let recent = StorageKey("recent", default: [String]()).endsWithSession()
  let theme = StorageKey("theme", default: "light")
  let token = StorageKey("token", secret: String.self).endsWithSession()
  let renewal = StorageKey("renewal", secret: String.self).endsWithSession()
}
