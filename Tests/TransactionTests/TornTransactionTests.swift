import Foundation
import Testing

/// Deaths and errors after which the vault's half of a transaction is in its log and nobody has seen it, with other processes alive, so
/// that SQLite recovers nothing before they are gone too.
@Suite(.serialized) struct TornTransactionTests {
  /// The first sync of the vault's log.
  static func atTheSync(of home: Home, _ fault: String) -> [String] {
    ["-o", "/dev/null", "-P", home.path + "/vault.sqlite-wal", "-e", "trace=fdatasync", "-e", "inject=fdatasync:\(fault):when=1"]
  }

  private static func prepared() throws -> Home? {
    guard try Home.canTrace() else {
      print("skipped: strace cannot trace a process here")
      return nil
    }
    let home = try Home()
    #expect(try home.run("transact", home.path, home.keyFile, "old").status == 0)
    return home
  }

  /// A process that has both stores open and has begun the vault's log, so that the next sync of the log is that of a commit.
  private static func peerWithLog(_ home: Home) throws -> Peer {
    let peer = try Peer(home, ["serve", home.path, home.keyFile])
    #expect(peer.ask("set old") == "ok")
    return peer
  }

  @Test func `a vault's commit that was written and not published does not come back once the plain half was dropped`() throws {
    guard let home = try Self.prepared() else { return }
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
    guard let home = try Self.prepared() else { return }
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

  @Test func `an agent that dies before it answers leaves both halves the same`() throws {
    guard let home = try Self.prepared() else { return }
    var committed = 0
    for number in 1...6 {
      let tracing = ["-o", "/dev/null", "-e", "trace=sendto", "-e", "inject=sendto:signal=KILL:when=\(number + 4)"]
      let agent = try Peer(home, ["agent", home.path, home.keyFile], tracing: tracing)
      let client = try Peer(home, ["serve", home.path, home.keyFile, "60000"])
      _ = client.ask("transact new\(number)")
      client.kill()
      agent.kill()
      if try home.expectAgreement(on: nil) == "new\(number)" { committed += 1 }
    }
    #expect(committed > 0)
  }

  @Test func `an agent that sleeps through its client's patience does nothing of it later`() throws {
    guard let home = try Self.prepared() else { return }
    let agent = try Peer(home, ["agent", home.path, home.keyFile])
    let client = try Peer(home, ["serve", home.path, home.keyFile, "300"])
    agent.signal(SIGSTOP)
    let answer = client.ask("transact new")
    #expect(answer?.hasPrefix("error") == true, "\(answer ?? "")")
    agent.signal(SIGCONT)
    // What the agent answers now, it answers after the request that nobody waits for.
    #expect(client.ask("read") == "old old old")
    client.kill()
    agent.kill()
    try home.expectAgreement(on: ["old"])
  }
}
