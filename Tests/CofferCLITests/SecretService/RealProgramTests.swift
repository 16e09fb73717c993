import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process, .slow), .wholeRun) struct RealProgramTests {
  private static let server = """
    import http.server, sys
    class Handler(http.server.BaseHTTPRequestHandler):
      def do_GET(self):
        if self.path == '/':
          open(sys.argv[1], 'a').write(f"{self.headers.get('Cookie')}\\n")
        self.send_response(200)
        self.send_header('Set-Cookie', 'crumb=kept; Max-Age=100000')
        self.end_headers()
        self.wfile.write(b'<p>served</p>')
      def log_message(self, *words): pass
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    open(sys.argv[2], 'w').write(f'http://127.0.0.1:{server.server_port}/')
    server.serve_forever()
    """

  @Test func `Chromium encrypts its cookies by a key that it stores, and reads it when it starts again`() throws {
    let service = try SecretServiceHome()
    let home = service.home
    guard (["/usr/bin/chromium", "/usr/bin/python3"] as [String]).allSatisfy({ access($0, X_OK) == 0 }) else {
      try Test.skip(without: "chromium")
    }
    let (visits, address) = (try home.file("visits"), home.path + "/address")
    let null = [Int32(0): ("/dev/null", O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: ("/dev/null", O_WRONLY)]
    let server = try Child(
      ["-c", Self.server, visits, address], environment: home.environment, opening: null, program: "/usr/bin/python3")
    defer {
      kill(server.id, SIGKILL)
      _ = try? server.wait()
    }
    eventually("the server listens") { (try? home.content("address").hasSuffix("/")) == true }
    let options = [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--password-store=gnome-libsecret",
      "--user-data-dir=\(home.path)/profile", "--dump-dom", "--virtual-time-budget=2000",
    ]
    home.environment["XDG_CONFIG_HOME"] = home.path + "/config"
    for visit in 1...2 {
      let shown = try service.program(["timeout", "120", "chromium"] + options + [home.content("address")])
      guard shown.out.contains("served") else {
        try Test.skip("chromium cannot run here, status \(shown.status)")
      }
      let listed = try home.coffer("vault list secret-service:login").out
      #expect(listed.contains("Chromium Safe Storage") && listed.split(separator: "\n").count == 1, "visit \(visit): \(listed)")
    }
    let sent = try home.content("visits").split(separator: "\n")
    #expect(sent.first == "None" && sent.last == "crumb=kept", "\(sent)")
  }

  @Test func `xdg-desktop-portal hands a program the secret that is kept for it`() throws {
    let service = try SecretServiceHome("", starts: false)
    guard access("/usr/libexec/xdg-desktop-portal", X_OK) == 0 else {
      try Test.skip(without: "xdg-desktop-portal")
    }
    let home = service.home
    home.environment["XDG_DESKTOP_PORTAL_DIR"] = home.path + "/share/xdg-desktop-portal/portals"
    home.environment["XDG_CURRENT_DESKTOP"] = "none"
    home.environment["XDG_RUNTIME_DIR"] = home.path
    try home.transcript("secret-service install --quiet")
    _ = try home.file(
      "share/dbus-1/services/org.freedesktop.portal.Desktop.service",
      "[D-BUS Service]\nName=org.freedesktop.portal.Desktop\nExec=/usr/libexec/xdg-desktop-portal\n")
    try service.startBus()
    try service.start("")
    let script = """
      import gc, os
      from gi.repository import Gio, GLib
      bus = Gio.bus_get_sync(Gio.BusType.SESSION)
      def retrieve():
        end, other = os.pipe()
        files = Gio.UnixFDList.new()
        index = files.append(other)
        os.close(other)
        loop, heard = GLib.MainLoop(), []
        def respond(connection, sender, path, interface, signal, answer):
          heard.append(answer.unpack()[0])
          loop.quit()
        name, path = 'org.freedesktop.portal.Desktop', '/org/freedesktop/portal/desktop'
        told = bus.signal_subscribe(name, 'org.freedesktop.portal.Request', 'Response', None, None, 0, respond)
        bus.call_with_unix_fd_list_sync(
          name, path, 'org.freedesktop.portal.Secret', 'RetrieveSecret', GLib.Variant('(ha{sv})', (index, {})),
          GLib.VariantType('(o)'), 0, 100000, files)
        GLib.timeout_add(100000, loop.quit)
        loop.run()
        bus.signal_unsubscribe(told)
        os.set_blocking(end, False)
        return heard, os.read(end, 4096)
      first, second = retrieve(), retrieve()
      print(first[0], len(first[1]), first == second)
      """
    let said = try service.python(script, needs: ["gi", "gi.repository.GLib"])
    #expect(said == "[0] 64 True\n")
    #expect(try home.coffer("vault list xdg-desktop-portal").out.contains("programs without a sandbox"))
  }

  @Test func `git keeps passwords by its helper for libsecret, built from what Debian has`() throws {
    let service = try SecretServiceHome()
    let home = service.home
    let source = "/usr/share/doc/git/contrib/credential/libsecret/git-credential-libsecret.c"
    let libraries = "$(pkg-config --cflags --libs libsecret-1 glib-2.0)"
    let needs = "pkg-config --exists libsecret-1 glib-2.0 && command -v cc"
    guard access(source, R_OK) == 0, try service.program(["sh", "-c", needs]).status == 0 else {
      try Test.skip(without: "git's contrib folder, libsecret-1-dev or a compiler")
    }
    let helper = home.path + "/git-credential-libsecret"
    let built = try service.program(["sh", "-c", "cc -w -o \(helper) \(source) \(libraries)"])
    try #require(built.status == 0, "\(built.err)")
    home.environment["GIT_CONFIG_GLOBAL"] = try home.file("gitconfig", "[credential]\n\thelper = \(helper)\n")
    home.environment["GIT_TERMINAL_PROMPT"] = "0"
    let place = "protocol=https\nhost=example.com\n"
    func git(_ verb: String, _ more: String = "") throws -> (status: Int32, out: String, err: String) {
      try service.program(["git", "credential", verb], in: place + more + "\n")
    }
    let known = "username=ada\npassword=hunter2\n"
    #expect(try git("approve", known).status == 0)
    #expect(try git("fill").out == place + known)
    #expect(try home.coffer("vault list secret-service:login").out.contains("Git: https://example.com"))
    #expect(try git("reject", known).status == 0)
    let none = try git("fill")
    #expect(none.status == 128 && none.out.isEmpty, "\(none)")
  }

  @Test func `docker keeps registry logins by its helper for the Secret Service`() throws {
    let service = try SecretServiceHome()
    func docker(_ verb: String, _ input: String) throws -> (status: Int32, out: String, err: String) {
      try service.program(["docker-credential-secretservice", verb], in: input)
    }
    let login = #"{"ServerURL":"https://registry.example","Username":"ada","Secret":"hunter2"}"#
    let stored = try docker("store", login)
    #expect(stored.status == 0, "\(stored)")
    let found = try docker("get", "https://registry.example")
    #expect(found.status == 0 && found.out.contains(#""Secret":"hunter2""#), "\(found)")
    #expect(found.out.contains(#""Username":"ada""#), "\(found)")
    #expect(try docker("list", "").out == #"{"https://registry.example":"ada"}"# + "\n")
    #expect(try docker("erase", "https://registry.example").status == 0)
    let none = try docker("get", "https://registry.example")
    #expect(none.status == 1 && none.out.contains("credentials not found"), "\(none)")
  }
}
