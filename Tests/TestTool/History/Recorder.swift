internal import CofferAgent
internal import CofferPlatform
internal import CofferPostgres
internal import CofferStorage
internal import CofferTestSupport
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// A process that works on both stores at random, and appends each call and answer to a shared record: `TestTool record HOME
/// KEYFILE RECORD SEED COUNT [MILLISECONDS]`, with the agent's time limit if it is used. With a vault on a server, the
/// preferences are settings there.
///
/// The record's lines are those of ``/CofferTestSupport/RecordedOperation``. A call is recorded before anything is done, and
/// an answer after it came, each by one write(2). A kill may cut it: each line begins with an end of line, and ends with a
/// period.
struct Recorder {
  private let plain: any LayeredStore
  private let vault: any DecidingStore
  private let router: StorageRouter
  private let keys = TransactionKeys()
  private let isOnServer: Bool
  private let record: Int32
  private var random: Random
  private var last = 0

  init(_ home: FilePath, _ rest: [String]) throws {
    let place = TransactionVerbs.place(of: home)
    isOnServer = place.url != nil
    let preferences: any LayeredStore =
      if isOnServer { try PostgresDefaults.open(domain: "app", at: place) } else { try TransactionVerbs.plainStore(home) }
    plain = preferences
    if rest.count > 4, let milliseconds = Int(rest[4]) {
      let client = AgentClient(
        folder: home.appending("run"), vault: place, options: .withoutPins, answerTime: .milliseconds(milliseconds))
      vault = try AgentStore(service: "app", vault: place, client: client)
    } else {
      vault = try TransactionVerbs.vaultStore(home, rest[0])
    }
    router = try StorageRouter(plain: preferences, vault: vault, keys: keys)
    record = open(rest[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    random = Random(seed: UInt64(rest[2]) ?? 0)
  }

  mutating func run(_ count: Int) throws {
    for _ in 0..<count { try make(.random(in: 0..<12, using: &random)) }
  }

  private mutating func make(_ choice: Int) throws {
    last += 1
    let value = "\(getpid()).\(last)"
    switch choice {
    case 0: try change(["w:plain=\(value)"]) { try plain.save(.string(value), for: "plain") }
    case 1: try ask(["r:plain="]) { ["r:plain=\(try Self.text(plain.load("plain")))"] }
    case 2: try change(["w:secret=\(value)"]) { try vault.save(Self.form(value), for: "secret") }
    case 3: try ask(["r:secret="]) { ["r:secret=\(try VaultVerbs.text(vault.load("secret")) ?? "")"] }
    case 4: try ask(["a:visits="]) { ["a:visits=\(try addPlain())"] }
    case 5: try ask(["a:uses="]) { ["a:uses=\(try addSecret())"] }
    case 6...8:
      try change(["w:theme=\(value)", "w:token=\(value)"]) {
        try router.transaction { transaction in
          try transaction.set(value, for: keys.theme)
          try transaction.set(Sealed(value), for: keys.token)
        }
      }
    case 9:
      try change(["w:token=\(value)"]) { try router.set(Sealed(value), for: keys.token) }
    default:
      try ask(["r:theme=", "r:token="]) {
        let (token, theme) = try router.values(keys.token, keys.theme)
        return ["r:theme=\(theme)", "r:token=\(try token.map { try $0.reveal() } ?? "absent")"]
      }
    }
  }

  private func addPlain() throws -> Int64 {
    var sum: Int64 = 0
    try plain.update("visits") { (old) throws(StoreError) in
      if case .integer(let value)? = old { sum = value + 1 } else { sum = 1 }
      return .integer(sum)
    }
    return sum
  }

  private func addSecret() throws -> Int {
    var sum = 0
    try vault.update("uses") { (old) throws(StoreError) in
      sum = (VaultVerbs.text(old).flatMap { Int($0) } ?? 0) + 1
      do { return try Self.form("\(sum)") } catch { throw StoreError(.memory, "no guarded memory", cure: "free some") }
    }
    return sum
  }

  private static func form(_ text: String) throws -> SecretForm { SecretForm(try VaultVerbs.secret(text)) }
  private static func text(_ form: PlainForm?) -> String { if case .string(let text)? = form { text } else { "" } }

  // MARK: The record

  private func change(_ call: [String], _ body: () throws -> Void) throws {
    try ask(call) {
      try body()
      return call
    }
  }

  private func ask(_ call: [String], _ body: () throws -> [String]) throws {
    write("call", call)
    do { write("ok", try body()) } catch let error as StoreError {
      switch error.kind {
      case .busy, .conflict: write("failed", [])
      case .unreachable where isOnServer: write("failed", [])
      // The outcome is unknown, or this process cannot continue: the call stays unanswered.
      default:
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        exit(3)
      }
    }
  }

  private func write(_ word: String, _ parts: [String]) {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    let line = Array("\n\(now.tv_sec * 1_000_000_000 + now.tv_nsec) \(getpid()) \(word) \(parts.joined(separator: " ")) .\n".utf8)
    guard Foundation.write(record, line, line.count) == line.count else { exit(5) }
  }
}
