import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct RealClientFaceTests {
  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.withHelpers()
    home.environment["HOME"] = home.path
    return home
  }

  private func run(_ home: Home, _ words: [String], with variables: [String: String] = [:]) throws -> (
    status: Int32, out: String, err: String
  ) { try #require(try home.program(words, with: variables), "\(words[0])") }

  @Test
  func `aws takes the key from its credential_process`() throws {
    let home = try home()
    let aws = try home.client("aws")
    try home.transcript("vault set aws work --attribute aws_access_key_id=AKIAEXAMPLE --expires 1h", in: "secret-of-aws")
    let config = try home.file(
      "aws/config", "[profile work]\nregion = eu-west-1\ncredential_process = \(home.path)/bin/coffer helper aws work\n")
    let answer = try run(
      home, [aws, "configure", "list", "--profile", "work"],
      with: ["AWS_CONFIG_FILE": config, "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"])
    // The second version of aws shows it by another command as well; both list the key's source.
    #expect(answer.status == 0 && answer.out.contains("MPLE") && answer.out.contains("custom-process"), "\(answer)")
    try home.transcript("vault delete aws work --forever --yes -q")
    let gone = try run(
      home, [aws, "configure", "list", "--profile", "work"],
      with: ["AWS_CONFIG_FILE": config, "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"])
    #expect((gone.out + gone.err).contains("no key for this profile"), "\(gone)")
  }

  @Test
  func `kubectl sends the token that its exec plugin gives, and says why where there is none`() throws {
    let home = try home()
    let (kubectl, openssl) = try (home.client("kubectl"), home.client("openssl"))
    let certificate = home.path + "/tls"
    let made = try run(
      home,
      [
        openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", certificate, "-out",
        home.path + "/crt", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
      ])
    try #require(made.status == 0, "\(made.err)")
    _ = try home.file("tls", home.content("tls") + home.content("crt"))
    let server = try PasswordServer(home, letsIn: ["Bearer tok"], certificate: certificate)
    let url = "https://127.0.0.1:\(server.port)"
    // Before 1.22 only the beta existed.
    let minor = try run(home, [kubectl, "version", "--client"]).out.firstMatch(of: /v1\.(\d+)/).flatMap { Int($0.1) } ?? 0
    let config = try home.file(
      "kube",
      """
      apiVersion: v1
      kind: Config
      current-context: c
      contexts: [{name: c, context: {cluster: k, user: ada}}]
      clusters: [{name: k, cluster: {server: "\(url)", insecure-skip-tls-verify: true}}]
      users:
      - name: ada
        user:
          exec:
            apiVersion: client.authentication.k8s.io/\(minor < 22 ? "v1beta1" : "v1")
            command: \(home.path)/bin/coffer
            args: [helper, kubectl]
            interactiveMode: IfAvailable
            provideClusterInfo: true
      """)
    let without = try run(home, [kubectl, "--kubeconfig", config, "get", "--raw", "/"])
    #expect(without.status != 0 && without.err.contains("nobody is logged in"), "\(without)")
    try home.transcript("vault set \(url) ada --expires 1h", in: "tok")
    let answer = try run(home, [kubectl, "--kubeconfig", config, "get", "--raw", "/"])
    #expect(answer.status == 0 && answer.out == "root\n", "\(answer)")
  }

  @Test
  func `ssh-add opens a key with a passphrase, and a wrong one ends it`() throws {
    let home = try home()
    let (add, keygen, agent) = try (home.client("ssh-add"), home.client("ssh-keygen"), home.client("ssh-agent"))
    let key = home.path + "/id"
    try #require(try run(home, [keygen, "-q", "-t", "ed25519", "-a", "1", "-N", "open sesame", "-f", key]).status == 0)
    let asks = ["SSH_ASKPASS": home.path + "/bin/coffer-askpass", "SSH_ASKPASS_REQUIRE": "force"]
    // An agent that ends with its command.
    let added = { try run(home, [agent, "sh", "-c", "\(add) \(key) && \(add) -l"], with: asks) }
    let without = try added()
    #expect(without.status != 0 && without.err.contains("ssh-key:\(key)"), "\(without)")
    try home.transcript("vault set ssh-key:\(key)", in: "open sesame")
    let answer = try added()
    #expect(answer.status == 0 && answer.out.contains("ED25519"), "\(answer)")
    try home.transcript("vault set ssh-key:\(key)", in: "wrong")
    let wrong = try added()
    #expect(wrong.status != 0 && wrong.err.contains("the vault's passphrase for this key was wrong"), "\(wrong)")
  }

  @Test
  func `git asks for user and password by GIT_ASKPASS`() throws {
    let home = try home()
    home.environment["GIT_CONFIG_NOSYSTEM"] = "1"
    let git = try home.client("git")
    let server = try PasswordServer(home, letsIn: ["ada:first"])
    for words in [
      ["init", "-q", "--bare", home.path + "/www/r.git"], ["--git-dir=\(home.path)/www/r.git", "update-server-info"],
    ] {
      try #require(try run(home, [git] + words).status == 0)
    }
    let list = {
      try run(home, [git, "ls-remote", server.url + "/r.git"], with: ["GIT_ASKPASS": home.path + "/bin/coffer-askpass"])
    }
    let without = try list()
    #expect(without.status != 0 && without.err.contains("nobody is logged in"), "\(without)")
    try home.transcript("vault set \(server.url) ada", in: "first")
    let answer = try list()
    #expect(answer.status == 0, "\(answer)")
    try home.transcript("vault set \(server.url) ada", in: "wrong")
    #expect(try list().err.contains("Authentication failed"))
  }

  @Test
  func `cargo logs in, reads an index that asks for a token, and logs out`() throws {
    let home = try home()
    // For rustup, whose toolchains are in another home.
    let own = (ProcessInfo.processInfo.environment["HOME"] ?? "/") + "/.rustup"
    home.environment["RUSTUP_HOME"] = ProcessInfo.processInfo.environment["RUSTUP_HOME"] ?? own
    let cargo = try home.client("cargo")
    let version = try run(home, [cargo, "--version"])
    let numbers = version.out.split { " .".contains($0) }.compactMap { Int($0) }
    guard version.status == 0, numbers.count > 1, (numbers[0], numbers[1]) >= (1, 74) else {
      try Test.skip("cargo is older than 1.74: \(version.out)")
    }
    let server = try PasswordServer(home, letsIn: ["tok-1"])
    _ = try home.file("www/index/config.json", #"{"dl":"\#(server.url)/dl","api":"\#(server.url)","auth-required":true}"#)
    let digest = String(repeating: "0", count: 64)
    _ = try home.file(
      "www/index/he/ll/hello",
      #"{"name":"hello","vers":"1.0.0","deps":[],"cksum":"\#(digest)","features":{},"yanked":false}"# + "\n")
    _ = try home.file(
      ".cargo/config.toml",
      """
      [registries.work]
      index = "sparse+\(server.url)/index/"
      credential-provider = ["cargo-credential-coffer"]
      """)
    let manifest = try home.file(
      "crate/Cargo.toml",
      "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nhello = { version = \"1\", registry = \"work\" }\n"
    )
    _ = try home.file("crate/src/lib.rs", "")
    let lock = {
      try run(home, ["sh", "-c", "cd '\(home.path)/crate' && '\(cargo)' generate-lockfile --manifest-path '\(manifest)'"])
    }
    let without = try lock()
    #expect(without.status != 0 && without.err.contains("no token found"), "\(without)")
    let login = try run(home, ["sh", "-c", "cd '\(home.path)/crate' && echo tok-1 | '\(cargo)' login --registry work"])
    #expect(login.status == 0, "\(login)")
    try home.transcript("vault get cargo-registry:sparse+\(server.url)/index/", out: "tok-1")
    let locked = try lock()
    #expect(try locked.status == 0 && home.content("crate/Cargo.lock").contains("hello"), "\(locked)")
    #expect(try !home.exists(".cargo/credentials.toml") && server.asked().contains("/index/he/ll/hello in"))
    let logout = try run(home, ["sh", "-c", "cd '\(home.path)/crate' && '\(cargo)' logout --registry work"])
    #expect(logout.status == 0, "\(logout)")
    try home.transcript("vault list")
  }

  private func index(_ home: Home) throws {
    let maker = """
      import sys, zipfile
      name = "hello-1.0.dist-info"
      with zipfile.ZipFile(sys.argv[1], "w") as wheel:
          wheel.writestr("hello.py", "")
          wheel.writestr(name + "/METADATA", "Metadata-Version: 2.1\\nName: hello\\nVersion: 1.0\\n")
          wheel.writestr(name + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: a\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
          wheel.writestr(name + "/RECORD", "hello.py,,\\n%s/METADATA,,\\n%s/WHEEL,,\\n%s/RECORD,,\\n" % (name, name, name))
      """
    let wheel = "hello-1.0-py3-none-any.whl"
    _ = try home.file("www/simple/hello/index.html", "<a href=\"\(wheel)\">\(wheel)</a>")
    let made = try run(home, ["/usr/bin/python3", home.file("wheel.py", maker), home.path + "/www/simple/hello/" + wheel])
    try #require(made.status == 0, "\(made.err)")
  }

  private func packages(_ home: Home) throws -> PasswordServer {
    let server = try PasswordServer(home, letsIn: ["ada:hunter2"])
    try index(home)
    try home.transcript("vault set \(server.url) ada", in: "hunter2")
    home.environment.merge(["PIP_CONFIG_FILE": "/dev/null", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CERT": ""]) { $1 }
    return server
  }

  /// Its URLs, without and with the user name.
  private func places(_ server: PasswordServer) -> (plain: String, named: String) {
    let plain = server.url + "/simple/"
    return (plain, plain.replacing("http://", with: "http://ada@"))
  }

  @Test
  func `pip finds the password by the program keyring, with and without a user in the URL`() throws {
    let home = try home()
    let pip = try home.client("pip3")
    let server = try packages(home)
    let (plain, named) = places(server)
    let version = try run(home, [pip, "--version"]).out.firstMatch(of: /pip (\d+)\.(\d+)/)
    let (major, minor) = (version.flatMap { Int($0.1) } ?? 0, version.flatMap { Int($0.2) } ?? 0)
    // The option came with 23.1, and the prompt for a user with 26.
    guard (major, minor) >= (23, 1) else { try Test.skip("pip is older than 23.1") }
    let urls = major < 26 ? [named] : [named, plain]
    for (number, url) in urls.enumerated() {
      let answer = try run(
        home,
        [
          pip, "download", "-q", "--no-input", "--no-deps", "--no-cache-dir", "--keyring-provider", "subprocess", "-d",
          home.path + "/pip\(number)", "--index-url", url, "hello",
        ])
      #expect(answer.status == 0 && home.exists("pip\(number)/hello-1.0-py3-none-any.whl"), "\(answer)")
    }
  }

  @Test
  func `uv finds the password by the program keyring`() throws {
    let home = try home()
    let uv = try home.client("uv")
    let server = try packages(home)
    let (_, named) = places(server)
    let answer = try run(
      home,
      [
        uv, "pip", "install", "-q", "--no-cache", "--target", home.path + "/uv", "--keyring-provider", "subprocess",
        "--python", "/usr/bin/python3", "--index-url", named, "hello",
      ])
    #expect(answer.status == 0 && home.exists("uv/hello.py"), "\(answer)")
  }

  @Test
  func `curl reads the netrc in memory`() throws {
    let home = try home()
    _ = try home.client("curl")
    let server = try packages(home)
    try home.transcript("run --netrc \(server.url) -- curl -sf --netrc-file /proc/self/fd/3 \(server.url)/", out: "root\n")
    try home.transcript("run --netrc \(server.url) -- sh -c 'curl -sf --netrc-file \"$NETRC\" \(server.url)/'", out: "root\n")
  }

  @Test
  func `pip reads the netrc in memory`() throws {
    let home = try home()
    let pip = try home.client("pip3")
    let server = try packages(home)
    let answer = try home.coffer(
      "run --netrc \(server.url) -- '\(pip)' download -q --no-input --no-deps --no-cache-dir -d \(home.path)/pip --index-url \(server.url)/simple/ hello"
    )
    #expect(answer.status == 0 && home.exists("pip/hello-1.0-py3-none-any.whl"), "\(answer.err)")
  }

  @Test
  func `SwiftPM reads the netrc in memory`() throws {
    let home = try home()
    let server = try packages(home)
    let swift = try home.client("swift")
    _ = try home.file(
      "package/Package.swift",
      """
      // swift-tools-version: 5.9
      import PackageDescription
      let package = Package(
        name: "a", dependencies: [.package(id: "mona.list", from: "1.0.0")], targets: [.target(name: "a")])
      """)
    _ = try home.file("package/Sources/a/a.swift")
    _ = try home.file(
      "package/.swiftpm/configuration/registries.json",
      #"{"authentication":{"127.0.0.1:\#(server.port)":{"type":"basic"}},"registries":{"[default]":{"supportsAvailability":false,"#
        + #""url":"\#(server.url)","allowInsecureHTTP":true}},"version":1}"#)
    // The registry lacks this package, and reports that to an admitted client.
    let answer = try home.coffer(
      "run --netrc \(server.url) -- sh -c '\(swift) package --package-path \(home.path)/package --netrc-file \"$NETRC\" resolve'")
    #expect(try server.asked().contains("/mona/list in"), "\(answer.err)")
  }
}
