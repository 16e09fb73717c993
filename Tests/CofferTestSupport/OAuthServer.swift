internal import Foundation
public import Testing

/// A real third-party OAuth 2 server in its own process, and the person who logs in there.
public final class OAuthServer: @unchecked Sendable {
  /// The server, and its part of the standards.
  public enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    /// A server made with Authlib, a Python library.
    case authlib
    /// A server made with oauthlib, a Python library.
    case oauthlib
    /// A standalone server in C: OAuth 2 and OpenID Connect.
    case glewlwyd

    /// The servers available on this machine, or all with `CI` set.
    public static let present = allCases.filter { kind in
      guard let obstacle = kind.obstacle, !Test.hasAllPrograms else { return true }
      print("skipped: \(kind.rawValue): \(obstacle)")
      return false
    }
    /// Servers with logins by code. oauthlib 3.2 has none on the server side.
    public static let withCodes = present.filter { $0 != .oauthlib }
    /// One server, for behavior that does not depend on it.
    public static let any = Array(present.prefix(1))
    /// One server with logins by code.
    public static let anyWithCodes = Array(withCodes.prefix(1))

    /// Its name.
    public var testDescription: String { rawValue }

    /// Whether a person can refuse a code: with Glewlwyd they can only ignore it.
    public var takesNo: Bool { self == .authlib }
    /// The client with all of the server's functions: Glewlwyd revokes no token of a client without a secret.
    public var client: String { self == .glewlwyd ? "service" : "program" }
    /// The client's secret.
    public var secret: String? { self == .glewlwyd ? OAuthServer.secret : nil }

    /// Why it is unavailable on this machine; nil if it is available.
    private var obstacle: String? {
      let script = self == .glewlwyd ? "import werkzeug" : "import \(rawValue), flask"
      guard case .some(0) = try? Shell.run(["/usr/bin/python3", "-c", script]).status else {
        return "not installed: \(script), for /usr/bin/python3"
      }
      return self == .glewlwyd && access("/usr/bin/glewlwyd", X_OK) != 0 ? "glewlwyd is not installed" : nil
    }
  }

  /// The kind of server.
  public let kind: Kind
  /// The issuer that it reports.
  public let issuer: String
  /// Its address: `http://127.0.0.1:PORT`.
  public let place: String
  private let process: Process
  private let input = Pipe()
  private let folder: TestFolder

  /// The secret of the client `service`; the client `program` has none.
  public static let secret = "a-secret_of.the~service"
  /// The searchable prefix of each token of Authlib's server.
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

  /// A failed command.
  public struct Failed: Error { let what: String }

  /// Ends it, so that nothing answers at its port.
  public func stop() {
    kill(process.processIdentifier, SIGKILL)
    eventually("the server ends") { !process.isRunning }
  }

  /// Acts as the person or the test at the server, and returns counts of its requests.
  @discardableResult
  public func control(_ word: String, _ parameters: [String: String] = [:]) throws -> [String: Int] {
    let form = parameters.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }
    let answer = try curl(["-X", "POST", "-d", form.joined(separator: "&"), "\(place)/control/\(word)"])
    return try JSONDecoder().decode([String: Int].self, from: Data(answer.utf8))
  }

  /// Answers the next request, or the next whose path ends with `at`, in the server's place.
  ///
  /// - Parameters:
  ///   - copies: how often the body is sent; 0 for endlessly.
  ///   - drip: seconds before each of its bytes.
  ///   - to: the redirect's target.
  public func fault(
    _ status: Int, _ body: String = "", copies: Int = 1, drip: Double = 0, to: String = "", at: String = "", times: Int = 1
  ) throws {
    try control(
      "fault",
      [
        "status": "\(status)", "body": body, "copies": "\(copies)", "drip": "\(drip)", "to": to, "at": at, "times": "\(times)",
      ])
  }

  /// Delays the next answer to a request whose path ends with `at` until ``letGo()``, after the server has acted on it.
  public func hold(at: String) throws { try control("hold", ["at": at]) }

  /// Releases the held answer.
  public func letGo() throws { try control("go") }

  /// Whether the server accepts `token`.
  public func takes(_ token: String) throws -> Bool {
    try curl(["-H", "Authorization: Bearer \(token)", "\(place)/me"]) == "yes"
  }

  /// Loads a page as a browser does, following redirects.
  @discardableResult
  public func browse(_ url: String) throws -> String { try curl(["-L", url]) }

  /// The same without a thread of Swift's pool, which the redirect's target may need.
  @discardableResult
  public func visit(_ url: String) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { [self] in continuation.resume(with: Result { try browse(url) }) }
    }
  }

  /// The redirect's target of the page at `url`.
  public func destination(of url: String) throws -> String { try curl(["-o", "/dev/null", "-w", "%{redirect_url}", url]) }

  private func curl(_ words: [String]) throws -> String {
    try Shell.run(["/usr/bin/curl", "-s", "--noproxy", "*", "--max-time", "300"] + words).output
  }
}

/// Programs that are awaited. Not Foundation's `Process`, whose wait runs the thread's run loop, and sometimes did not
/// return with several waiting threads.
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
