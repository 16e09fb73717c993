import CofferTestSupport
import Foundation
import Testing

/// A local file server for clients with one of the credentials: `user:password`, or a whole header.
final class PasswordServer {
  private let home: Home
  private let server: Child
  private let name: String
  let port: String

  /// - Parameter certificate: a file with a key and its certificate; nil for plain HTTP.
  /// - Returns: nil without python3.
  init(_ home: Home, letsIn credentials: [String], certificate: String? = nil) throws {
    try Self.needPython()
    self.home = home
    name = UUID().uuidString
    let files = try [
      home.file("\(name)/server.py", Self.program), home.file("\(name)/passwords", credentials.joined(separator: "\n")),
    ]
    _ = try home.file("www/index.html", "root\n")
    let null = (path: "/dev/null", flags: O_RDWR)
    let port = "\(home.path)/\(name)/port"
    server = try Child(
      [files[0], home.path + "/www", files[1], port] + (certificate.map { [$0] } ?? []), environment: home.environment,
      opening: [0: null, 1: null, 2: null], program: "/usr/bin/python3")
    #expect(eventually { access(port, F_OK) == 0 })
    self.port = try String(contentsOfFile: port, encoding: .utf8)
  }

  private static func needPython() throws {
    guard access("/usr/bin/python3", X_OK) == 0 else { try Test.skip(without: "python3") }
  }

  deinit {
    kill(server.id, SIGKILL)
    waitpid(server.id, nil, 0)
  }

  var url: String { "http://127.0.0.1:\(port)" }

  /// The requested paths, each followed by `in` or `out`.
  func asked() throws -> [String] {
    guard home.exists("\(name)/port.log") else { return [] }
    return try home.content("\(name)/port.log").split(separator: "\n").map(String.init)
  }

  private static let program = """
    import base64, http.server, os, ssl, sys
    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def do_GET(self):
            wanted = open(sys.argv[2]).read().split("\\n")
            given = self.headers.get("Authorization") or ""
            if given.startswith("Basic "):
                given = base64.b64decode(given[6:]).decode()
            with open(sys.argv[3] + ".log", "a") as log:
                log.write(self.path + (" in" if given in wanted else " out") + "\\n")
            if given in wanted:
                return super().do_GET()
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="test"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        def log_message(self, *words): pass
    os.chdir(sys.argv[1])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if len(sys.argv) > 4:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[4])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    open(sys.argv[3] + ".new", "w").write(str(server.server_port))
    os.rename(sys.argv[3] + ".new", sys.argv[3])
    server.serve_forever()
    """
}

extension Home {
  /// The path of a program on the test runner's PATH; skips the test if there is none.
  func client(_ name: String) throws -> String {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
    let found = folders.map { folder in "\(folder)/\(name)" }.first { (path: String) in access(path, X_OK) == 0 }
    guard let found else { try Test.skip(without: name) }
    return found
  }
}
