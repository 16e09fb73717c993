internal import Coffer
internal import CofferStorage
internal import CofferVault
internal import Foundation

/// Whole processes of the command line among 100 000 items, each beside the same question in a small vault.
enum ScaleBenchmark {
  private static let items = 100_000
  private static let few = 100

  /// A home with a filled vault.
  struct Filled {
    let home: String, key: String

    init(_ home: String, _ count: Int, coffer: String) throws {
      (self.home, key) = (home, home + "/key")
      try Shell.run("mkdir -m 700 \(home) && \(coffer) init --quiet --home \(home) --new-key-file \(key)")
      let content = try Data(contentsOf: URL(fileURLWithPath: key))
      let bytes = try content.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
      let locked = try LockedVault.open(VaultPlace(home + "/data/vault.sqlite"), options: .withoutPins)
      let vault = try locked.unlock(with: Credentials(keyFile: bytes))
      let items = try (0..<count).map { number in
        let metadata = ItemMetadata(label: "login \(number)", attributes: ["url": "https://host\(number).example.com"])
        // Letters: git's protocol carries no line feed.
        let value = Array("a password of thirty two letters".utf8)
        let form = SecretForm(
          try value.span.bytes.withUnsafeBytes { bytes in try SecretBytes(copying: bytes) }, metadata: metadata)
        return ImportedItem(name: try ItemName(service: "https://host\(number).example.com", account: "user"), form: form)
      }
      _ = try vault.add(items)
    }
  }

  static func run(in folder: String, coffer: String) throws {
    let many = try Filled(folder + "/many", items, coffer: coffer)
    let small = try Filled(folder + "/few", few, coffer: coffer)
    defer {
      for home in [many.home, small.home] {
        do { try Shell.run("\(coffer) agent stop --home \(home)") } catch { print("an agent was left running: \(error)") }
      }
    }
    let git = folder + "/scale-git.in"
    try Data("protocol=https\nhost=host17.example.com\n\n".utf8).write(to: URL(fileURLWithPath: git))
    for home in [many, small] { try Shell.run("\(coffer) unlock --quiet --home \(home.home) --key-file \(home.key)") }
    // Until the agent has finished reading ahead.
    try Shell.run("\(coffer) vault list --home \(many.home) > \(folder)/all")
    func asked(_ name: String, _ words: [String], in home: Filled, _ goals: [Goal], input: String = "/dev/null") -> Contender {
      CommandLineBenchmark.process(name, [coffer] + words + ["--home", home.home], goals, input: input)
    }
    func completed(_ name: String, in home: Filled, _ goals: [Goal]) -> Contender {
      let line = ["coffer", "--home", home.home, "get", "https://host1234"]
      let asked = ["---completion", "get", "--", "positional@0", "4", "16"] + line
      return CommandLineBenchmark.process(name, [coffer] + asked, goals)
    }
    try table(
      "Command line, \(items) items, the peer among \(few)",
      [
        asked("git get without a user, agent", ["helper", "git", "get"], in: many, [.times(3)], input: git),
        asked("the same among \(few)", ["helper", "git", "get"], in: small, [], input: git),
      ])
    try table(
      "Completion of a service",
      [
        completed("among \(items), agent", in: many, [.microseconds(50_000)]), completed("among \(few), agent", in: small, []),
      ])
    let find = ["vault", "find", "host4711"], log = ["vault", "log", "--limit", "5", "--key-file", many.key]
    try table(
      "Find, the peer without the agent",
      [
        asked("coffer find, agent", find, in: many, [.times(0.5)]),
        asked("coffer find, key file", find + ["--key-file", many.key], in: many, []),
      ], rounds: 5)
    try table("The log", [asked("coffer vault log --limit 5, key file", log, in: many, [.microseconds(20_000)])])
    try table(
      "Lists",
      [
        asked("coffer list, agent", ["vault", "list"], in: many, []),
        asked("coffer list --json, agent", ["vault", "list", "--json"], in: many, []),
        asked("coffer list --json, key file", ["vault", "list", "--json", "--key-file", many.key], in: many, []),
      ], rounds: 3)
    for words in [[], ["--key-file", many.key]] {
      let kibibytes = try ChildMemory.most([coffer, "vault", "list", "--json", "--home", many.home] + words)
      let missed = kibibytes > 64 << 10 ? "  ✗ missed" : ""
      print("  list --json \(words.isEmpty ? "with the agent" : "with a key file"): \(kibibytes >> 10) MiB   ≤ 64 MiB\(missed)")
    }
    try masking(in: folder, coffer: coffer, many)
  }

  private static func masking(in folder: String, coffer: String, _ filled: Filled) throws {
    try Shell.run("seq -f 'line %g of a log that tells of many things and of no secret' 1 400000 > \(folder)/log")
    func masked(_ name: String, _ count: Int, _ goals: [Goal]) -> Contender {
      let references = (0..<count).flatMap { ["--env", "S\($0)=coffer://https%3A%2F%2Fhost\($0).example.com/user/url"] }
      let words = ["run", "--mask", "--home", filled.home] + references + ["--", "/bin/cat", folder + "/log"]
      return CommandLineBenchmark.process(name, [coffer] + words, goals)
    }
    try table(
      "Masking 26 MB", [masked("100 secrets", 100, [.times(2)]), masked("one secret", 1, [])], rounds: 5)
  }

  private static func table(_ title: String, _ contenders: [Contender], rounds: Int = 15) throws {
    try Measure.table(title, rounds: rounds, clock: .wall, contenders)
  }
}

/// The peak memory of a program that answers on standard output, until its answer was read.
///
/// wait4(2) will not do: the kernel counts a spawned child as large as its parent was at that time.
private enum ChildMemory {
  /// In KiB.
  static func most(_ words: [String]) throws -> Int {
    let child = Process()
    let output = Pipe()
    child.executableURL = URL(fileURLWithPath: words[0])
    child.arguments = Array(words.dropFirst())
    child.standardOutput = output
    try child.run()
    var most = 0
    while !output.fileHandleForReading.availableData.isEmpty {
      // Gone once the child has ended: then the last reading stays.
      guard let status = FileManager.default.contents(atPath: "/proc/\(child.processIdentifier)/status") else { continue }
      for line in String(decoding: status, as: UTF8.self).split(separator: "\n") where line.hasPrefix("VmHWM:") {
        most = line.split { !$0.isNumber }.last.flatMap { Int($0) } ?? most
      }
    }
    child.waitUntilExit()
    guard child.terminationStatus == 0, most > 0 else { throw Shell.Failed(line: words.joined(separator: " ")) }
    return most
  }
}
