internal import Foundation
public import Testing

/// A real server of OAuth 2 in a process of its own, none of them ours, and the person who logs in there.
public final class OAuthServer: @unchecked Sendable {
  /// Which server, and what it has of the standards.
  public enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    /// A server made with Authlib, a library of Python's.
    case authlib
    /// A server made with oauthlib, a library of Python's.
    case oauthlib
    /// A server of its own, in C: OAuth 2 and OpenID Connect.
    case glewlwyd

    /// Those that can be had on this machine, and with `CI` set all.
    public static let present = allCases.filter { kind in
      guard let obstacle = kind.obstacle, !Test.hasAllPrograms else { return true }
      print("skipped: \(kind.rawValue): \(obstacle)")
      return false
    }
    /// Those with logins by a code. oauthlib 3.2 has none for servers.
    public static let withCodes = present.filter { $0 != .oauthlib }
    /// One of them, for what a program does by itself, or what the way in before each server does.
    public static let any = Array(present.prefix(1))
    /// One with logins by a code.
    public static let anyWithCodes = Array(withCodes.prefix(1))

    /// Its name.
    public var testDescription: String { rawValue }

    /// Whether a person can say no to a code: Glewlwyd lets them do nothing.
    public var takesNo: Bool { self == .authlib }
    /// The client that may do all that the server has: Glewlwyd takes no token back of one without a secret.
    public var client: String { self == .glewlwyd ? "service" : "program" }
    /// Its secret.
    public var secret: String? { self == .glewlwyd ? OAuthServer.secret : nil }

    /// Why it cannot be had on this machine; nil where it can.
    private var obstacle: String? {
      let script = self == .glewlwyd ? "import werkzeug" : "import \(rawValue), flask"
      guard case .some(0) = try? Shell.run(["/usr/bin/python3", "-c", script]).status else {
        return "not installed: \(script), for /usr/bin/python3"
      }
      return self == .glewlwyd && access("/usr/bin/glewlwyd", X_OK) != 0 ? "glewlwyd is not installed" : nil
    }
  }

  /// Which it is.
  public let kind: Kind
  /// Who it says it is.
  public let issuer: String
  /// Where it listens: `http://127.0.0.1:PORT`.
  public let place: String
  private let process: Process
  private let input = Pipe()
  private let folder: TestFolder

  /// The secret of the client `service`; the client `program` has none.
  public static let secret = "a-secret_of.the~service"
  /// What each token of Authlib's server begins with, so that it can be looked for.
  public static let mark = "coffer-test-token-Zk3vQ9sLw8Xy2Bn5Rt7U-"
  private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "../CofferLoginTests/Servers").standardized.path()

  /// Starts it.
  public init(_ kind: Kind) throws {
    self.kind = kind
    folder = try TestFolder("login-server")
    let file = "\(folder.path)/port"
    process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = ["\(Self.sources)/\(kind.rawValue)_server.py", file]
    process.standardInput = input
    process.standardError = FileHandle.nullDevice
    try process.run()
    var port: String?
    let deadline = Date().addingTimeInterval(60)
    while port == nil, Date() < deadline, process.isRunning {
      usleep(20_000)
      port = try? String(contentsOfFile: file, encoding: .utf8)
    }
    guard let port else { throw Failed(what: "\(kind.rawValue) did not begin to listen: .ci/clients installs what it needs") }
    place = "http://127.0.0.1:\(port)"
    issuer = kind == .glewlwyd ? "\(place)/api/oidc" : place
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.terminate()
  }

  /// It could not be had.
  public struct Failed: Error { let what: String }

  /// Ends it, so that nobody answers at its port.
  public func stop() {
    kill(process.processIdentifier, SIGKILL)
    eventually("the server ends") { !process.isRunning }
  }

  /// Does what a person, or the test, does at the server, and returns how often what reached it.
  @discardableResult
  public func control(_ word: String, _ parameters: [String: String] = [:]) throws -> [String: Int] {
    let form = parameters.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }
    let answer = try curl(["-X", "POST", "-d", form.joined(separator: "&"), "\(place)/control/\(word)"])
    return try JSONDecoder().decode([String: Int].self, from: Data(answer.utf8))
  }

  /// Has the next request, or the next whose path ends with `at`, answered in the server's place.
  ///
  /// - Parameters:
  ///   - copies: how often the body is sent; 0 for without an end.
  ///   - drip: seconds before each byte of it.
  ///   - to: where the answer sends to.
  public func fault(
    _ status: Int, _ body: String = "", copies: Int = 1, drip: Double = 0, to: String = "", at: String = "", times: Int = 1
  ) throws {
    try control(
      "fault",
      [
        "status": "\(status)", "body": body, "copies": "\(copies)", "drip": "\(drip)", "to": to, "at": at, "times": "\(times)",
      ])
  }

  /// Has the next answer to a request whose path ends with `at` wait for ``letGo()``, once the server has done what it was asked.
  public func hold(at: String) throws { try control("hold", ["at": at]) }

  /// Lets the held answer go.
  public func letGo() throws { try control("go") }

  /// Whether the server takes `token` as good.
  public func takes(_ token: String) throws -> Bool {
    try curl(["-H", "Authorization: Bearer \(token)", "\(place)/me"]) == "yes"
  }

  /// What a browser does with a page: it follows to wherever it is sent.
  @discardableResult
  public func browse(_ url: String) throws -> String { try curl(["-L", url]) }

  /// The same without a thread of Swift's pool: what the browser comes back to may wait for one.
  @discardableResult
  public func visit(_ url: String) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { [self] in continuation.resume(with: Result { try browse(url) }) }
    }
  }

  /// Where the page at `url` sends to.
  public func destination(of url: String) throws -> String { try curl(["-o", "/dev/null", "-w", "%{redirect_url}", url]) }

  private func curl(_ words: [String]) throws -> String {
    try Shell.run(["/usr/bin/curl", "-s", "--noproxy", "*", "--max-time", "300"] + words).output
  }
}

/// Programs that are waited for. Not Foundation's `Process`, whose wait runs the thread's run loop, and did not return now and
/// then where several threads waited.
enum Shell {
  static func run(_ words: [String]) throws -> (status: Int32, output: String) {
    let line = words.map { "'\($0.replacing("'", with: "'\\''"))'" }.joined(separator: " ")
    guard let pipe = popen("exec \(line) 2>/dev/null", "re") else {
      throw OAuthServer.Failed(what: "\(words[0]) cannot be started")
    }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while case let count = fread(&chunk, 1, chunk.count, pipe), count > 0 { bytes += chunk[..<count] }
    let status = pclose(pipe)
    return (status >> 8, String(decoding: bytes, as: UTF8.self))
  }
}
