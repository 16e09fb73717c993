import Foundation

/// A real server of OAuth 2 in a process of its own, made with Authlib, and the person who logs in there.
public final class AuthlibServer: @unchecked Sendable {
  /// Where it listens: `http://127.0.0.1:PORT`.
  public let issuer: String
  private let process: Process
  private let input = Pipe()
  private let folder: TestFolder

  /// The secret of the client `service`; the client `program` has none.
  public static let secret = "a-secret_of.the~service"
  private static let python = "/usr/bin/python3"
  private static let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "../CofferLoginTests/Servers/authlib_server.py").standardized.path()

  /// Why it cannot be had on this machine; nil where it can.
  public static let obstacle: String? = {
    let check = Process()
    check.executableURL = URL(fileURLWithPath: python)
    check.arguments = ["-c", "import authlib, flask"]
    check.standardError = FileHandle.nullDevice
    do { try check.run() } catch { return "there is no \(python)" }
    check.waitUntilExit()
    return check.terminationStatus == 0 ? nil : "python3-authlib and python3-flask are not installed"
  }()

  /// Nil where it cannot be had, which is printed.
  public init?() throws {
    if let obstacle = Self.obstacle {
      print("skipped: \(obstacle)")
      return nil
    }
    folder = try TestFolder("login-server")
    let file = "\(folder.path)/port"
    process = Process()
    process.executableURL = URL(fileURLWithPath: Self.python)
    process.arguments = [Self.source, file]
    process.standardInput = input
    process.standardError = FileHandle.nullDevice
    try process.run()
    var port: String?
    let deadline = Date().addingTimeInterval(60)
    while port == nil, Date() < deadline, process.isRunning {
      usleep(20_000)
      port = try? String(contentsOfFile: file, encoding: .utf8)
    }
    guard let port else { throw Failed(what: "the server did not begin to listen") }
    issuer = "http://127.0.0.1:\(port)"
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.terminate()
  }

  /// It could not be had although all that it needs is there.
  public struct Failed: Error { let what: String }

  /// Ends it, so that nobody answers at its port.
  public func stop() {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Does what a person, or the test, does at the server, and returns how often what was asked of it.
  @discardableResult
  public func control(_ word: String, _ parameters: [String: String] = [:]) throws -> [String: Int] {
    let form = parameters.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }
    let answer = try curl(["-X", "POST", "-d", form.joined(separator: "&"), "\(issuer)/control/\(word)"])
    return try JSONDecoder().decode([String: Int].self, from: Data(answer.utf8))
  }

  /// Whether the server takes `token` as good.
  public func takes(_ token: String) throws -> Bool {
    try curl(["-H", "Authorization: Bearer \(token)", "\(issuer)/me"]) == "yes"
  }

  /// What a browser does with a page: it follows to wherever it is sent.
  @discardableResult
  public func browse(_ url: String) throws -> String { try curl(["-L", url]) }

  private func curl(_ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
    // However busy the machine: a server that is silent for five minutes has hung.
    process.arguments = ["-s", "--noproxy", "*", "--max-time", "300"] + arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }
}
