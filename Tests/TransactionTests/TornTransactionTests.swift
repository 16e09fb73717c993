import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultRows

/// The vault's half of a transaction is in its log unseen, while other processes live, so that SQLite recovers nothing
/// before they are gone.
@Suite(.tags(.kill, .process), .defaultRun)
struct TornTransactionTests {
  static func atTheSync(of home: Home, _ fault: String) -> [String] {
    ["-o", "/dev/null", "-P", home.path + "/vault.sqlite-wal", "-e", "trace=fdatasync", "-e", "inject=fdatasync:\(fault):when=1"]
  }

  private static func prepared() throws -> Home {
    try Tracing.need()
    let home = try Home()
    #expect(try home.run("transact", home.path, home.keyFile, "old").status == 0)
    return home
  }

  /// A process that has both stores open and has begun the vault's log, so that its next sync is of a commit.
  private static func peerWithLog(_ home: Home) throws -> Peer {
    let peer = try Peer(home, ["serve", home.path, home.keyFile])
    #expect(peer.ask("set old") == "ok")
    return peer
  }

  @Test func `a vault's commit that was written and not published does not come back once the plain half was dropped`() throws {
    let home = try Self.prepared()
    let other = try Self.peerWithLog(home)
    let dying = try Peer(home, ["serve", home.path, home.keyFile], tracing: Self.atTheSync(of: home, "signal=KILL"))
    #expect(dying.ask("transact new") == nil)
    dying.wait()
    #expect(other.ask("write x") == "ok")
    #expect(other.ask("read") == "old old old")
    other.kill()
    try home.expectAgreement(on: ["old"])
  }

  @Test func `a commit that failed is never seen after nothing was changed was said`() throws {
    let home = try Self.prepared()
    for request in ["set new", "transact new"] {
      let other = try Self.peerWithLog(home)
      let failing = try Peer(home, ["serve", home.path, home.keyFile], tracing: Self.atTheSync(of: home, "error=EIO"))
      let answer = failing.ask(request)
      #expect(answer?.hasPrefix("error io(5)") == true, "\(answer ?? "")")
      #expect(failing.ask("read") == "old old old")
      failing.kill()
      other.kill()
      try home.expectAgreement(on: ["old"])
    }
  }

  @Test func `an agent that dies before it answers leaves its client a transaction that was made`() throws {
    guard try Home.canAttach() else { try Test.skip("strace cannot attach to a process here") }
    let home = try Self.prepared()
    let agent = try Peer(home, ["agent", home.path, home.keyFile])
    let client = try Peer(home, ["serve", home.path, home.keyFile, "60000"])
    let tracer = try Tracer(killing: agent, at: TracedCall(name: "sendto", number: 1))
    #expect(client.ask("transact new") == "ok", "the vault says that it was")
    agent.wait()
    tracer.end()
    #expect(client.ask("transact newer")?.hasPrefix("error noAgent") == true)
    client.kill()
    try home.expectAgreement(on: ["new"])
  }

  @Test(arguments: ["error=ENOMEM", "error=EIO:when=1..2"])
  func `an answer that the agent cannot send is not told as a failure of what it did`(fault: String) throws {
    guard try Home.canAttach() else { try Test.skip("strace cannot attach to a process here") }
    let home = try Self.prepared()
    let agent = try Peer(home, ["agent", home.path, home.keyFile])
    let client = try Peer(home, ["serve", home.path, home.keyFile, "60000"])
    let inject = fault.contains("when") ? fault : fault + ":when=1"
    let tracer = try Tracer(agent, ["-e", "inject=sendto:\(inject)"], calls: ["sendto"])
    #expect(client.ask("transact new") == "ok", "the vault says that it was made")
    tracer.end()
    #expect(try tracer.injected() >= 1)
    #expect(client.ask("read") == "new new new")
    client.kill()
    agent.kill()
    try home.expectAgreement(on: ["new"])
  }

  @Test(.tags(.process), .wholeRun) func `an agent that sleeps through its client's patience does nothing of it later`() throws {
    let home = try Self.prepared()
    let agent = try Peer(home, ["agent", home.path, home.keyFile])
    let client = try Peer(home, ["serve", home.path, home.keyFile, "3000"])
    agent.freeze()
    let answer = client.ask("transact new")
    #expect(answer?.hasPrefix("error") == true, "\(answer ?? "")")
    agent.signal(SIGCONT)
    #expect(client.ask("read") == "old old old")
    client.kill()
    agent.kill()
    try home.expectAgreement(on: ["old"])
  }

  @Test func `a single read may see half for a moment, and reads of one moment never do`() throws {
    let home = try Home()
    let reader = try Peer(home, ["serve", home.path, home.keyFile])
    #expect(reader.ask("transact old") == "ok")
    let writer = try Peer(home, ["serve", home.path, home.keyFile, "none", "stop-decided"])
    writer.tell("transact new")
    // The vault has its half when the writer stops for good.
    while reader.ask("single") == "old old" { usleep(1000) }
    #expect(reader.ask("single") == "new old")
    reader.tell("read")
    usleep(50_000)
    writer.signal(SIGCONT)
    #expect(reader.hear() == "new new new")
    #expect(writer.hear() == "ok")
    #expect(reader.ask("single") == "new new")
  }

  @Test(arguments: ["committed", "commitDurable", "beforeForget"])
  func `the record of a transaction whose process died before it was forgotten goes with the next fold`(step: String) throws {
    let home = try Home()
    #expect(try home.run("transact", home.path, home.keyFile, "new", step).status == SIGKILL)
    #expect(try home.recordedOutcomes() == 1)
    // An unreachable vault is asked at a later fold.
    let peer = try Peer(home, ["serve", home.path, home.keyFile])
    let aside = home.path + "/aside"
    try FileManager.default.moveItem(atPath: home.vaultPath.string, toPath: aside)
    #expect(peer.ask("fold") == "ok")
    try FileManager.default.moveItem(atPath: aside, toPath: home.vaultPath.string)
    #expect(try home.recordedOutcomes() == 1)
    #expect(peer.ask("write x") == "ok")
    #expect(peer.ask("fold") == "ok")
    #expect(try home.recordedOutcomes() == 0)
    peer.kill()
    try home.expectAgreement(on: ["new"])
  }

  @Test func `a transaction whose plain half changes nothing records no outcome`() throws {
    let home = try Home()
    #expect(try home.run("transact", home.path, home.keyFile, "same").status == 0)
    #expect(try home.run("transact", home.path, home.keyFile, "same", "beforeForget").status == 0, "there is nothing to forget")
    #expect(try home.recordedOutcomes() == 0)
  }
}

extension Home {
  fileprivate func recordedOutcomes() throws -> Int64 {
    let database = try VaultDatabase.open(vaultPath)
    return try database.connection.number("SELECT count(*) FROM decided")
  }
}
