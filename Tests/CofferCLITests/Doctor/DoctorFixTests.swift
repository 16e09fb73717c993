import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .wholeRun)
struct DoctorFixTests {
  private func home() throws -> Home {
    let home = try Home.sound()
    try home.withHelpers()
    home.environment["HOME"] = home.path
    return home
  }

  private static let git = "https://ada:hunter2@example.com\n# mine\nhttps://bob:s%40fe@git.example\n"

  @Test
  func `git's entries move, git asks coffer from then on, and the old bytes are overwritten`() throws {
    let home = try home()
    let file = try home.file(".git-credentials", Self.git)
    let old = open(file, O_RDONLY)
    defer { close(old) }
    let answer = try home.coffer("doctor --fix --yes")
    #expect(answer.status == 0, "\(answer.err)")
    #expect(answer.out.contains("moved  https://example.com/ada") && !answer.out.contains("hunter2"))
    #expect(try home.content(".git-credentials") == "# mine\n" && home.mode(".git-credentials") == 0o600)
    try home.transcript("vault get https://example.com ada", out: "hunter2")
    try home.transcript("vault get https://git.example bob", out: "s@fe")
    var bytes = [UInt8](repeating: 1, count: 200)
    #expect(read(old, &bytes, 200) == Self.git.utf8.count && bytes.prefix(Self.git.utf8.count).allSatisfy { $0 == 0 })
    let again = try home.coffer("doctor --fix --yes")
    #expect(again.status == 0 && again.out.isEmpty && again.err.contains("there are no plain-text secrets to move"))
    guard let set = try home.program(["git", "config", "--global", "--get-all", "credential.helper"]) else {
      return Test.skipPart(without: "git")
    }
    #expect(set.out == "\(home.path)/bin/git-credential-coffer\n")
    let filled = try home.program(["git", "credential", "fill"], in: "protocol=https\nhost=example.com\n\n")
    #expect(filled?.out.contains("password=hunter2") == true)
  }

  @Test
  func `git's store is replaced by coffer, and other helpers stay`() throws {
    let home = try home()
    _ = try home.file(".git-credentials", Self.git)
    _ = try home.file(".gitconfig", "[credential]\n\thelper = cache\n\thelper = store\n")
    guard let there = try home.program(["git", "--version"]), there.status == 0 else { try Test.skip("no git") }
    #expect(try home.coffer("doctor --fix --yes").status == 0)
    let helpers = try home.program(["git", "config", "--global", "--get-all", "credential.helper"])
    #expect(helpers?.out == "cache\n\(home.path)/bin/git-credential-coffer\n")
  }

  @Test
  func `docker's entries become its helper's`() throws {
    let home = try home()
    let auths = #"{ "auths": {"a.example": {"auth": "YWRhOmh1c2g=", "email": "a@x"}}, "proxies": {} }"#
    _ = try home.file(".docker/config.json", auths)
    #expect(try home.coffer("doctor --fix --yes").status == 0)
    let left = try home.content(".docker/config.json")
    #expect(left == "{\n\t\"credsStore\": \"coffer\", \"auths\": {\"a.example\": {}}, \"proxies\": {} }")
    #expect(try JSONSerialization.jsonObject(with: Data(left.utf8)) is [String: Any])
    let got = try home.program(["docker-credential-coffer", "get"], in: "a.example")
    #expect(got?.out.contains(#""Secret":"hush""#) == true, "\(String(describing: got))")
  }

  @Test
  func `an empty helper of docker's gives way to coffer, and its key stands in the file once`() throws {
    let home = try home()
    for empty in ["\"\"", "null"] {
      _ = try home.file(".docker/config.json", #"{"auths":{"a.example":{"auth":"YWRhOmh1c2g="}},"credsStore": \#(empty) }"#)
      let answer = try home.coffer("doctor --fix --yes")
      #expect(answer.status == 0, "\(answer.out)\(answer.err)")
      #expect(try home.content(".docker/config.json") == #"{"auths":{"a.example":{}},"credsStore": "coffer" }"#)
    }
    try home.transcript("vault get docker:a.example ada", out: "hush")
  }

  @Test
  func `docker's helper is found in whatever case its name stands, as docker finds it`() throws {
    let home = try home()
    let other = #"{"credsstore": "pass", "CredsStore": null, "auths": {"a.example": {"auth": "YWRhOmh1c2g="}}}"#
    _ = try home.file(".docker/config.json", other)
    let kept = try home.coffer("doctor --fix --yes")
    #expect(kept.status == 2 && kept.out.contains("docker uses another helper, pass: remove"), "\(kept.out)\(kept.err)")
    #expect(try home.content(".docker/config.json") == other)
    _ = try home.file(".docker/config.json", #"{"auths":{"a.example":{"auth":"YWRhOmh1c2g="}},"credsstore":""}"#)
    let moved = try home.coffer("doctor --fix --yes")
    #expect(moved.status == 0, "\(moved.out)\(moved.err)")
    #expect(try home.content(".docker/config.json") == #"{"auths":{"a.example":{}},"credsstore":"coffer"}"#)
  }

  @Test
  func `a netrc in which a machine has two logins or two passwords is left to a person`() throws {
    let home = try home()
    for word in ["login", "password"] {
      let text = "machine a.example login ada password hunter2\n  \(word) other\n"
      _ = try home.file(".netrc", text)
      let answer = try home.coffer("doctor --fix --yes")
      #expect(answer.status == 2 && answer.out.contains("line 2: the machine has a second '\(word)'"), "\(answer)")
      #expect(try home.content(".netrc") == text)
    }
    try home.transcript("vault get a.example", err: "no item with this name", exit: 1)
  }

  @Test
  func `a netrc, AWS credentials and gh's hosts keep all that is no secret`() throws {
    let home = try home()
    _ = try home.file(
      ".netrc", "# a comment\nmachine a.example login ada password hunter2\nmachine b.example # two\n  login bob\n  password p2\n"
    )
    _ = try home.file(
      ".aws/credentials",
      "[default]\naws_access_key_id = AKIA1\naws_secret_access_key = s3cr3t\nregion = eu\n[other]\nregion = us\n")
    _ = try home.file(
      ".config/gh/hosts.yml",
      "github.com:\n    users:\n        ada:\n            oauth_token: gho_1\n    oauth_token: gho_1\n    user: ada\n")
    let answer = try home.coffer("doctor --fix --yes")
    #expect(answer.status == 0, "\(answer.out)\(answer.err)")
    #expect(try home.content(".netrc") == "# a comment\n# two\n")
    #expect(
      try home.content(".aws/credentials")
        == "[default]\ncredential_process = coffer helper aws default\nregion = eu\n[other]\nregion = us\n")
    #expect(try home.content(".config/gh/hosts.yml") == "github.com:\n    users:\n        ada:\n    user: ada\n")
    for (item, value) in [
      ("a.example ada", "hunter2"), ("b.example bob", "p2"), ("aws default", "s3cr3t"), ("github.com ada", "gho_1"),
    ] {
      try home.transcript("vault get \(item)", out: value)
    }
    try home.transcript("vault get aws default --field aws_access_key_id", out: "AKIA1")
  }

  @Test
  func `of a profile of aws the key and its token move, and a profile of settings alone stays as it is`() throws {
    let home = try home()
    let settings = """
      [dev]
      role_arn = arn:aws:iam::1:role/x
      source_profile = default
      mfa_serial = arn:aws:iam::1:mfa/ada
      external_id = e1
      [sso]
      sso_start_url = https://sso.example/start
      credential_process = some-program

      """
    _ = try home.file(
      ".aws/credentials",
      "[default]\naws_access_key_id = AKIA1\naws_secret_access_key = s3cr3t\naws_session_token = t1\n"
        + "aws_security_token = t1\nduration_seconds = 900\n" + settings)
    let answer = try home.coffer("doctor --fix --yes")
    #expect(answer.status == 0, "\(answer.out)\(answer.err)")
    #expect(
      try home.content(".aws/credentials")
        == "[default]\ncredential_process = coffer helper aws default\nduration_seconds = 900\n" + settings)
    for (field, value) in [("aws_access_key_id", "AKIA1"), ("aws_session_token", "t1"), ("aws_security_token", "t1")] {
      try home.transcript("vault get aws default --field \(field)", out: value)
    }
    try home.transcript("vault get aws dev", err: "no item with this name", exit: 1)
    let alone = "[old]\naws_session_token = t2\n"
    _ = try home.file(".aws/credentials", alone + "[new]\naws_secret_access_key = s2\n")
    let second = try home.coffer("doctor --fix --yes")
    #expect(second.status == 2 && second.out.contains("a session token without a secret key"), "\(second.out)\(second.err)")
    #expect(try home.content(".aws/credentials") == alone + "[new]\ncredential_process = coffer helper aws new\n")
    let both = "[default]\naws_secret_access_key = s3\ncredential_process = some-program\n"
    _ = try home.file(".aws/credentials", both)
    let third = try home.coffer("doctor --fix --yes")
    #expect(third.status == 2 && third.out.contains("a key and a credential_process"), "\(third.out)\(third.err)")
    #expect(try home.content(".aws/credentials") == both)
  }

  @Test
  func `an item that the vault has already gets the id of its key before that leaves the file, and keeps another one`() throws {
    let home = try home()
    try home.transcript("vault set aws default --attribute mine=yes", in: "s3cr3t")
    try home.transcript("vault set aws other --attribute aws_access_key_id=AKIA9", in: "s2")
    let other = "[other]\naws_access_key_id = AKIA2\naws_secret_access_key = s2\n"
    _ = try home.file(
      ".aws/credentials", "[default]\naws_access_key_id = AKIA1\naws_secret_access_key = s3cr3t\n" + other)
    let answer = try home.coffer("doctor --fix --yes")
    #expect(answer.status == 2 && answer.out.contains("the vault has another value of that name"), "\(answer.out)\(answer.err)")
    #expect(try home.content(".aws/credentials") == "[default]\ncredential_process = coffer helper aws default\n" + other)
    for (account, field, value) in [
      ("default", "aws_access_key_id", "AKIA1"), ("default", "mine", "yes"), ("other", "aws_access_key_id", "AKIA9"),
    ] {
      try home.transcript("vault get aws \(account) --field \(field)", out: value)
    }
  }

  @Test
  func `a preference that looks like a secret moves`() throws {
    let home = try home()
    try home.transcript("defaults write app apiToken ghp_0123456789abcdefghij")
    let answer = try home.coffer("doctor --fix --yes")
    #expect(answer.status == 0 && answer.out.contains("moved  app/apiToken"), "\(answer.err)")
    try home.transcript("get apiToken --domain app", out: "ghp_0123456789abcdefghij")
    #expect(try !home.coffer("defaults read app").out.contains("ghp_"))
  }

  @Test
  func `each entry is asked about at a terminal, and what is not wanted stays where it is`() throws {
    let home = try home()
    _ = try home.file(".git-credentials", Self.git)
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("doctor --fix", in: home)
    terminal.shows("Move https://example.com/ada from \(home.path)/.git-credentials into the vault? [y/N] ")
    terminal.type("y\n")
    terminal.shows("Move https://git.example/bob ")
    terminal.type("\n")
    #expect(try child.wait() == 2)
    terminal.shows("you said no")
    #expect(try home.content(".git-credentials") == "# mine\nhttps://bob:s%40fe@git.example\n")
    try home.transcript("vault get https://git.example bob", err: "no item with this name", exit: 1)
  }

  @Test
  func `nothing changes where nobody can be asked, a helper is missing, or the vault has another value`() throws {
    let home = try home()
    let file = try home.file(".git-credentials", Self.git)
    try home.transcript("doctor --fix", err: "there is no terminal to ask which secrets to move", exit: 77)
    try home.transcript("vault set https://example.com ada", in: "other")
    _ = try home.file(".docker/config.json", #"{"auths": {"a.example": {"auth": "YWRhOmh1c2g="}}}"#)
    try FileManager.default.removeItem(atPath: home.path + "/bin/docker-credential-coffer")
    let answer = try home.coffer("doctor --fix --yes")
    #expect(answer.status == 2 && answer.out.contains("the vault has another value of that name"), "\(answer.err)")
    #expect(answer.out.contains("docker-credential-coffer is not on PATH"))
    #expect(try String(contentsOfFile: file, encoding: .utf8).hasPrefix("https://ada:hunter2@example.com\n# mine\n"))
    #expect(try home.content(".docker/config.json").contains("YWRhOmh1c2g="))
    try home.transcript("vault get https://example.com ada", out: "other")
  }

  @Test
  func `a line and a file that nobody understands stay, and count as what stayed`() throws {
    let home = try home()
    _ = try home.file(".git-credentials", "bad @ line\n" + Self.git)
    let hosts = "github.com: {oauth_token: gho_abc, user: u}\n"
    _ = try home.file(".config/gh/hosts.yml", hosts)
    let answer = try home.coffer("doctor --fix --yes")
    #expect(answer.status == 2 && answer.out.contains("moved  https://example.com/ada"), "\(answer.out)\(answer.err)")
    #expect(answer.out.contains(/credentials: line 1 +no URL with a user and a password/), "\(answer.out)")
    #expect(answer.out.contains("line 1: gh does not write such YAML") && !answer.out.contains("gho_abc"), "\(answer.out)")
    #expect(!answer.err.contains("imported"), "\(answer.err)")
    #expect(try home.content(".git-credentials") == "bad @ line\n# mine\n")
    #expect(try home.content(".config/gh/hosts.yml") == hosts)
  }

  @Test
  func `what moved before a failure is told`() throws {
    let home = try home()
    _ = try home.file(".git-credentials", Self.git)
    _ = try home.file(".netrc", "machine a.example login ada password hunter2\n")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("doctor --fix", in: home)
    for question in ["Move https://example.com/ada", "Move https://git.example"] {
      terminal.shows(question)
      terminal.type("y\n")
    }
    terminal.shows("netrc")
    _ = try home.file(".netrc", "machine c.example login eve password other\n")
    terminal.type("y\n")
    terminal.shows("moved  https://example.com/ada")
    terminal.shows("Another program wrote the file meanwhile")
    #expect(try ![0, 130].contains(child.wait()))
    #expect(try home.content(".netrc").contains("other"))
  }

  @Test
  func `docker's entries stay beside another helper, with the reason, and the rest moves`() throws {
    let home = try home()
    let docker = #"{"credsStore": "pass", "auths": {"a.example": {"auth": "YWRhOmh1c2g="}}}"#
    _ = try home.file(".docker/config.json", docker)
    _ = try home.file(".netrc", "machine b.example login bob password hunter2\n")
    let answer = try home.coffer("doctor --fix --yes")
    #expect(answer.status == 2 && answer.out.contains("docker uses another helper, pass: remove"), "\(answer.out)\(answer.err)")
    #expect(answer.out.contains("moved  b.example/bob"), "\(answer.out)")
    #expect(try home.content(".docker/config.json") == docker && home.content(".netrc").isEmpty)
    try home.transcript("vault get a.example", err: "no item with this name", exit: 1)
  }

  @Test
  func `a pipe, a folder, a device and a file without end are told of, and nobody waits for them`() throws {
    let home = try home()
    mkfifo(home.path + "/.git-credentials", 0o600)
    try FileManager.default.createDirectory(atPath: home.path + "/.docker/config.json", withIntermediateDirectories: true)
    let large = try home.file(".aws/credentials")
    #expect(truncate(large, 10 << 30) == 0)
    _ = try home.file(".config/gh/other")
    symlink("/dev/zero", home.path + "/.config/gh/hosts.yml")
    let found = try home.coffer("doctor")
    let fixed = try home.coffer("doctor --fix --yes")
    #expect(found.status == 2 && fixed.status == 2)
    for (file, reason) in [
      (".git-credentials", "it is not a regular file"), (".docker/config.json", "it is not a regular file"),
      (".config/gh/hosts.yml", "it is not a regular file"), (".aws/credentials", "the file is over 1048576 bytes"),
    ] {
      let lines = found.out.split(separator: "\n").filter { $0.contains("/\(file)") }
      #expect(lines.count == 1 && lines.allSatisfy { $0.contains("in the clear: \(reason)") }, "\(found.out)")
      #expect(fixed.out.split(separator: "\n").contains { $0.contains("/\(file)") && $0.contains(reason) }, "\(fixed.out)")
    }
  }

  @Test
  func `a link stays a link, a file with another name keeps that, and a macro is left to a person`() throws {
    let home = try home()
    _ = try home.file("dots/netrc", "machine a.example login ada password hunter2\nmacdef init\ncd pub\n\n")
    try FileManager.default.createSymbolicLink(atPath: home.path + "/.netrc", withDestinationPath: "dots/netrc")
    _ = try home.file("dots/git", Self.git)
    link(home.path + "/dots/git", home.path + "/.git-credentials")
    let answer = try home.coffer("doctor --fix --yes")
    #expect(answer.status == 2 && answer.out.contains("it is unclear where it ends"), "\(answer.err)")
    #expect(try home.content("dots/netrc").contains("hunter2") && home.content("dots/git") == Self.git)
    #expect(answer.err.contains("the file has another name"))
    _ = try home.file("dots/netrc", "machine a.example login ada password hunter2\n")
    #expect(try home.coffer("doctor --fix --yes").status == 0)
    #expect(try home.content("dots/netrc").isEmpty)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: home.path + "/.netrc") == "dots/netrc")
  }
}
