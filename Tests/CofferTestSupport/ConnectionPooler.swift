internal import Foundation
internal import Synchronization
import Testing

/// PgBouncer before a server, which shares few connections among many clients.
public final class ConnectionPooler: Sendable {
  /// The number in its socket's name, which is next to the server's.
  public let port: Int
  /// The shell above it, which ends it once nobody holds the shell's input.
  private let running: DatabaseServer.Running

  private static func installed() throws -> String {
    let path = "/usr/sbin/pgbouncer"
    guard access(path, X_OK) == 0 else { try Test.skip(without: "pgbouncer") }
    return path
  }

  /// Skips the test if PgBouncer is not installed.
  ///
  /// - Parameters:
  ///   - mode: how long a client keeps a connection: `session`, `transaction` or `statement`.
  ///   - settings: further lines of its file.
  public init(before server: DatabaseServer, mode: String, settings: [String] = []) throws {
    let path = try Self.installed()
    port = DatabaseServer.ports.add(1, ordering: .relaxed).oldValue
    let file = "\(server.folder)/pgbouncer-\(port)"
    let lines =
      [
        "[databases]", "* = host=\(server.folder) port=\(server.port) user=coffer", "[pgbouncer]", "listen_port = \(port)",
        "listen_addr =", "unix_socket_dir = \(server.folder)", "unix_socket_mode = 0777", "auth_type = any",
        "pool_mode = \(mode)",
      ] + settings
    try lines.joined(separator: "\n").appending("\n").write(toFile: file, atomically: false, encoding: .utf8)
    chmod(file, 0o644)
    running = try DatabaseServer.shell(
      // Not wait(1), which may sleep on if the pooler has already ended, and would hold the tests' output open.
      "exec >/dev/null 2>&1; file=$1; shift; \"$@\" \"$file\" </dev/null & read how; kill -KILL $!", [file, path])
    let socket = "\(server.folder)/.s.PGSQL.\(port)"
    eventually("the pooler listens") { SocketProxy.isListening(socket) }
  }
}
