internal import CofferAgent
internal import CofferDefaults
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// A process with both stores open that executes input lines: `transact VALUE`, `set VALUE` (the secret alone), `write
/// VALUE` (another preference), `fold`, `read` (both halves at one moment), `single` (one after the other). Each is answered
/// by one line. First it prints `begin`, to mark the request's system calls.
struct Serving {
  private let router: StorageRouter
  private let plain: DefaultsStore
  private let keys = TransactionKeys()

  /// - Parameters:
  ///   - agentMilliseconds: the agent's time limit for an answer; nil to open the vault here.
  ///   - step: a transaction dies here or, with the prefix `stop-`, stops; `steps-driven` or `steps-FILE` announces every
  ///     step, see ``Steps``.
  init(_ home: FilePath, keyFile: String, agentMilliseconds: Int?, step: String?) throws {
    plain = try TransactionVerbs.plainStore(home, dyingAt: step)
    let vault: any DecidingStore =
      if let milliseconds = agentMilliseconds {
        try AgentStore(
          service: "app", vault: TransactionVerbs.place(of: home),
          client: AgentClient(
            folder: home.appending("run"), vault: TransactionVerbs.place(of: home), options: .withoutPins,
            answerTime: .milliseconds(milliseconds)))
      } else { try TransactionVerbs.vaultStore(home, keyFile) }
    router = try StorageRouter(plain: plain, vault: vault, keys: keys)
    // From here on SQLite's files are open and read.
    if Steps.areAnnounced { _ = try router.value(for: keys.token) } else { _ = try router.values(keys.token, keys.theme) }
  }

  func run() throws {
    Steps.say("open")
    Self.say("open")
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      Self.say("begin")
      Steps.say(words[0] == "write" ? "touch" : words[0])
      do {
        let answer = try answer(words[0], words.last ?? "")
        Steps.say("ok")
        Self.say(answer)
      } catch let error as StoreError {
        Steps.say("error")
        Self.say("error \(Self.word(error)): \(error)")
      }
    }
  }

  private func answer(_ request: String, _ value: String) throws -> String {
    switch request {
    case "transact":
      try router.transaction { transaction in
        try transaction.set(value, for: keys.theme)
        try transaction.set(value, for: keys.size)
        try transaction.set(Sealed(value), for: keys.token)
      }
    case "set": try router.set(Sealed(value), for: keys.token)
    case "single":
      return try "\(router.value(for: keys.token).map { try $0.reveal() } ?? "absent") \(router.value(for: keys.theme))"
    case "fold": try plain.synchronize()
    case "write": try plain.save(.string(value), for: "other")
    default:
      let (token, theme, size) = try router.values(keys.token, keys.theme, keys.size)
      return try "\(token.map { try $0.reveal() } ?? "absent") \(theme) \(size)"
    }
    return "ok"
  }

  private static func word(_ error: StoreError) -> String { if case .pending = error.kind { "pending" } else { "\(error.kind)" } }

  static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}

extension TransactionVerbs {
  static func runAgent(_ home: FilePath, _ keyFile: String) throws {
    let vault = place(of: home), folder = home.appending("run")
    let server = try AgentServer(
      AgentSettings(
        folder: folder, vault: vault, options: .withoutPins, idle: .seconds(36_000), lifetime: .seconds(36_000)))
    Thread.detachNewThread {
      do {
        let key = try Data(contentsOf: URL(fileURLWithPath: keyFile)).bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
        _ = try AgentClient(folder: folder, vault: vault, options: .withoutPins).unlock(with: Credentials(keyFile: key))
        Serving.say("open")
      } catch {
        Serving.say("error \(error)")
      }
    }
    try server.run()
  }
}
