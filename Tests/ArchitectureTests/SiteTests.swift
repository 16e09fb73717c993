import CofferTestSupport
import Foundation
import Testing

/// The pages that `.ci/docs` built, in a browser.
@Suite(.serialized, .tags(.process, .slow), .wholeRun)
final class SiteTests {
  private static let site = Package.root.appending(path: ".build/documentation/pages")
  private let folder = FileManager.default.temporaryDirectory.appending(path: "coffer-site-\(UUID().uuidString)")
  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Prints its port, and the status, type and path of each request. A script in the pages reports what does not load or decode.
  private static let server = """
    import http.server, os, sys
    class Handler(http.server.SimpleHTTPRequestHandler):
      def do_GET(self):
        file = self.translate_path(self.path)
        if os.path.isdir(file):
          file += '/index.html'
        status, body = (200, open(file, 'rb').read()) if os.path.isfile(file) else (404, b'')
        sys.stdout.write(f'{status} {self.guess_type(file)} {self.path}\\n')
        sys.stdout.flush()
        if file.endswith('.html'):
          body += b"<script>addEventListener('error', e => console.error('not shown:', e.target.src), true)</script>"
        self.send_response(status)
        self.send_header('Content-Type', self.guess_type(file))
        self.end_headers()
        self.wfile.write(body)
      def log_message(self, *words): pass
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
    """

  private func start(_ command: [String], in folder: URL, output: Any) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    process.currentDirectoryURL = folder
    process.environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.folder.path(), "LC_ALL": "C.UTF-8"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  private func show(_ page: String) throws -> (dom: String, console: String, requests: [String]) {
    let log = Pipe()
    let server = try start(["python3", "-c", Self.server], in: Self.site, output: log)
    let port = String(decoding: log.fileHandleForReading.availableData, as: UTF8.self).filter(\.isNumber)
    // A window so high that no image waits until it is scrolled to.
    let options = [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,20000",
      "--user-data-dir=profile", "--enable-logging=stderr", "--dump-dom", "--virtual-time-budget=10000",
    ]
    let shell = ["sh", "-c", "exec timeout -s KILL 120 chromium \"$@\" >dom 2>console", "sh"]
    let browser = try start(shell + options + ["http://127.0.0.1:\(port)/\(page)"], in: folder, output: FileHandle.nullDevice)
    browser.waitUntilExit()
    // Threads of the test runner block most signals, which children inherit.
    kill(server.processIdentifier, SIGKILL)
    let requests = String(decoding: try log.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    let printed = try ["dom", "console"].map { String(decoding: try Data(contentsOf: folder.appending(path: $0)), as: UTF8.self) }
    return (printed[0], printed[1], requests.split(separator: "\n").map(String.init))
  }

  @Test(arguments: [
    "", "documentation/coffer/commandline", "documentation/coffer/commandlinecare", "documentation/coffer/blocking",
    "documentation/coffer/threatmodel", "documentation/coffer/session", "documentation/coffervault/unlockedvault",
    "documentation/cofferstorage/storagerouter", "documentation/coffervalues/persistedvalues", "documentation/coffer/firstsecret",
    "documentation/coffertesting", "documentation/cofferconfiguration/cofferprovider",
    "documentation/cofferplatform/storeerror/kind-swift.enum",
  ])
  func `a page is shown without an error, with its images, and its links lead to pages and headings`(page: String) throws {
    let root = Self.site.path(percentEncoded: false), files = FileManager.default
    guard files.fileExists(atPath: root + "/index.html") else { try Test.skip("the documentation is not built: .ci/docs") }
    guard (["/usr/bin/chromium", "/usr/bin/python3"] as [String]).allSatisfy({ access($0, X_OK) == 0 }) else {
      try Test.skip(without: "chromium")
    }
    let (dom, console, requests) = try show(page)
    guard !dom.isEmpty else { try Test.skip(without: "a chromium that runs here") }
    #expect(console.split(separator: "\n").filter { $0.contains(":CONSOLE:") } == [])
    #expect(requests.filter { !$0.hasPrefix("200 ") } == [])

    // The root leads to the landing page.
    let name = page.isEmpty ? "documentation/coffer" : page
    let content = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: "\(root)/data/\(name).json")))
    let parts = try #require(content as? [String: Any])
    let title = try #require((parts["metadata"] as? [String: Any])?["title"] as? String)
    let headings = dom.matches(of: /(?s)<h1[^>]*class="title[^"]*"[^>]*>(.*?)<\/h1>/)
      .map { String($0.1).replacing(/<[^>]*>/, with: "").trimmingCharacters(in: .whitespacesAndNewlines) }
    #expect(headings == [title])

    let images = dom.matches(of: /<img [^>]*?src="([^"]*)"/).map { String($0.1) }
    let references = try #require(parts["references"] as? [String: [String: Any]])
    #expect(images.count == references.values.filter { $0["type"] as? String == "image" }.count)
    for image in images { #expect(requests.contains("200 image/svg+xml \(image)"), "\(image)") }

    let anchors = Set(dom.matches(of: /\bid="([^"]*)"/).map { String($0.1) })
    let links = dom.matches(of: /<a [^>]*?href="([^"]*)"/).map { String($0.1) }.filter { !$0.hasPrefix("https://") }
    #expect(links.count > 20)
    for link in links {
      let halves = (link.removingPercentEncoding ?? link).split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
      let path = halves[0].hasSuffix("/") ? halves[0].dropLast() : halves[0]
      #expect(path.isEmpty || files.fileExists(atPath: "\(root)/data\(path).json"), "\(link)")
      guard halves.count == 2, !halves[1].isEmpty, path.isEmpty || path == "/\(name)" else { continue }
      #expect(anchors.contains(String(halves[1])), "\(link)")
    }
  }
}
