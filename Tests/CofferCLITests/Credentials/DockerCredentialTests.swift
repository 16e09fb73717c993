import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct DockerCredentialTests {
  private static let server = "https://index.docker.io/v1/"

  @Test
  func `store, get, list and erase as docker's client calls them`() throws {
    let home = try Home.withVault()
    try home.transcript("helper docker list", out: "{}\n")
    try home.transcript("helper docker get", in: Self.server, out: "credentials not found in native keychain\n", exit: 1)
    try home.transcript(
      "helper docker store", in: #"{"ServerURL":"\#(Self.server)","Username":"ada","Secret":"hun\"ter2"}"# + "\n")
    try home.transcript(
      "helper docker get", in: Self.server + "\n",
      out: #"{"ServerURL":"https://index.docker.io/v1/","Username":"ada","Secret":"hun\"ter2"}"# + "\n")
    try home.transcript("helper docker store", in: #"{"ServerURL":"ghcr.io","Username":"<token>","Secret":"t"}"#)
    try home.transcript("vault set https://ghcr.io ada", in: "git's own")
    try home.transcript(
      "helper docker list", out: #"{"ghcr.io":"<token>","https://index.docker.io/v1/":"ada"}"# + "\n")
    try home.transcript("helper docker store", in: #"{"ServerURL":"ghcr.io","Username":"bob","Secret":"u"}"#)
    try home.transcript(
      "helper docker get", in: "ghcr.io", out: #"{"ServerURL":"ghcr.io","Username":"bob","Secret":"u"}"# + "\n")
    #expect(try home.listed("vault list docker:ghcr.io") == ["docker:ghcr.io/bob Docker credentials of ghcr.io"])
    try home.transcript("helper docker erase", in: "ghcr.io\n")
    try home.transcript("helper docker erase", in: "ghcr.io", out: "credentials not found in native keychain\n", exit: 1)
    try home.transcript("vault get https://ghcr.io", out: "git's own")
    try home.transcript("helper docker version", out: "docker-credential-coffer (coffer) v0.1.0\n")
  }

  @Test
  func `errors are on standard output, with the texts that clients look for`() throws {
    let home = try Home.withVault()
    for (line, input, text) in [
      ("store", #"{"ServerURL":"","Username":"a","Secret":"b"}"#, "no credentials server URL\n"),
      ("store", #"{"Username":"a","Secret":"b"}"#, "no credentials server URL\n"),
      ("store", #"{"ServerURL":"x","Secret":"b"}"#, "no credentials username\n"),
      ("get", "\n", "no credentials server URL\n"), ("erase", " \n", "no credentials server URL\n"),
      ("frobnicate", "", "docker-credential-coffer: unknown action: frobnicate\n"),
    ] {
      try home.transcript("helper docker \(line)", in: input, out: text, exit: 1)
    }
    try home.transcript(
      "helper docker", out: "Usage: docker-credential-coffer <store|get|erase|list|version>\n", exit: 1)
    for input in [
      "", "hunter2", #"{"ServerURL":"x","Extra":}"#, #"{"ServerURL":"x","Extra":[}"#,
      #"{"ServerURL":"x","Username":"hunter2","Secret":"b""#,
    ] {
      let answer = try home.coffer("helper docker store", in: Data(input.utf8))
      #expect(answer.status == 1 && answer.out.contains("line 1: ") && !answer.out.contains("hunter2") && answer.err.isEmpty)
    }
    #expect(try home.coffer("vault set docker:raw ada --exact", in: Data([0xFF, 0x61])).status == 0)
    let raw = try home.coffer("helper docker get", in: Data("raw".utf8))
    #expect(
      raw.status == 1 && raw.out.contains("the value is not text") && !raw.out.contains("base64") && raw.err.isEmpty, "\(raw)")
    home.locked()
    let locked = try home.coffer("helper docker get", in: Data("x".utf8))
    #expect(locked.status == 1 && locked.out.contains("nothing to unlock it with") && locked.err.isEmpty)
  }

  @Test
  func `a request is read as docker's own helpers read it: names in any case, others passed over`() throws {
    let home = try Home.withVault()
    try home.transcript(
      "helper docker store",
      in: #"{"Extra":{"a":[1,-2.5e3,"}]",null,true]},"serverurl":"ghcr.io","USERNAME":"ada","secret":"s","last":[[],{}]}"#)
    try home.transcript("vault get docker:ghcr.io ada", out: "s")
    try home.withHelpers()
    for word in ["-v", "--version", "version"] {
      #expect(try home.program(["docker-credential-coffer", word])?.out == "docker-credential-coffer (coffer) v0.1.0\n")
    }
    let bare = try #require(try home.program(["docker-credential-coffer"]))
    #expect(bare.status == 1 && bare.out.hasPrefix("Usage: ") && bare.err.isEmpty)
  }

  @Test
  func `under its own name, for the installed docker client too`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    let stored = try #require(
      try home.program(
        ["docker-credential-coffer", "store"], in: #"{"ServerURL":"registry.example.com","Username":"ada","Secret":"s"}"#))
    #expect(stored.status == 0 && stored.out.isEmpty && stored.err.isEmpty, "\(stored)")
    let git = try #require(try home.program(["git-credential-coffer", "capability"]))
    #expect(git.out.hasPrefix("version 0\n"))
    _ = try home.file("docker/config.json", #"{"auths":{"registry.example.com":{}},"credsStore":"coffer"}"#)
    guard let out = try home.program(["docker", "--config", home.path + "/docker", "logout", "registry.example.com"]) else {
      try Test.skip("docker's client is not there")
    }
    #expect(out.status == 0 && !out.err.contains("WARNING"), "\(out)")
    try home.transcript("helper docker list", out: "{}\n")
  }

  @Test
  func `docker login against a registry, with no engine: the password goes to the vault, and only if the registry takes it`()
    throws
  {
    let home = try Home.withVault()
    try home.withHelpers()
    guard access("/usr/bin/python3", X_OK) == 0, try home.program(["docker", "--version"]) != nil else {
      try Test.skip("docker's client or python3 is not there")
    }
    // A login asks a registry only whether /v2/ opens.
    _ = try home.file("registry/v2/index.html", "{}")
    _ = try home.file("docker/config.json", #"{"credsStore":"coffer"}"#)
    let (script, password) = (try home.file("server.py", GitCredentialTests.server), try home.file("password", "ada:hunter2"))
    let null = (path: "/dev/null", flags: O_RDWR)
    let server = try Child(
      [script, home.path + "/registry", password, home.path + "/port"], environment: home.environment,
      opening: [0: null, 1: null, 2: null], program: "/usr/bin/python3")
    defer {
      kill(server.id, SIGKILL)
      waitpid(server.id, nil, 0)
    }
    let deadline = Date() + 60
    while !home.exists("port"), Date() < deadline { usleep(10_000) }
    let registry = "127.0.0.1:\(try home.content("port"))"
    let docker = { (words: [String], input: String) in
      try #require(try home.program(["docker", "--config", home.path + "/docker"] + words, in: input))
    }
    let login = ["login", "-u", "ada", "--password-stdin", registry]
    #expect(try docker(login, "wrong").status != 0)
    try home.transcript("helper docker list", out: "{}\n")
    let done = try docker(login, "hunter2")
    #expect(done.status == 0 && done.out.contains("Login Succeeded"), "\(done)")
    try home.transcript("helper docker list", out: #"{"\#(registry)":"ada"}"# + "\n")
    try home.transcript("vault get docker:\(registry) ada", out: "hunter2")
    // docker itself records the login, without the password.
    #expect(try !home.content("docker/config.json").contains("hunter2"))
    #expect(try docker(["logout", registry], "").status == 0)
    try home.transcript("helper docker list", out: "{}\n")
  }
}
