import CofferTestSupport
import Foundation
import Testing

/// A home with keys, and `ssh run` beside it.
final class FaceHome {
  let home: Home
  private var face: Child?

  private static func requirePrograms() throws {
    for program in ["/usr/bin/ssh-keygen", "/usr/bin/ssh-add"] where access(program, X_OK) != 0 {
      try Test.skip(without: program)
    }
  }

  /// - Parameter keys: the words of `ssh new` for each.
  init(_ keys: String...) throws {
    try Self.requirePrograms()
    home = try Home.withVault()
    home.environment["SSH_AUTH_SOCK"] = home.path + "/run/ssh.sock"
    for key in keys { try make(key) }
  }

  /// - Parameter key: the words of `ssh new`. The public half is in the file NAME.pub.
  func make(_ key: String) throws {
    let made = try home.coffer("ssh new \(key)")
    try #require(made.status == 0, "\(made.err)")
    _ = try home.file("\(key.prefix { $0 != " " }).pub", made.out)
  }

  deinit { if face != nil { _ = try? end() } }

  func child(_ program: String, _ words: [String]) throws -> Child {
    try Child(
      words, environment: home.environment,
      opening: [0: ("/dev/null", O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: ("/dev/null", O_WRONLY)], program: program)
  }

  func start(_ words: String = "") throws { try start(Home.coffer, ["ssh", "run"] + Home.words(words)) }
  func start(_ program: String, _ words: [String]) throws {
    face = try child(program, words)
    eventually("it listens") { SocketProxy.isListening(home.path + "/run/ssh.sock") }
  }

  func end() throws -> Int32 {
    let face = try #require(face)
    self.face = nil
    kill(face.id, SIGTERM)
    return try face.wait()
  }

  // Signatures of nothing.

  private func words(_ key: String, _ namespace: String) -> [String] {
    ["/usr/bin/ssh-keygen", "-q", "-Y", "sign", "-f", "\(home.path)/\(key).pub", "-n", namespace]
  }

  /// Its status.
  func sign(_ key: String, _ namespace: String = "file") throws -> Int32 {
    try #require(try home.program(words(key, namespace))).status
  }
  func signing(_ key: String) throws -> Child {
    let words = words(key, "file")
    return try child(words[0], Array(words.dropFirst()))
  }
  /// The same for a shell.
  func line(_ key: String) -> String { words(key, "file").joined(separator: " ") + " </dev/null >/dev/null" }
  func shell(_ line: String, at terminal: PseudoTerminal) throws -> Child {
    guard let shell = try terminal.program(["bash", "-c", line], in: home) else { try Test.skip(without: "bash") }
    return shell
  }
}
