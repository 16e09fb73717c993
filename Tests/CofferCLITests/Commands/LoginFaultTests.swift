import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats
@testable import CofferTerminal

/// Faults during a login, renewal or logout at real servers: disk, vault, clock, person.
@Suite(.tags(.root, .process), .wholeRun) struct LoginFaultTests {
  private func smallDisk(_ home: Home) throws -> Home.SmallDisk {
    let disk = try home.smallDisk("900k")
    home.environment["COFFER_HOME"] = disk.path
    home.environment["COFFER_KEY_FILE"] = disk.path + "/key"
    return disk
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `a full disk is found before a person or a server is asked`(kind: OAuthServer.Kind) throws {
    let server = try OAuthServer(kind)
    let home = try Home()
    let disk = try smallDisk(home)
    try home.transcript("init --quiet --new-key-file \(disk.path)/key")
    try home.know(server)
    disk.fill()
    let before = try server.control("counts")
    let login = try home.coffer("login \(Home.host) --account ada")
    #expect(login.status == 74 && login.err.contains("space") && login.out.isEmpty, "\(login.err)")
    #expect(try server.control("counts") == before)
    disk.empty()
    try home.transcript("status --logins", err: "nobody is logged in", exit: 1)
    try home.logIn(server)
    let token = try home.coffer("token").out
    // A renewal without room for its tokens would end the login.
    disk.fill()
    let refresh = try home.coffer("token --fresh")
    #expect(refresh.status == 74 && refresh.err.contains("space"), "\(refresh.err)")
    #expect(try server.control("counts")["refresh"] == 0)
    try home.transcript("token", out: token)
    disk.empty()
    #expect(try home.coffer("token --fresh --quiet").status == 0)
    #expect(try home.coffer("token").out != token)
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `a disk that fills up in the midst of a login has the room that was tried`(kind: OAuthServer.Kind) throws {
    let server = try OAuthServer(kind)
    let home = try Home()
    let disk = try smallDisk(home)
    try home.transcript("init --quiet --new-key-file \(disk.path)/key")
    try home.know(server)
    try home.logIn(server)
    let token = try home.coffer("token").out
    let login = try home.startLogin(server)
    _ = try #require(try login.page())
    disk.fill()
    try login.answer(server)
    let end = try login.command.end()
    #expect(end.status == 0, "\(end.err)")
    let next = try home.coffer("token").out
    #expect(next != token)
    #expect(try server.takes(next))
    disk.empty()
    #expect(try home.coffer("vault verify").status == 0)
    #expect(try home.coffer("token --fresh --quiet").status == 0)
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `a vault that is locked in the midst of a login stays as it was, and the server takes the tokens back`(
    kind: OAuthServer.Kind
  ) throws {
    let server = try OAuthServer(kind)
    let home = try Home.withVault()
    try home.know(server)
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    let key = home.environment["COFFER_KEY_FILE"]
    home.locked()
    let login = try home.startLogin(server)
    _ = try #require(try login.page())
    try home.transcript("lock --quiet")
    try login.answer(server)
    let end = try login.command.end()
    #expect(end.status == 69 && end.err.contains("the vault is locked"), "\(end)")
    #expect(end.err.contains("the server has revoked them"), "\(end.err)")
    home.environment["COFFER_KEY_FILE"] = key
    try home.transcript("status --logins", err: "nobody is logged in", exit: 1)
    try home.logIn(server)
    #expect(try home.coffer("token --fresh --quiet").status == 0)
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `what is said of a token while it is renewed loses no login`(kind: OAuthServer.Kind) throws {
    let server = try OAuthServer(kind)
    let home = try Home.loggedIn(server)
    let token = try home.coffer("token").out
    let item = "vault show \(Home.host) ada --json"
    let before = try home.coffer(item).out
    try server.hold(at: "/token")
    let refresh = try home.start(["token", "--fresh", Home.host])
    try eventually("the server is asked") { try server.control("counts")["refresh"] == 1 }
    // git's old token was refused, and the item gets an end of now.
    try home.transcript(
      "helper git erase", in: "protocol=https\nhost=\(Home.host)\nusername=ada\npassword=\(token)\n\n")
    #expect(try home.coffer(item).out != before)
    try server.letGo()
    let end = try refresh.end()
    #expect(end.status == 0, "\(end.err)")
    let next = try home.coffer("token").out
    #expect(try next != token && server.takes(next))
    #expect(try server.control("counts")["refresh"] == 1)
    #expect(try home.coffer("token --fresh --quiet").status == 0)
    #expect(try server.takes(home.coffer("token").out))
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `another login while a token is renewed stands`(kind: OAuthServer.Kind) throws {
    let server = try OAuthServer(kind)
    let home = try Home.loggedIn(server)
    try server.hold(at: "/token")
    let refresh = try home.start(["token", "--fresh", Home.host])
    try eventually("the server is asked") { try server.control("counts")["refresh"] == 1 }
    try home.transcript("login \(Home.host) --account ada --with-token --quiet", in: "by hand")
    try server.letGo()
    let end = try refresh.end()
    #expect(end.status != 0 && end.err.contains("a login or logout happened while the token was renewed"), "\(end)")
    try home.transcript("token", out: "by hand")
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `a vault that is locked in the midst of a renewal stays as it was, and the server takes the tokens back`(
    kind: OAuthServer.Kind
  ) throws {
    let server = try OAuthServer(kind)
    let home = try Home.loggedIn(server)
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    let key = home.environment["COFFER_KEY_FILE"]
    home.locked()
    try server.hold(at: "/token")
    let refresh = try home.start(["token", "--fresh", Home.host])
    try eventually("the server is asked") { try server.control("counts")["refresh"] == 1 }
    try home.transcript("lock --quiet")
    try server.letGo()
    let end = try refresh.end()
    #expect(end.status == 69 && end.err.contains("the vault is locked"), "\(end)")
    #expect(end.err.contains("the server has revoked it") && end.err.contains("try: coffer login \(Home.host)"), "\(end)")
    #expect(try server.control("counts")["revoke"] == 1)
    home.environment["COFFER_KEY_FILE"] = key
    #expect(try home.coffer("token --fresh").status == 77)
    try home.logIn(server)
    #expect(try home.coffer("token --fresh --quiet").status == 0)
  }

  /// A login through an agent below the program `tracer`; nil if there is no such agent.
  private func login(byAgentBelow tracer: [String], _ home: Home, _ server: OAuthServer) throws -> (status: Int32, err: String)? {
    let agent = try home.start(by: tracer, ["agent", "run"])
    defer {
      _ = try? home.coffer("agent stop")
      _ = try? agent.end()
    }
    var hasEnded = false
    try eventually("the agent runs") {
      hasEnded = try agent.child.hasEnded()
      return try hasEnded || home.coffer("status --agent").status != 1
    }
    guard try !hasEnded && home.coffer("unlock --quiet").status == 0 else { return nil }
    let login = try home.startLogin(server, web: true)
    try login.answer(server)
    let end = try login.command.end()
    return (end.status, end.err)
  }

  @Test(arguments: OAuthServer.Kind.present.filter { $0 == .authlib })
  func `whichever answer an agent dies before, the server takes back no token that the vault has`(kind: OAuthServer.Kind) throws {
    let server = try OAuthServer(kind)
    let home = try Home.loggedIn(server)
    let log = home.path + "/answers"
    guard access("/usr/bin/strace", X_OK) == 0,
      try login(byAgentBelow: ["/usr/bin/strace", "-f", "-qq", "-o", log, "-e", "trace=sendto"], home, server)?.status == 0
    else { try Test.skip("strace cannot trace an agent here") }
    // strace counts calls by thread, and each connection has one: the busiest thread's last answer is the login's.
    let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").filter { $0.contains(" sendto(") }
    let threads = Dictionary(grouping: lines) { $0.prefix { $0 != " " } }
    let most = try #require(threads.values.map(\.count).max())
    var wentOn = 0
    for number in max(1, most - 11)...most {
      let call = TracedCall(name: "sendto", number: number)
      guard let end = try login(byAgentBelow: call.killer, home, server) else { continue }
      if end.status == 0 && end.err.contains("unlocked here") { wentOn += 1 }
      let token = try home.coffer("token")
      #expect(try token.status == 0 && server.takes(token.out), "\(call): \(end) \(token)")
    }
    #expect(wentOn > 0, "no login went on after its agent's death")
    #expect(try home.coffer("vault verify").status == 0)
  }

  @Test(arguments: OAuthServer.Kind.any, [true, false])
  func `control-C ends a login, and nothing of it is left`(kind: OAuthServer.Kind, web: Bool) throws {
    guard web || OAuthServer.Kind.withCodes.contains(kind) else { return }
    let server = try OAuthServer(kind)
    let home = try Home.withVault()
    try home.know(server)
    let vault = try home.coffer("status --details --json").out
    let login = try home.startLogin(server, web: web)
    let page = try #require(try login.page())
    kill(login.command.child.id, SIGINT)
    #expect(try login.command.end().status == 130)
    #expect(try home.coffer("status --details --json").out == vault)
    try home.transcript("status --logins", err: "nobody is logged in", exit: 1)
    // Nobody listens any more, and the code is useless.
    if web { #expect(try server.browse(page[0]).isEmpty) } else { try server.control("allow", ["code": page[1]]) }
    try home.transcript("status --logins", err: "nobody is logged in", exit: 1)
  }

  @Test(arguments: OAuthServer.Kind.any, ["+1d", "-1d", "+3d", "-3d"])
  func `a clock that is days off renews more often than it must, and loses no login`(
    kind: OAuthServer.Kind, offset: String
  ) throws {
    let server = try OAuthServer(kind)
    let home = try Home.loggedIn(server)
    let token = try home.coffer("token").out
    func shifted(_ words: String) throws -> (status: Int32, out: String, err: String)? {
      try home.program(
        ["faketime", "-f", offset, Home.coffer] + Home.words(words), with: ["FAKETIME_DONT_FAKE_MONOTONIC": "1"])
    }
    guard let answer = try shifted("token") else {
      try Test.skip(without: "faketime")
    }
    #expect(answer.status == 0, "\(answer.err)")
    #expect(try server.takes(answer.out))
    // A clock ahead ends it, one behind does not, unless it is too far off.
    #expect((answer.out == token) == (offset == "-1d"), "\(offset)")
    let next = try #require(try shifted("token --fresh --quiet"))
    #expect(next.status == 0, "\(next.err)")
    let status = try #require(try shifted("status --logins"))
    #expect(status.out.contains("renewed on demand"), "\(status)")
    let back = try home.coffer("token")
    #expect(back.status == 0, "\(back.err)")
    #expect(try server.takes(back.out))
    #expect(try home.coffer("token --fresh --quiet").status == 0)
    #expect(try server.takes(home.coffer("token").out))
    #expect(try home.coffer("vault verify").status == 0)
  }
}
