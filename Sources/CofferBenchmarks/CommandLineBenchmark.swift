internal import Coffer
internal import Foundation

/// Whole processes of the command line, from start to exit, against other programs that hand out a secret.
///
/// The program is the one beside this one; build both as it is shipped: `swift build -c release --static-swift-stdlib`. `pass` is
/// measured where it is installed, `secret-tool` where a session bus with an unlocked keyring is at hand:
/// `dbus-run-session -- sh -c 'printf x | gnome-keyring-daemon --unlock; .build/release/CofferBenchmarks cli'`.
enum CommandLineBenchmark {
  private static let rounds = 60

  static func run(in folder: String) throws {
    let home = folder + "/cli"
    setenv("COFFER_HOME", home, 1)
    let coffer = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      .appendingPathComponent("coffer").path
    let key = home + "/key"
    try shell("mkdir -m 700 \(home)")
    try shell("\(coffer) init --quiet --new-key-file \(key)")
    try shell("printf s3cret | \(coffer) vault set github alice --key-file \(key)")
    try shell("\(coffer) unlock --quiet --key-file \(key)")
    defer { do { try shell("\(coffer) agent stop") } catch { print("the agent was left running: \(error)") } }

    let get = [coffer, "vault", "get", "github"]
    try table(
      "Command line, whole processes",
      [
        process("coffer --version", [coffer, "--version"], [.microseconds(4000)]),
        process("coffer vault get, agent", get, [.microseconds(5000)]),
        process("coffer vault get, key file", get + ["--key-file", key], [.microseconds(8000)]), nothing,
      ])
    try peers(of: get, in: folder)
    try fill(home, key)
    try table(
      "Command line, 10 000 items",
      [
        process("coffer vault list, agent", [coffer, "vault", "list"], [.microseconds(100_000)]),
        process("coffer vault list, key file", [coffer, "vault", "list", "--key-file", key], [.microseconds(100_000)]),
        process("coffer vault get SERVICE ACCOUNT, agent", [coffer, "vault", "get", "service", "17"], [.microseconds(5000)]),
        nothing,
      ], rounds: 15)
  }

  private static var nothing: Contender { process("/bin/true", ["/bin/true"], []) }

  private static func table(_ title: String, _ contenders: [Contender], rounds: Int = rounds) throws {
    try Measure.table(title, rounds: rounds, clock: .wall, contenders)
  }

  private static func peers(of get: [String], in folder: String) throws {
    let mine = { (goal: Double) in process("coffer vault get, agent", get, [.times(goal)]) }
    if FileManager.default.isExecutableFile(atPath: "/usr/bin/secret-tool"), getenv("DBUS_SESSION_BUS_ADDRESS") != nil {
      try shell("printf s3cret | secret-tool store --label=coffer coffer-bench yes")
      try table(
        "Against libsecret",
        [mine(0.6), process("secret-tool lookup", ["/usr/bin/secret-tool", "lookup", "coffer-bench", "yes"], [])])
    } else {
      print("\nsecret-tool is left out: not installed, or no session bus")
    }
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/pass") else { return print("\npass is left out: not installed") }
    let store = folder + "/pass"
    setenv("GNUPGHOME", store + "/gpg", 1)
    setenv("PASSWORD_STORE_DIR", store + "/store", 1)
    try shell("mkdir -m 700 \(store) \(store)/gpg")
    try shell("gpg --batch --quiet --passphrase '' --quick-generate-key coffer-bench default default never")
    defer { do { try shell("gpgconf --kill all") } catch { print("gpg's agent was left running: \(error)") } }
    try shell("pass init coffer-bench && printf s3cret | pass insert -e github")
    try table("Against pass", [mine(0.3), process("pass show", ["/usr/bin/pass", "show", "github"], [])])
  }

  private static func fill(_ home: String, _ key: String) throws {
    let content = try Data(contentsOf: URL(fileURLWithPath: key))
    let bytes = try content.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let vault = try LockedVault.open(FilePath(home + "/data/vault.sqlite")).unlock(with: Credentials(keyFile: bytes))
    let items = try (0..<10_000).map { number in
      let value = SecretForm(try SecretBytes.random(32))
      return ImportedItem(name: try ItemName(service: "service", account: "\(number)"), form: value)
    }
    _ = try vault.add(items)
  }

  /// A contender that starts a program, its output thrown away, and waits for its end.
  private static func process(_ name: String, _ words: [String], _ goals: [Goal]) -> Contender {
    Contender(name: name, count: 1, goals: goals) { _ in
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
      let argv = words.map { strdup($0) } + [nil]
      defer { for word in argv { free(word) } }
      var child: pid_t = 0
      guard posix_spawn(&child, words[0], &actions, nil, argv, environ) == 0 else { throw Failed(words: words) }
      var status: Int32 = 0
      guard waitpid(child, &status, 0) == child, status == 0 else { throw Failed(words: words) }
    }
  }

  private static func shell(_ line: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", line + " > /dev/null"]
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failed(words: [line]) }
  }

  private struct Failed: Error { let words: [String] }
}
