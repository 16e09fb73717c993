import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .wholeRun)
struct SharedAgentTests {
  @Test
  func `an agent holds it as it does one in a file: through changes of others and through a server that was away`() throws {
    let server = try DatabaseServer.make()
    let home = try Home.withSharedVault(server)
    defer { _ = try? home.coffer("agent stop") }
    let other = try home.otherMachine()
    try home.transcript("vault set a", in: "1")
    try home.transcript("unlock --quiet")
    home.locked()
    try home.transcript("vault get a", out: "1")
    let status = try home.coffer("status --agent")
    #expect(status.status == 0 && status.out.contains(home.place), "\(status)")
    #expect(try home.coffer("doctor --json").out.contains("the agent holds") == false)
    try other.transcript("vault set a --quiet", in: "2")
    try home.transcript("vault get a", out: "2")
    try other.changesKey("vault rotate --yes --quiet")
    try home.transcript("vault get a", out: "2")
    try home.transcript("vault set a", in: "3")
    try other.transcript("vault get a", out: "3")
    server.stop(SIGINT)
    try eventually("the server is away") { try home.coffer("vault get a").status == 75 }
    try server.restart()
    try home.transcript("vault get a", out: "3")
    try home.transcript("lock")
    try home.transcript("vault get a", err: "nothing to unlock it with", exit: 69)
  }

  @Test
  func `an agent that has a file unlocked opens a place on a server beside it`() throws {
    let shared = try Home.onServer()
    let home = try Home.withVault()
    defer { _ = try? home.coffer("agent stop") }
    let place = shared.place
    try home.transcript("vault set a", in: "here")
    try home.transcript("unlock --quiet")
    try home.transcript("init --quiet --vault \(place) --key-file \(home.path)/key")
    try home.transcript("unlock --quiet --vault \(place)")
    home.locked()
    try home.transcript("vault set a --vault \(place)", in: "there")
    try home.transcript("vault get a", out: "here")
    try home.transcript("vault get a --vault \(place)", out: "there")
    try home.transcript("lock --vault \(place)")
    try home.transcript("vault get a", out: "here")
    try home.transcript("vault get a --vault \(place)", err: "nothing to unlock it with", exit: 69)
  }

  @Test
  func `its service may speak to a network, and finds what libpq found, but for a password`() throws {
    let home = try Home()
    home.environment["COFFER_VAULT"] = "postgresql://db.example.com/team?options=-ca%3Db#main"
    home.environment["PGPASSFILE"] = "/home/ada/pass"
    home.environment["PGPASSWORD"] = "hunter2"
    let unit = try home.coffer("agent install --print").out
    #expect(unit.contains("RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n"))
    #expect(unit.contains("\"COFFER_VAULT=postgresql://db.example.com/team?options=-ca%%3Db#main\"\n"), "\(unit)")
    #expect(unit.contains("PGPASSFILE=/home/ada/pass\n") && !unit.contains("hunter2"))
    home.environment["COFFER_VAULT"] = nil
    for command in ["agent install --print", "secret-service install --print"] {
      let other = try home.coffer(command).out
      #expect(other.contains("RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n"), "\(other)")
      #expect(other.contains("PGPASSFILE=/home/ada/pass") && !other.contains("hunter2"))
    }
  }
}
