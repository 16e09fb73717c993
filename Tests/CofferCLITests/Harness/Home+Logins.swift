import CofferTestSupport
import Foundation
import Testing

extension Home {
  static let host = "git.example"

  /// A home logged in at `server` as ada, with a token for `seconds`; later ones live for an hour.
  static func loggedIn(_ server: OAuthServer, for seconds: Int = 3600) throws -> Home {
    let home = try Home.withVault()
    try home.know(server)
    if seconds != 3600 { try server.control("life", ["seconds": "\(seconds)"]) }
    try home.logIn(server)
    if seconds != 3600 { try server.control("life", ["seconds": "3600"]) }
    return home
  }

  func know(_ server: OAuthServer) throws {
    var line = "provider add \(Self.host) --issuer \(server.issuer) --client-id \(server.kind.client) --scope read"
    if let secret = server.kind.secret { line += " --client-secret-file \(try file("secret", secret))" }
    try transcript(line, err: "coffer: note: \(Self.host) logs in at \(server.issuer)\n")
    unlink("\(path)/secret")
  }

  /// Logs in by code if the server supports it, otherwise with the browser.
  func logIn(
    _ server: OAuthServer, as account: String = "ada", web: Bool? = nil, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let login = try startLogin(server, as: account, web: web)
    try login.answer(server)
    let end = try login.command.end()
    #expect(end.status == 0, "\(end.err)", sourceLocation: location)
  }

  func startLogin(
    _ server: OAuthServer, as account: String = "ada", by tracer: [String] = [], web: Bool? = nil
  ) throws -> StartedLogin {
    let isWeb = web ?? !OAuthServer.Kind.withCodes.contains(server.kind)
    let words = ["login", Self.host, "--account", account, isWeb ? "--web" : "--device", "--no-browser"]
    return StartedLogin(command: try start(by: tracer, words), isWeb: isWeb)
  }

  /// Starts `coffer` with `words`, below the program `tracer` if given.
  func start(by tracer: [String] = [], _ words: [String]) throws -> StartedCommand {
    let files = try ["in", "out", "err"].map { try file(".run/\(UUID().uuidString).\($0)") }
    let all = tracer + [Self.coffer] + words
    let child = try Child(
      Array(all.dropFirst()), environment: environment,
      opening: [0: (files[0], O_RDONLY), 1: (files[1], O_WRONLY), 2: (files[2], O_WRONLY)], program: all[0])
    return StartedCommand(child: child, file: files[1], errors: files[2])
  }
}

struct StartedCommand {
  let child: Child
  let file: String
  let errors: String

  /// Its output, once it has `count` lines; nil if it ends before.
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

  func end() throws -> (status: Int32, out: String, err: String) {
    let status = try child.wait()
    return (status, try String(contentsOfFile: file, encoding: .utf8), try String(contentsOfFile: errors, encoding: .utf8))
  }
}

struct StartedLogin {
  let command: StartedCommand
  let isWeb: Bool

  func page() throws -> [String]? { try command.lines(isWeb ? 1 : 2) }

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
