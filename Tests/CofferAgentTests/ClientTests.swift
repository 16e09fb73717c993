import CofferClient
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferAgent

/// The error of `body`, which must be a client's.
private func failure(at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void) -> ClientError? {
  do { try body() } catch let error as ClientError { return error } catch { Issue.record(error, sourceLocation: location) }
  return nil
}

extension TestAgent {
  func connection() -> AgentConnection { AgentConnection(folder: settings.folder.string, vault: settings.vault.description) }
}

@Suite struct ClientTests {
  @Test func `a client writes, lists, reads and deletes items that other clients see`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.connection()
    let item = AgentItem(service: "smtp", account: "ada")
    #expect(try client.value(of: item) == nil)
    try client.set(
      SecretBuffer("gr33n"), for: item, label: "Mail", contentType: "text/plain", attributes: ["port": "25", "host": "a"],
      expires: 4_000_000_000.5)
    let stored = try #require(try agent.client().item(ItemName(service: "smtp", account: "ada")))
    #expect(stored.metadata.label == "Mail" && stored.metadata.contentType == "text/plain")
    #expect(stored.metadata.attributes == ["port": "25", "host": "a"])
    #expect(stored.metadata.expires == Date(timeIntervalSince1970: 4_000_000_000.5))
    #expect(try client.value(of: item)?.text() == "gr33n")
    #expect(try agent.client().get(ItemName(service: "smtp", account: "ada"))?.text == "gr33n")
    try client.set(SecretBuffer("x"), for: AgentItem(service: "imap"))
    let tab = AgentItem(service: "smtp", account: "ada", field: "totp")
    try client.set(SecretBuffer(""), for: tab)
    #expect(try client.value(of: tab)?.count == 0)
    #expect(try client.services() == ["imap", "smtp"] && client.services(prefix: "s") == ["smtp"])
    #expect(try client.list(service: "smtp") == [item] && client.list() == [AgentItem(service: "imap"), item])
    #expect(try client.delete(item) && !client.delete(item))
    #expect(try client.value(of: item) == nil)
  }

  @Test func `an item that exists is only replaced by a client that wants to`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.connection()
    let item = AgentItem(service: "a")
    try client.set(SecretBuffer("1"), for: item, replacing: false)
    #expect(failure { try client.set(SecretBuffer("2"), for: item, replacing: false) }?.kind == .alreadyExists)
    #expect(try client.value(of: item)?.text() == "1")
    try client.set(SecretBuffer("3"), for: item)
    #expect(try client.value(of: item)?.text() == "3")
  }

  @Test func `a login's access token is the value of its item, and an expired one is an error`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.connection()
    let item = AgentItem(service: "github.com", account: "ada")
    #expect(try client.accessToken(host: "github.com", account: "ada") == nil)
    try client.set(SecretBuffer("t0"), for: item, expires: 4_000_000_000)
    #expect(try client.accessToken(host: "github.com", account: "ada")?.text() == "t0")
    try client.set(SecretBuffer("t1"), for: item, expires: 1)
    #expect(failure { _ = try client.accessToken(host: "github.com", account: "ada") }?.kind == .expired)
  }

  @Test func `a client unlocks and locks the vault, and says that it is locked and that no agent runs`() async throws {
    let agent = try TestAgent(unlocked: false)
    let client = agent.connection()
    #expect(try client.isRunning())
    #expect(try await client.isLocked())
    let locked = failure { _ = try client.value(of: AgentItem(service: "a")) }
    #expect(locked?.kind == .locked && locked?.cure.isEmpty == false)
    let wrong = [AgentCredential.passphrase(try SecretBuffer("battery staple"))]
    #expect(failure { try client.unlock(with: wrong) }?.kind == .wrongSecret)
    let status = try await client.unlock(with: [.passphrase(SecretBuffer("correct horse"))], idle: 60, lifetime: 600)
    #expect(status.unlocked?.count == 16 && status.whyLocked.isEmpty && status.vault == agent.settings.vault.description)
    #expect(status.process == getpid() && (1...60).contains(status.idleLeft) && (1...600).contains(status.lifetimeLeft))
    #expect(try await !client.isLocked())
    try client.lock()
    #expect(try await client.isLocked())
    #expect(try await !client.status().whyLocked.isEmpty)
    agent.stop()
    #expect(failure { _ = try client.isLocked() }?.kind == .noAgent)
    #expect(try !client.isRunning())
    TestAgent.remove(agent.folder)
    #expect(failure { try client.set(SecretBuffer("v"), for: AgentItem(service: "a")) }?.kind == .noAgent)
  }

  @Test func `the asynchronous calls do the same, many at once`() async throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.connection()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask { try await client.set(SecretBuffer("\(number)"), for: AgentItem(service: "s", account: "\(number)")) }
      }
      try await group.waitForAll()
    }
    #expect(try await client.list(service: "s").count == 200)
    #expect(try await client.value(of: AgentItem(service: "s", account: "7"))?.text() == "7")
    #expect(try await client.delete(AgentItem(service: "s", account: "7")))
    #expect(try await client.list().count == 199)
    #expect(try await client.accessToken(host: "s", account: "7") == nil)
    await #expect(throws: ClientError.self) { try await client.set(SecretBuffer("v"), for: AgentItem(service: "")) }
  }

  @Test func `changes reports the current moment, a commit by another program and a lock, and ends with the agent`() async throws
  {
    let agent = try TestAgent()
    defer { TestAgent.remove(agent.folder) }
    let client = agent.connection()
    var changes = client.changes().makeAsyncIterator()
    let first = try #require(try await changes.next())
    #expect(first.vault?.count == 16)
    try await agent.vault().set(form("v"), for: ItemName(service: "x"))
    let second = try #require(try await changes.next())
    #expect(second.generation > first.generation && second.vault == first.vault)
    try client.lock()
    var third = try #require(try await changes.next())
    while third.vault != nil { third = try #require(try await changes.next()) }
    #expect(third.since > first.since)
    agent.stop()
    let error = await #expect(throws: ClientError.self) { while try await changes.next() != nil {} }
    #expect(error?.kind == .noAgent)
  }

  @Test func `a task that is cancelled no longer waits for an agent that does not answer`() async throws {
    let agent = try SilentAgent()
    let client = agent.connection()
    let reading = Task { try await client.value(of: AgentItem(service: "a")) }
    let later = Task { try await client.isLocked() }
    let watching = Task { for try await _ in client.changes() {} }
    agent.waitForClient()
    reading.cancel()
    later.cancel()
    #expect((await reading.result.failure as? ClientError)?.kind == .cancelled)
    #expect((await later.result.failure as? ClientError)?.kind == .cancelled)
    watching.cancel()
    _ = await watching.result
    agent.end()
  }

  @Test func `nothing shows a secret but the calls that lend it`() throws {
    let secret = try SecretBuffer("hunter2 hunter2")
    var dumped = ""
    dump(secret, to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), "\([secret])", dumped] { #expect(!text.contains("hunter2")) }
    #expect(secret.withBytes { $0.byteCount } == 15 && secret.isIntact && secret.text() == "hunter2 hunter2")
    #expect(try ([0xFF, 0xFE] as [UInt8]).withUnsafeBytes { try SecretBuffer(copying: $0) }.text() == nil)
    #expect(try SecretBuffer("").count == 0)
    #expect(try SecretBuffer(String(repeating: "x", count: 4096)).count == 4096)
  }

  @Test func `a file that only its user can change names the expected vault`() throws {
    let folder = try TestFolder("expected")
    let file = folder.path.appending("team").string
    let variables = ["COFFER_HOME": folder.path.string, "COFFER_EXPECT_VAULT": file]
    let expecting = { _ = try AgentConnection.standard { variables[$0] } }
    #expect(failure { try expecting() }?.kind == .system)
    try "\(String(repeating: "0", count: 32)):0".write(toFile: file, atomically: false, encoding: .utf8)
    chmod(file, 0o644)
    #expect(failure { try expecting() }?.kind == .invalidName)
    try "PVINV1-00\n".write(toFile: file, atomically: false, encoding: .utf8)
    #expect(failure { try expecting() } == nil)
    chmod(file, 0o666)
    #expect(failure { try expecting() }?.kind == .denied)
  }

  @Test(.tags(.process), .defaultRun)
  func `a program of this library alone links no cipher, no database and no Foundation, and gets its secret`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    try agent.connection().set(SecretBuffer("gr33n"), for: AgentItem(service: "smtp", account: "ada"))
    let tool = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "ClientTool")
    let run = { (words: [String]) in
      let process = Process(), output = Pipe()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = words
      process.standardOutput = output
      try process.run()
      let data = try output.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      return String(decoding: data, as: UTF8.self)
    }
    let place = [agent.settings.folder.string, agent.settings.vault.description]
    #expect(try run([tool.path()] + place + ["smtp", "ada"]) == "gr33n\n")
    #expect(try run([tool.path()] + place + ["smtp", "bob"]) == "nothing\n")
    let libraries = try run(["ldd", tool.path()])
    #expect(libraries.contains("libswiftCore"))
    for name in ["sodium", "sqlite", "Foundation", "curl", "systemd", "icu"] { #expect(!libraries.contains(name), "\(name)") }
  }
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
