import CofferTestSupport
import Foundation
import Testing

extension Home {
  /// The host that a home logs in to.
  static let host = "git.example"

  /// A home that is logged in at `server` as ada, with a token that lives for `seconds`; the next ones live for an hour.
  static func loggedIn(_ server: OAuthServer, for seconds: Int = 3600) throws -> Home {
    let home = try Home.withVault()
    try home.know(server)
    if seconds != 3600 { try server.control("life", ["seconds": "\(seconds)"]) }
    try home.logIn(server)
    if seconds != 3600 { try server.control("life", ["seconds": "3600"]) }
    return home
  }

  /// Gives the server the host's name.
  func know(_ server: OAuthServer) throws {
    var line = "auth provider add \(Self.host) --issuer \(server.issuer) --client-id \(server.kind.client) --scope read"
    if let secret = server.kind.secret { line += " --client-secret-file \(try file("secret", secret))" }
    try transcript(line, err: "coffer: note: \(Self.host) logs in at \(server.issuer)\n")
    unlink("\(path)/secret")
  }

  /// Logs in by a code where the server has that, and else with the browser.
  func logIn(
    _ server: OAuthServer, as account: String = "ada", web: Bool? = nil, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let login = try startLogin(server, as: account, web: web)
    try login.answer(server)
    let end = try login.command.end()
    #expect(end.status == 0, "\(end.err)", sourceLocation: location)
  }

  /// A login that waits for its person.
  func startLogin(
    _ server: OAuthServer, as account: String = "ada", by tracer: [String] = [], web: Bool? = nil
  ) throws -> StartedLogin {
    let isWeb = web ?? !OAuthServer.Kind.withCodes.contains(server.kind)
    let words = ["auth", "login", Self.host, "--account", account, isWeb ? "--web" : "--device", "--no-browser"]
    return StartedLogin(command: try start(by: tracer, words), isWeb: isWeb)
  }

  /// Starts `coffer` with `words`, below the program `tracer` where that is given.
  func start(by tracer: [String] = [], _ words: [String]) throws -> StartedCommand {
    let files = try ["in", "out", "err"].map { try file(".run/\(UUID().uuidString).\($0)") }
    let all = tracer + [Self.coffer] + words
    let child = try Child(
      Array(all.dropFirst()), environment: environment,
      opening: [0: (files[0], O_RDONLY), 1: (files[1], O_WRONLY), 2: (files[2], O_WRONLY)], program: all[0])
    return StartedCommand(child: child, file: files[1], errors: files[2])
  }
}

/// A command that goes on while the test does something else.
struct StartedCommand {
  let child: Child
  let file: String
  let errors: String

  /// What it has printed, once that has `count` lines; nil where it ends before.
  func lines(_ count: Int) throws -> [String]? {
    let deadline = Date().addingTimeInterval(60)
    while Date() < deadline {
      let hasEnded = try child.hasEnded()
      let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
      if lines.count >= count { return lines }
      if hasEnded { return nil }
      usleep(5_000)
    }
    return nil
  }

  /// Its status, and all that it printed.
  func end() throws -> (status: Int32, out: String, err: String) {
    let status = try child.wait()
    return (status, try String(contentsOfFile: file, encoding: .utf8), try String(contentsOfFile: errors, encoding: .utf8))
  }
}

/// A login under way.
struct StartedLogin {
  let command: StartedCommand
  let isWeb: Bool

  /// What it says to the person: the page, and the code where there is one; nil where it has ended.
  func page() throws -> [String]? { try command.lines(isWeb ? 1 : 2) }

  /// Has the person do what it says; false where it ended before it said anything.
  @discardableResult
  func answer(_ server: OAuthServer) throws -> Bool {
    guard let page = try page() else { return false }
    if isWeb {
      try server.browse(page[0])
    } else {
      #expect(page[0] == "\(server.issuer)/device")
      try server.control("allow", ["code": page[1]])
    }
    return true
  }
}
