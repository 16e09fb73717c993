import CofferPostgres
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct SharedTransactionCampaign {
  @Test(arguments: TransactionKillTests.steps) func `a killed transaction happened here and on the server, or nowhere`(
    step: (name: String, happened: Bool)
  ) throws {
    let server = try DatabaseServer.shared
    let home = try Home(on: server.place())
    #expect(try home.run("transact", home.path, home.keyFile, "old").status == 0)
    let killed = try home.run("transact", home.path, home.keyFile, "new", step.name)
    #expect(killed.status == SIGKILL, "dies at \(step.name)")
    try home.expectAgreement(on: [step.happened ? "new" : "old"])
    #expect(try home.run("transact", home.path, home.keyFile, "newer").status == 0)
    try home.expectAgreement(on: ["newer"])
  }

  @Test func `a connection cut at any byte of a transaction leaves both halves or none, and what is said of it holds`() throws {
    let server = try DatabaseServer.shared
    let proxy = try SocketProxy(server.folder, target: server.port)
    defer { proxy.end() }
    let home = try Home(on: server.place().replacing(":\(server.port)/", with: ":\(proxy.port)/"))
    let peer = try Peer(home, ["serve", home.path, home.keyFile])
    for warm in 0..<3 { #expect(peer.ask("transact warm\(warm)") == "ok") }
    _ = proxy.count()
    #expect(peer.ask("transact measured") == "ok")
    let size = proxy.count()
    var (before, tally) = ("measured", [String: Int]())
    for up in [true, false] {
      for cut in Campaign.cases(up ? size.up : size.down, short: 16) {
        let value = "\(up)\(cut)"
        proxy.cut(after: cut, up: up)
        let answer = peer.ask("transact \(value)") ?? "died"
        proxy.mend()
        let found = peer.ask("read") ?? "died"
        let word = answer.split(separator: ":").first.map(String.init) ?? answer
        tally[word, default: 0] += 1
        switch word {
        case "ok": #expect(found == "\(value) \(value) \(value)", "acknowledged at \(value)")
        case "error unreachable": #expect(found == "\(before) \(before) \(before)", "\(answer) at \(value)")
        case "error pending": #expect(found == "\(value) \(value) \(value)", "the vault has its part at \(value)")
        default: Issue.record("\(answer) at \(value), found \(found)")
        }
        before = found.split(separator: " ").first.map(String.init) ?? before
      }
    }
    peer.kill()
    try home.expectAgreement(on: [before])
    #expect(tally["ok", default: 0] > 0 && tally["error unreachable", default: 0] > 0)
    print("cut transactions over both stores: \(tally.sorted { $0.key < $1.key })")
  }

  @Test func `what a dead process left waits for a server that is away, and is settled when it is back`() throws {
    let server = try DatabaseServer.make()
    for (step, value) in [("beforeVaultCommit", "old"), ("afterVaultCommit", "new")] {
      let home = try Home(on: server.place())
      #expect(try home.run("transact", home.path, home.keyFile, "old").status == 0)
      #expect(try home.run("transact", home.path, home.keyFile, "new", step).status == SIGKILL)
      server.stop(SIGINT)
      eventually("the server is gone") { access("\(server.folder)/.s.PGSQL.\(server.port)", F_OK) != 0 }
      let away = try home.run("read-preferences", home.path)
      #expect(away.status != 0 && away.output.contains("cannot be reached"), "\(away)")
      try server.restart()
      try home.expectAgreement(on: [value])
    }
  }
}
