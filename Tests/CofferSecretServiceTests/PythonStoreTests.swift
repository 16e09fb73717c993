import CofferTestSupport
import Foundation
import Testing

@testable import CofferSecretService

/// Programs of others from PyPI that read secrets from any Secret Service, unmodified.
@Suite(.tags(.process), .wholeRun) struct PythonStoreTests {
  private func run(
    _ words: [String], on service: TestService, input: String = "", at folder: String? = nil
  ) throws -> (status: Int32, text: String) {
    let process = Process(), output = Pipe(), standardInput = Pipe()
    process.executableURL = URL(filePath: words[0])
    process.arguments = Array(words.dropFirst())
    let home = service.bus.folder.path.string
    process.currentDirectoryURL = URL(filePath: folder ?? home)
    process.environment = [
      "PATH": "/usr/bin:/bin", "HOME": home, "DBUS_SESSION_BUS_ADDRESS": service.bus.address,
      // Where .ci/clients keeps them.
      "PYTHONPATH": "/usr/local/lib/coffer-tests",
    ]
    (process.standardInput, process.standardOutput, process.standardError) = (standardInput, output, output)
    try process.run()
    try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try standardInput.fileHandleForWriting.close()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }

  private func python(_ module: String, _ program: String, on service: TestService) throws -> String {
    guard try run(["/usr/bin/python3", "-c", "import \(module)"], on: service).status == 0 else {
      try Test.skip(without: "\(module), for /usr/bin/python3")
    }
    let done = try run(["/usr/bin/python3", "-c", program], on: service)
    #expect(done.status == 0, "\(done.text)")
    return done.text
  }

  private func store(_ secret: String, _ attributes: [String], on service: TestService) throws {
    guard access("/usr/bin/secret-tool", X_OK) == 0 else { try Test.skip(without: "secret-tool") }
    let stored = try run(["/usr/bin/secret-tool", "store", "--label=test"] + attributes, on: service, input: secret)
    #expect(stored.status == 0, "\(stored.text)")
  }

  @Test func `secretspec resolves a secret of a project from the keyring`() throws {
    let service = try TestService()
    try store("postgres://x", ["service", "secretspec/demo/default/DATABASE_URL", "username", NSUserName()], on: service)
    let project = """
      [project]
      name = "demo"
      revision = "1.0"
      [profiles.default]
      DATABASE_URL = { description = "db", required = true }
      """
    try Data(project.utf8).write(to: URL(filePath: service.bus.folder.path.appending("secretspec.toml").string))
    let text = try python(
      "secretspec",
      """
      from secretspec import SecretSpec
      found = SecretSpec.builder().with_provider("keyring://").with_profile("default").with_reason("test").load()
      print("got", found.secrets["DATABASE_URL"].get)
      """, on: service)
    #expect(text.split(separator: "\n").contains("got postgres://x"), "\(text)")
  }

  @Test func `nono-py's proxy puts a key from the keyring into a request that has none`() throws {
    let service = try TestService()
    try store("sk-real", ["service", "nono", "username", "openai-key"], on: service)
    let text = try python(
      "nono_py",
      """
      import http.server, threading, urllib.request
      from nono_py import ProxyConfig, RouteConfig, start_proxy
      class Upstream(http.server.BaseHTTPRequestHandler):
          def do_GET(self):
              print("got", self.headers.get("Authorization"))
              self.send_response(200)
              self.end_headers()
          def log_message(self, *words): pass
      server = http.server.HTTPServer(("127.0.0.1", 0), Upstream)
      threading.Thread(target=server.serve_forever, daemon=True).start()
      route = RouteConfig(prefix="/openai", upstream=f"http://127.0.0.1:{server.server_port}", credential_key="openai-key")
      proxy = start_proxy(ProxyConfig(allowed_hosts=["127.0.0.1"], routes=[route]))
      token = proxy.env_vars()["NONO_PROXY_TOKEN"]
      request = urllib.request.Request(f"http://127.0.0.1:{proxy.port}/openai/", headers={"Authorization": "Bearer " + token})
      urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60)
      proxy.shutdown()
      """, on: service)
    #expect(text.split(separator: "\n").contains("got Bearer sk-real"), "\(text)")
  }
}
