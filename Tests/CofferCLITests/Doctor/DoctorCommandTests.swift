import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct DoctorCommandTests {
  private func findings(_ home: Home, with variables: [String: String] = [:]) throws -> (status: Int32, [[String: Any]]) {
    let answer = try home.coffer("doctor --json", with: variables)
    #expect(answer.err.isEmpty || variables["COFFER_PASSPHRASE"] != nil, "\(answer.err)")
    let json = try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [String: Any])
    return (answer.status, try #require(json["findings"] as? [[String: Any]]))
  }

  private func texts(_ found: (status: Int32, findings: [[String: Any]])) -> [String] {
    found.findings.filter { $0["check"] as? String != "memory" }.map { "\($0["severity"] ?? "") \($0["what"] ?? "")" }
  }

  @Test
  func `a sound home has nothing to find, and status 0`() throws {
    let home = try Home.sound()
    let found = try findings(home)
    #expect(texts(found).isEmpty, "\(found)")
    guard found.1.isEmpty else { return print("skipped in part: this machine limits locked memory") }
    #expect(found.status == 0)
    let text = try home.coffer("doctor")
    #expect(text.out.hasPrefix("ok       places\nok       vault\n") && text.status == 0)
    try home.transcript("doctor -q")
  }

  /// Files in which a former value's secret may remain.
  enum Remnant: String, CaseIterable {
    case journal = ".app.plist.coffer", lastGood = ".app.plist.last-good", copy = "app.plist.damaged-2026", torn =
      "app.plist.damaged-2"
    case draft = ".abc.coffer-next"

    var isOverwritten: Bool { self == .journal || self == .lastGood }
  }

  @Test(arguments: Remnant.allCases)
  func `a secret that is no value any more is found wherever it can be read, and overwritten by --fix`(_ remnant: Remnant) throws
  {
    let home = try Home.sound()
    let token = "ghp_" + String(repeating: "aB3dE6gH9", count: 4)
    try home.transcript("set theme dark --plain --domain app")
    let list = "<plist version=\"1.0\"><dict><key>a</key><string>\(token)</string></dict></plist>"
    switch remnant {
    case .journal:
      try home.transcript("set password hunter2+ --plain --domain app")
      try home.transcript("delete password --domain app")
    case .torn: _ = try home.file("config/\(remnant.rawValue)", String(list.dropLast(20)))
    default: _ = try home.file("config/\(remnant.rawValue)", list)
    }
    let told = try home.coffer("doctor")
    #expect(
      told.status == 2 && told.out.contains("can still be read") && told.out.contains("/\(remnant.rawValue))"), "\(told.out)")
    #expect(!told.out.contains("hunter2") && !told.out.contains(token))
    let mended = try home.coffer("doctor --fix --yes -q")
    #expect(mended.status == (remnant.isOverwritten ? 0 : 2), "\(mended)")
    if !remnant.isOverwritten { unlink("\(home.path)/config/\(remnant.rawValue)") }
    #expect(try home.coffer("doctor").status == 0)
    try home.transcript("get theme --domain app", out: "dark")
  }

  @Test
  func `each fault is found, with its cure, and the status is 2`() throws {
    let cases: [(String, (Home) throws -> Void)] = [
      ("problem mode 0755 gives other users access to the folder", { chmod($0.path + "/data", 0o755) }),
      ("problem mode 0644 gives other users access to the file", { chmod($0.path + "/data/vault.sqlite", 0o644) }),
      ("warning a copy of an earlier state", { _ = try $0.file("data/vault.sqlite.before-20261121T080000Z", "x") }),
      ("warning no program listens on the socket", { try Self.deadSocket($0.path + "/run/dead.sock") }),
      ("problem the file of COFFER_KEY_FILE can be read by other users", { chmod($0.path + "/key", 0o644) }),
      ("problem the file of COFFER_IDENTITY is missing", { $0.environment["COFFER_IDENTITY"] = "/no/such/file" }),
      (
        "problem other users can write the preferences",
        {
          try $0.transcript("defaults write app k v")
          chmod($0.path + "/config/app.plist", 0o666)
        }
      ),
      (
        "warning git keeps passwords in the clear",
        {
          $0.environment["HOME"] = $0.path
          _ = try $0.file(".git-credentials", "https://ada:hunter2@example.com\n")
        }
      ),
      (
        "warning docker keeps passwords in the clear",
        {
          $0.environment["HOME"] = $0.path
          _ = try $0.file(".docker/config.json", #"{"auths":{"x":{"auth":"YTpi"}}}"#)
        }
      ),
    ]
    for (expected, damage) in cases {
      let home = try Home.sound()
      try damage(home)
      let found = try findings(home)
      #expect(found.status == 2 && texts(found).contains { $0.hasPrefix(expected) }, "\(expected): \(found)")
      #expect(found.1.allSatisfy { ($0["cure"] as? String)?.isEmpty == false })
    }
  }

  private static func deadSocket(_ path: String) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
  }

  @Test
  func `an agent is looked at; a locked one is a note`() throws {
    let home = try Home.sound()
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    #expect(try texts(findings(home)).isEmpty)
    try home.transcript("lock")
    #expect(try texts(findings(home)) == ["note the agent is locked: it was asked to"])
    try home.transcript("agent stop")
    #expect(try texts(findings(home)).isEmpty)
  }

  @Test
  func `side files of SQLite without their vault are found`() throws {
    let home = try Home.sound()
    _ = try home.file("data/vault.sqlite-wal", "x")
    try FileManager.default.moveItem(atPath: home.path + "/data/vault.sqlite", toPath: home.path + "/elsewhere")
    let found = try findings(home)
    #expect(found.status == 2 && texts(found).contains("problem a side file of the vault is there without the vault"))
  }

  @Test
  func `a passphrase in the environment is found, and not shown`() throws {
    let found = try findings(Home.sound(), with: ["COFFER_PASSPHRASE": "hunter2"])
    #expect(
      found.status == 2
        && texts(found) == [
          "warning COFFER_PASSPHRASE is in the environment, where every program started from there can read it"
        ])
  }

  @Test
  func `without a vault there is a note, which is no fault`() throws {
    let home = try Home()
    let found = try findings(home)
    #expect(texts(found) == ["note there is no vault yet"] && !home.exists("data"))
  }

  @Test
  func `secrets among preferences are found by form, by name and by randomness, and never shown`() throws {
    let home = try Home.sound()
    let secrets = [
      ("login", "ghp_" + String(repeating: "a1B2", count: 9)), ("apiToken", "tok-8421-xyz"),
      ("session", "Zk3vQ9sLw8Xy2Bn5Rt7Uj4Hm6Pd1Fg0K"),
      ("digest", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
      ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"),
    ]
    for (key, value) in secrets { try home.transcript("defaults write app \(key) \(value)") }
    try home.transcript("defaults write app nested -dict user ada password s3cr3t-pw")
    for (key, value) in [
      ("theme", "dark"), ("passwordStore", "keychain"), ("window", "{0,0},{800,600}"),
      ("id", "123e4567-e89b-12d3-a456-426614174000"),
      ("tokenPath", "/usr/share/tokens"), ("text", "This is a sentence of several words, and no secret at all."),
      ("tokenCount", "1200000"),
    ] { try home.transcript("defaults write app \(key) -string '\(value)'") }
    let answer = try home.coffer("doctor")
    let lines = answer.out.split(separator: "\n").filter { $0.contains("plain secrets") }
    #expect(lines.count == 6 && answer.status == 2, "\(answer.out)")
    for (key, value) in secrets + [("nested", "s3cr3t-pw")] {
      #expect(lines.contains { $0.contains("'\(key)' of domain 'app'") } && !answer.out.contains(value), "\(key)")
    }
    #expect(answer.out.contains("try: coffer set 'apiToken' --secret --domain app"))
  }
}
