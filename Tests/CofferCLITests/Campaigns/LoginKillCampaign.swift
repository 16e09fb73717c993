import CofferTestSupport
import Foundation
import Testing

/// `coffer login`, `refresh` and `logout` are killed at system calls on files and sockets. The vault is valid, the old
/// or the new login exists, tokens are only sealed in files, and the next command works.
///
/// Short by default; `COFFER_LONG_TESTS` takes every call, or one of so many.
@Suite(.serialized, .tags(.campaign, .kill, .process), .wholeRun)
struct LoginKillCampaign {
  private static let calls =
    "openat,pwrite64,fsync,fdatasync,ftruncate,fcntl,linkat,?unlink,unlinkat,?rename,renameat2,?mkdir,?fchmod,read,write,"
    + "socket,connect,bind,listen,?accept,?accept4,sendto,recvfrom,?poll,ppoll,close"

  private struct Scene {
    let home: Home
    private static let parts = ["data", "state"]

    init(_ home: Home) throws {
      self.home = home
      try copy("", to: "scene/")
    }

    func restore() throws { try copy("scene/", to: "") }

    private func copy(_ from: String, to: String) throws {
      let files = FileManager.default
      try files.createDirectory(atPath: "\(home.path)/scene", withIntermediateDirectories: true)
      for part in Self.parts where home.exists("\(from)\(part)") {
        if home.exists("\(to)\(part)") { try files.removeItem(atPath: "\(home.path)/\(to)\(part)") }
        try files.copyItem(atPath: "\(home.path)/\(from)\(part)", toPath: "\(home.path)/\(to)\(part)")
      }
    }
  }

  /// From the first call with possibly partial effects; before it is start-up. All in the long form.
  private func chosen(_ places: [TracedCall]) -> [TracedCall] {
    let end = places.suffix(Campaign.isLong ? places.count : 400)
    return Campaign.cases(end.count, short: 8).map { end[end.startIndex + $0] }
  }

  private func checkSound(_ home: Home, _ place: TracedCall) throws {
    #expect(try home.coffer("vault verify").status == 0, "\(place)")
    for file in FileManager.default.enumerator(atPath: home.path) ?? .init() {
      let content = FileManager.default.contents(atPath: "\(home.path)/\(file)")
      #expect(content?.range(of: Data(OAuthServer.mark.utf8)) == nil, "\(place): \(file) holds a token")
    }
  }

  private func logIn(_ home: Home, _ server: OAuthServer, by tracer: [String]) throws -> Int32 {
    let login = try home.startLogin(server, by: tracer, web: true)
    try login.answer(server)
    return try login.command.end().status
  }

  @Test func `wherever a login is killed, the old one stands or the new one`() throws {
    let server = try OAuthServer(.authlib)
    let home = try Home.loggedIn(server)
    let old = try home.coffer("token").out
    let scene = try Scene(home)
    let places = try home.calls(Self.calls, { try logIn(home, server, by: $0) })
    var outcomes: [String: Int] = [:]
    for (index, place) in chosen(places).enumerated() {
      try scene.restore()
      let isKilled = try logIn(home, server, by: place.killer) != 0
      // The second death of a pair, in the next command.
      if index % 3 == 1 {
        _ = try logIn(home, server, by: places[places.count - 1 - index * 7 % places.count].killer)
      } else if index % 3 == 2 {
        try server.fault(503, at: "/token")
        try home.transcript("token --fresh", err: "status 503", exit: 75)
      }
      try checkSound(home, place)
      let token = try home.coffer("token")
      #expect(try token.status == 0 && server.takes(token.out), "\(place): \(token.err)")
      outcomes["\(isKilled ? "killed" : "came through"), \(token.out == old ? "old" : "new") login", default: 0] += 1
      // The old token is accepted once.
      if token.out != old { #expect(try home.coffer("token --fresh --quiet").status == 0) }
      #expect(try logIn(home, server, by: ["/usr/bin/env"]) == 0, "\(place)")
      #expect(try home.coffer("status --logins").out.contains("renewed on demand"), "\(place)")
    }
    print("login: \(places.count) calls, \(outcomes.sorted { $0.key < $1.key })")
    #expect(outcomes["killed, old login", default: 0] > 0)
  }

  @Test func `wherever a renewal is killed, the login stands, or the server says that it is over`() throws {
    let server = try OAuthServer(.authlib)
    let home = try Home.loggedIn(server)
    let refresh = { (tracer: [String]) in
      let started = try home.start(by: tracer, ["token", "--fresh", Home.host])
      // The token that it prints is its answer, and no trace.
      defer { unlink(started.file) }
      return try started.end().status
    }
    let places = try home.calls(Self.calls, refresh)
    var outcomes: [String: Int] = [:]
    for place in chosen(places) {
      try home.logIn(server)
      let old = try home.coffer("token").out
      let before = try server.control("counts")["refresh"]
      let isKilled = try refresh(place.killer) != 0
      let wasAsked = try server.control("counts")["refresh"] != before
      try checkSound(home, place)
      let token = try home.coffer("token")
      #expect(token.status == 0, "\(place): \(token.err)")
      #expect(try server.takes(token.out) || wasAsked && token.out == old, "\(place)")
      let next = try home.coffer("token --fresh")
      // The new refresh token can be lost only between the server's answer and the commit: no other place has it.
      #expect(next.status == 0 || next.status == 77 && wasAsked && token.out == old, "\(place): \(next.err)")
      let what = next.status == 77 ? "to log in again" : token.out == old ? "old token" : "new token"
      outcomes["\(isKilled ? "killed" : "came through"), \(what)", default: 0] += 1
    }
    print("token --fresh: \(places.count) calls, \(outcomes.sorted { $0.key < $1.key })")
    #expect(outcomes["killed, old token", default: 0] > 0)
  }

  @Test func `wherever a logout is killed, it happened or not, and can be repeated`() throws {
    let server = try OAuthServer(.authlib)
    let home = try Home.loggedIn(server)
    let logout = { (tracer: [String]) in try home.start(by: tracer, ["logout", Home.host]).end().status }
    let places = try home.calls(Self.calls, logout)
    var outcomes: [String: Int] = [:]
    for place in chosen(places) {
      try home.logIn(server)
      let old = try home.coffer("token").out
      let isKilled = try logout(place.killer) != 0
      try checkSound(home, place)
      let token = try home.coffer("token")
      #expect(token.status == 0 && token.out == old || token.status == 1, "\(place): \(token.err)")
      let stands = try server.takes(old)
      // Nobody is logged out while the server accepts the token, unless it was unreachable.
      #expect(token.status == 0 || !stands, "\(place)")
      outcomes[
        "\(isKilled ? "killed" : "came through"), \(token.status == 1 ? "out" : stands ? "in" : "taken back, but in")", default: 0
      ] += 1
      #expect(try home.coffer("logout").status == token.status, "\(place)")
      try home.transcript("vault list", out: "")
      #expect(try !server.takes(old), "\(place)")
    }
    print("logout: \(places.count) calls, \(outcomes.sorted { $0.key < $1.key })")
    #expect(outcomes["killed, in", default: 0] > 0)
  }
}
