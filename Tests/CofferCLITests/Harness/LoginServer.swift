import CofferTestSupport
import Foundation
import Testing

/// A server of OpenSSH's on this machine, with a host key and a list of keys of its own. known_hosts has its key.
final class LoginServer {
  private let home: Home
  private let server: Child
  private let folder: String
  let port: String

  static let user = String(cString: getpwuid(geteuid()).pointee.pw_name)
  private static let sshd = "/usr/sbin/sshd", python = "/usr/bin/python3"

  /// sshd takes no port that the system chooses, so this hands it each connection.
  private static let listener = """
    import socket, subprocess, sys
    listening = socket.create_server(("127.0.0.1", 0))
    open(sys.argv[1] + ".new", "w").write(str(listening.getsockname()[1]))
    __import__("os").rename(sys.argv[1] + ".new", sys.argv[1])
    while True:
      with listening.accept()[0] as connection:
        subprocess.Popen(sys.argv[2:], stdin=connection, stdout=connection)
    """

  private static func requirePrograms() throws {
    for program in [sshd, python] where access(program, X_OK) != 0 { try Test.skip(without: program) }
  }

  /// - Throws: skips the test without its programs.
  init(_ home: Home) throws {
    try Self.requirePrograms()
    // As root it wants this folder.
    if geteuid() == 0 { try FileManager.default.createDirectory(atPath: "/run/sshd", withIntermediateDirectories: true) }
    (self.home, folder) = (home, UUID().uuidString)
    let path = "\(home.path)/\(folder)"
    let settings = try home.file(
      "\(folder)/settings",
      """
      HostKey \(path)/host
      AuthorizedKeysFile \(path)/keys
      PidFile none
      StrictModes no
      UsePAM no
      PasswordAuthentication no

      """)
    let made = try #require(try home.program(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path + "/host"]))
    try #require(made.status == 0, "\(made.err)")
    let null = (path: "/dev/null", flags: O_RDWR)
    server = try Child(
      ["-c", Self.listener, path + "/port", Self.sshd, "-i", "-f", settings, "-E", path + "/log"],
      environment: home.environment, opening: [0: null, 1: null, 2: null], program: Self.python)
    eventually("it listens") { access(path + "/port", F_OK) == 0 }
    port = try String(contentsOfFile: path + "/port", encoding: .utf8)
    let known = home.exists(".ssh/known_hosts") ? try home.content(".ssh/known_hosts") : ""
    _ = try home.file(".ssh/known_hosts", "\(known)\(name) \(home.content("\(folder)/host.pub"))")
  }

  deinit {
    kill(server.id, SIGTERM)
    waitpid(server.id, nil, 0)
  }

  /// As known_hosts has it.
  var name: String { "[127.0.0.1]:\(port)" }

  /// The rule of a login here.
  var rule: String { "\(Self.user)@\(name)" }

  func letIn(_ publicLines: String...) throws { _ = try home.file("\(folder)/keys", publicLines.joined(separator: "\n") + "\n") }

  /// The words of a login with ssh, without a question and without settings of the user's.
  func ssh(_ options: String...) -> [String] {
    ["ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "UserKnownHostsFile=\(home.path)/.ssh/known_hosts"] + options
      + ["-p", port, "\(Self.user)@127.0.0.1"]
  }

  func fingerprint() throws -> String {
    let shown = try #require(try home.program(["ssh-keygen", "-l", "-f", "\(home.path)/\(folder)/host.pub"]))
    return String(try #require(shown.out.split(separator: " ").dropFirst().first))
  }
}
