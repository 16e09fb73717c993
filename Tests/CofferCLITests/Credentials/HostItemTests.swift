import Coffer
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferCLI
@testable import CofferTerminal

/// The item of a bare host, such as `github.com`, for the programs that ask for a URL.
@Suite(.tags(.process), .wholeRun)
struct HostItemTests {
  /// Items, each stored by a line with the value `v0`, `v1` and so on, and the answer to a request.
  struct Row: CustomTestStringConvertible, Sendable {
    let stored: [String], line: String, input: String, out: String, status: Int32

    init(_ stored: [String], _ line: String, in input: String = "", out: String, status: Int32 = 0) {
      (self.stored, self.line, self.input, self.out, self.status) = (stored, line, input, out, status)
    }

    var testDescription: String { "\(stored) \(line) \(input.debugDescription)" }

    static func git(
      _ stored: [String], _ host: String, _ scheme: String = "https", more: String = "", out user: (String, String)? = nil
    ) -> Row {
      Row(
        stored, "helper git get", in: "protocol=\(scheme)\nhost=\(host)\n\(more)",
        out: user.map { "username=\($0.0)\npassword=\($0.1)\n" } ?? "")
    }

    static func docker(_ stored: [String], _ server: String, out user: (String, String)? = nil) -> Row {
      Row(
        stored, "helper docker get", in: server,
        out: user.map { #"{"ServerURL":"\#(server)","Username":"\#($0.0)","Secret":"\#($0.1)"}"# + "\n" }
          ?? "credentials not found in native keychain\n", status: user == nil ? 1 : 0)
    }

    static func keyring(_ stored: [String], _ words: String, out user: (String, String)? = nil) -> Row {
      Row(
        stored, "helper keyring get \(words) --mode creds", out: user.map { "\($0.0)\n\($0.1)\n" } ?? "",
        status: user == nil ? 1 : 0)
    }
  }

  private static let octocat = ["vault set github.com octocat -q"]
  private static let given = ("octocat", "v0")

  static let git: [Row] = [
    .git(octocat, "github.com", out: given), .git(octocat, "GitHub.COM", out: given),
    .git(octocat, "github.com:443", out: given), .git(octocat, "github.com", more: "username=octocat\n", out: given),
    .git(["vault set GitHub.com octocat -q"], "github.com", out: given),
    .git(["vault set github.com:8443 octocat -q"], "github.com:8443", out: given),
    Row(["vault set github.com -q"], "helper git get", in: "protocol=https\nhost=github.com\n", out: "password=v0\n"),
    .git(["vault set github.com --attribute user=octocat -q"], "github.com", out: given),
    // Another user, scheme, port, path or host.
    .git(octocat, "github.com", more: "username=eve\n"), .git(octocat, "github.com", more: "username=\n"),
    .git(octocat, "github.com", more: "username=oauth2\n"), .git(octocat, "github.com", "http"),
    .git(octocat, "github.com:80", "http"), .git(octocat, "github.com", "ftp"), .git(octocat, "github.com", "smtp"),
    .git(octocat, "github.com:8443"), .git(octocat, "github.com:80"), .git(octocat, "github.com", more: "path=team/a.git\n"),
    .git(octocat, "api.github.com"), .git(octocat, "github.com.evil.example"), .git(octocat, "evilgithub.com"),
    .git(["vault set github.com:8443 octocat -q"], "github.com"), .git(["vault set github.com/team octocat -q"], "github.com"),
    .git(["vault set https://github.com:8443 octocat -q"], "github.com"), .git(["vault set api.github.com ada -q"], "github.com"),
    .git(["vault set https://github.com/team octocat -q"], "github.com"),
    .git(["vault set http://github.com ada -q"], "github.com"),
    .git(["vault set docker:github.com ada -q"], "github.com"), .git(["vault set web ada --label github.com -q"], "github.com"),
    // git decodes a URL's %2f, %3f, %23 and %40 in the host.
    .git(octocat, "github.com/.evil.example"), .git(octocat, "github.com?.evil.example"),
    .git(octocat, "github.com#.evil.example"), .git(octocat, "evil.example@github.com"),
    .git(octocat, "github.com%2f.evil.example"), .git(octocat, ":443"),
    .git(["login github.com --account ada --with-token -q"], "github.com/.evil.example"),
    .git(["login github.com --account ada --with-token -q"], "github.com", "http"),
    // What else is there of the host comes first, and then what was written last.
    .git(["vault set https://github.com ada -q"] + octocat, "github.com", out: ("ada", "v0")),
    .git(["login github.com --account ada --with-token -q"] + octocat, "github.com", out: ("ada", "v0")),
    .git(
      ["login github.com --account ada --with-token -q"] + octocat, "github.com", more: "username=octocat\n",
      out: ("octocat", "v1")),
    .git(
      ["login github.com --account ada --with-token -q"] + octocat, "github.com", more: "path=team/a.git\n",
      out: ("ada", "v0")),
    .git(octocat + ["vault set GITHUB.com bob -q"], "github.com", out: ("bob", "v1")),
    // Attributes and the services of Coffer's own.
    .git(
      ["vault set github.com octocat --attribute username=eve --attribute url=https://evil.example -q"], "github.com",
      out: given),
    .git(["login github.com --account ada --with-token -q"], "coffer.auth"),
    .git(["vault set coffer.auth.provider corp -q"], "coffer.auth.provider"),
    Row(
      octocat, "helper git get", in: "protocol=https\nhost=github.com\ncapability[]=state\n",
      out: "capability[]=state\nusername=octocat\npassword=v0\nstate[]=coffer:revision=1\n"),
  ]

  static let others: [Row] = [
    .docker(octocat, "github.com", out: given), .docker(octocat, "https://github.com", out: given),
    .docker(octocat, "https://GitHub.com/v2/", out: given), .docker(octocat, "github.com/v2", out: given),
    .docker(octocat, "http://github.com"), .docker(octocat, "github.com:5000"), .docker(octocat, "https://eve@github.com"),
    .docker(["vault set https://github.com ada -q"], "github.com", out: ("ada", "v0")),
    .docker(["login github.com --with-token -q"] + octocat, "github.com", out: ("oauth2", "v0")),
    .docker(octocat + ["vault set docker:github.com bob -q"], "github.com", out: ("bob", "v1")),
    Row(octocat, "helper docker list", out: "{}\n"),
    Row(octocat, "helper docker erase", in: "github.com", out: "credentials not found in native keychain\n", status: 1),
    .keyring(octocat, "https://github.com/simple/", out: given), .keyring(octocat, "https://octocat@github.com", out: given),
    .keyring(octocat, "https://github.com eve"), .keyring(octocat, "http://github.com"),
    .keyring(octocat, "https://github.com:8443"), .keyring(octocat, "https://github.com%2f@evil.example"),
    .keyring(octocat, "ssh://github.com"), .keyring(octocat, "https://evil.example/@github.com"),
    .keyring(octocat, #"'https://evil.example\@github.com'"#),
    Row(octocat, "run --netrc github.com cat /proc/self/fd/3", out: "machine github.com login octocat password v0\n"),
    Row(octocat, "run --netrc GitHub.com cat /proc/self/fd/3", out: "machine github.com login octocat password v0\n"),
    Row(octocat, "run --netrc http://github.com true", out: "", status: 125),
    Row(octocat, "run --netrc github.com:8443 true", out: "", status: 125),
    Row(["login github.com --account ada --with-token -q"], "run --netrc http://github.com true", out: "", status: 125),
    Row(
      octocat, "helper kubectl https://github.com:443",
      out: #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"v0"}}"# + "\n"),
    Row(octocat, "helper kubectl http://github.com", out: "", status: 1),
    Row(octocat, "token GitHub.com", out: "v0"), Row(octocat, "token github.com --account octocat", out: "v0"),
    Row(octocat, "token github.com --json", out: #"{"account":"octocat","host":"github.com","token":"v0"}"# + "\n"),
    Row(octocat, "token github.com --account eve", out: "", status: 1), Row(octocat, "token", out: "", status: 1),
    Row(octocat, "token github.com --fresh", out: "", status: 1),
    Row(["login github.com --account ada --with-token -q"] + octocat, "token github.com", out: "v0"),
    Row(["vault set https://github.com/team ada -q"], "token github.com", out: "", status: 1),
  ]

  @Test(arguments: git + others)
  func `the item of a host is given over https to programs of exactly that host, after all else that is there`(row: Row) throws {
    let home = try Home.withVault()
    for (number, line) in row.stored.enumerated() { try home.transcript(line, in: "v\(number)") }
    let before = try home.coffer("vault list --internal --json").out
    let answer = try home.coffer(row.line, in: Data(row.input.utf8))
    #expect(answer.out == row.out && answer.status == row.status, "\(answer.out)\(answer.err)")
    #expect(answer.status != 0 || answer.err.isEmpty, "\(answer.err)")
    #expect(try home.coffer("vault list --internal --json").out == before)
  }

  @Test func `askpass answers git's two questions from the item of the host`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set github.com octocat -q", in: "tok")
    for (question, answer) in [
      ("Username for 'https://github.com': ", "octocat\n"), ("Password for 'https://octocat@github.com': ", "tok\n"),
      ("Password for 'https://eve@github.com': ", ""), ("Password for 'http://octocat@github.com': ", ""),
      ("octocat@github.com's password: ", ""),
    ] {
      let given = try #require(try home.program([Home.coffer, "helper", "askpass", question]))
      #expect(given.out == answer && (given.status == 0) == !answer.isEmpty, "\(question) \(given.err)")
    }
  }

  @Test func `what an import says of a host's item makes no git credential of it`() throws {
    let home = try Home.withVault()
    let type = GitCredential.contentType
    let value = #"password=p\nauthtype=Bearer\ncredential=c"#
    let forged = #"{"service":"github.com","account":"eve","type":"\#(type)","value":"\#(value)"}"#
    #expect(try home.coffer("import \(home.file("items.json", "[\(forged)]")) --yes -q").status == 0)
    try home.transcript("vault get github.com eve --field type", out: type)
    try home.transcript("helper git get", in: "protocol=https\nhost=github.com\ncapability[]=authtype\n")
    try home.transcript("helper docker get", in: "github.com", out: "credentials not found in native keychain\n", exit: 1)
  }

  @Test func `an imported date after now does not outrank what is written later`() throws {
    let home = try Home.withVault()
    let forged = #"[{"service":"github.com","account":"eve","value":"e","modified":"2099-01-01T00:00:00Z"}]"#
    #expect(try home.coffer("import \(home.file("items.json", forged)) --yes -q").status == 0)
    try home.transcript("vault set github.com ada -q", in: "a")
    try home.transcript("token github.com", out: "a")
  }

  @Test func `an expired item of a host is passed over`() throws {
    let home = try Home.withVault()
    let place = "protocol=https\nhost=github.com\n"
    try home.transcript("vault set github.com ada -q", in: "live")
    try home.transcript("vault set github.com bob --expires 1s -q", in: "dead")
    #expect(try eventually { try home.coffer("vault get github.com bob").status != 0 })
    try home.transcript("helper git get", in: place, out: "username=ada\npassword=live\n")
    try home.transcript("helper git get", in: place + "username=bob\n")
    try home.transcript("token github.com --account bob", err: "has expired", exit: 1)
    try home.transcript("token github.com", out: "live")
  }

  private static let place = "protocol=https\nhost=github.com\nusername=octocat\n"

  @Test func `the real git fills from the item of a host, keeps no second one, and a refused one can be brought back`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    home.environment["GIT_CONFIG_NOSYSTEM"] = "1"
    try home.transcript("vault set github.com octocat -q", in: "tok")
    try home.transcript("vault set github.com octocat --field pin -q", in: "4711")
    let before = try ["vault list", "vault show github.com octocat --json"].map { try home.coffer($0).out }
    func git(_ word: String, _ input: String) throws -> (status: Int32, out: String, err: String) {
      let words = ["git", "-c", "credential.helper=coffer", "credential", word]
      guard let answer = try home.program(words, in: input + "\n", with: ["GIT_TERMINAL_PROMPT": "0"]) else {
        try Test.skip(without: "git")
      }
      return answer
    }
    let filled = try git("fill", "protocol=https\nhost=github.com\n")
    #expect(filled.out.contains("username=octocat\npassword=tok\n"), "\(filled)")
    #expect(try git("approve", Self.place + "password=tok\n").err.isEmpty)
    #expect(try git("reject", Self.place + "password=other\n").err.isEmpty && git("reject", Self.place).err.isEmpty)
    try home.transcript("vault list", out: before[0])
    try home.transcript("vault show github.com octocat --json", out: before[1])
    let refused = try git("reject", Self.place + "password=tok\n")
    #expect(refused.err.contains("coffer undelete github.com/octocat brings it back"), "\(refused)")
    try home.transcript("vault list")
    #expect(try home.coffer("vault undelete github.com octocat").status == 0)
    try home.transcript("vault get github.com octocat", out: "tok")
    try home.transcript("vault get github.com octocat --field pin", out: "4711")
  }

  @Test func `another password of git's or docker's stands beside the item of the host, and alone goes with erase`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set github.com octocat -q", in: "tok")
    let before = try home.coffer("vault list --json").out
    try home.transcript("helper git store", in: Self.place + "password=new\n")
    try home.transcript("helper git get", in: Self.place, out: "username=octocat\npassword=new\n")
    try home.transcript("vault get github.com octocat", out: "tok")
    try home.transcript("helper git erase", in: Self.place)
    try home.transcript("vault list --json", out: before)
    let login = { (user: String, secret: String) in #"{"ServerURL":"github.com","Username":"\#(user)","Secret":"\#(secret)"}"# }
    try home.transcript("helper docker store", in: login("octocat", "tok"))
    try home.transcript("vault list --json", out: before)
    for (user, secret) in [("octocat", "new"), ("bob", "tok")] {
      try home.transcript("helper docker store", in: login(user, secret))
      try home.transcript("helper docker get", in: "github.com", out: login(user, secret) + "\n")
      try home.transcript("helper docker erase", in: "github.com")
      try home.transcript("vault list --json", out: before)
    }
  }

  @Test func `an item without a value is no credential`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set github.com octocat --exact")
    try home.transcript("helper git get", in: "protocol=https\nhost=github.com\n\n")
  }

  @Test func `a program that replaces or removes the item of a host by a URL leaves it with its past`() throws {
    let home = try Home.withVault()
    for value in ["one", "two"] { try home.transcript("vault set r.example ada -q", in: value) }
    func cargo(_ kind: String) throws {
      let line = #"{"v":1,"kind":"\#(kind)","token":"three","registry":{"index-url":"x"},"args":["https://r.example","ada"]}"#
      #expect(try home.coffer("helper cargo", in: Data((line + "\n").utf8)).out.contains(#""Ok""#))
    }
    try cargo("login")
    #expect(try !home.coffer("vault list").out.contains("https://r.example"))
    try home.transcript("vault get r.example ada", out: "three")
    try home.transcript("vault get r.example ada --revision 1", out: "one")
    try home.transcript("helper keyring set https://r.example/simple ada", in: "four")
    try home.transcript("vault get r.example ada", out: "four")
    func keyring() throws { try home.transcript("helper keyring del https://r.example/simple ada") }
    for program in ["cargo", "keyring"] {
      if program == "cargo" { try cargo("logout") } else { try keyring() }
      try home.transcript("vault list")
      #expect(try home.coffer("vault undelete r.example ada").status == 0)
    }
  }

  @Test(arguments: ["s.example", "https://s.example"])
  func `what keyring or cargo removes by the name of a person's item can be brought back`(service: String) throws {
    let home = try Home.withVault()
    for value in ["one", "two"] { try home.transcript("vault set \(service) ada -q", in: value) }
    func cargo(_ kind: String) throws {
      let line = #"{"v":1,"kind":"\#(kind)","token":"three","registry":{"index-url":"x"},"args":["\#(service)","ada"]}"#
      #expect(try home.coffer("helper cargo", in: Data((line + "\n").utf8)).out.contains(#""Ok""#))
    }
    try home.transcript("helper keyring del \(service) ada")
    #expect(try home.coffer("vault undelete \(service) ada").status == 0)
    try cargo("login")
    try cargo("logout")
    try home.transcript("vault list")
    #expect(try home.coffer("vault undelete \(service) ada").status == 0)
    try home.transcript("vault get \(service) ada", out: "three")
    try home.transcript("vault get \(service) ada --revision 1", out: "one")
  }
}
