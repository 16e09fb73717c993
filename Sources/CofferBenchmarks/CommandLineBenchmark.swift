internal import Coffer
internal import CofferStorage
internal import CofferVault
internal import Foundation

/// Whole processes of the command line, against other programs that print a secret.
/// The program is the one beside this one, or the one named by `COFFER_BENCHMARKED`; build it as it is shipped: `.ci/release`.
/// Installed peers are measured with their own stores: `secret-tool` with its own keyring and session bus, `pass` with its
/// own key. The user's are not touched.
enum CommandLineBenchmark {
  private static let rounds = 60

  static func run(in folder: String) throws {
    let home = folder + "/cli"
    setenv("COFFER_HOME", home, 1)
    let tools = try Tools(folder)
    let key = home + "/key"
    try shell("mkdir -m 700 \(home)")
    try shell("\(tools.coffer) init --quiet --new-key-file \(key)")
    for service in ["github", "https://github.com"] {
      try shell("printf s3cret | \(tools.coffer) vault set \(service) alice --key-file \(key)")
    }
    try shell("printf s3cret | \(tools.coffer) login git.example --with-token --expires 1d --quiet --key-file \(key)")
    try shell("\(tools.coffer) unlock --quiet --key-file \(key)")
    defer { do { try shell("\(tools.coffer) agent stop") } catch { print("the agent was left running: \(error)") } }
    let docker = try file("docker.in", "registry.example", in: folder)
    try shell(
      #"printf '{"ServerURL":"registry.example","Username":"alice","Secret":"s3cret"}' | \#(tools.dockerHelper) store"#)

    let get = [tools.coffer, "vault", "get", "github", "alice"]
    let git = try file("git.in", "protocol=https\nhost=github.com\n\n", in: folder)
    try table(
      "Command line, whole processes",
      [
        process("coffer --version", [tools.coffer, "--version"], [.microseconds(4000)]),
        process("coffer get SERVICE ACCOUNT, agent", get, [.microseconds(5000), .microseconds(4000)]),
        process("coffer get SERVICE, agent", Array(get.dropLast()), [.microseconds(5000)]),
        process("coffer token HOST, agent", [tools.coffer, "token", "git.example"], [.microseconds(5000)]),
        process("coffer get, key file", get + ["--key-file", key], [.microseconds(8000)]),
        process("git-credential-coffer get, agent", [tools.gitHelper, "get"], [.microseconds(5000)], input: git),
        process("docker-credential-coffer get, agent", [tools.dockerHelper, "get"], [.microseconds(5000)], input: docker),
        nothing,
      ])
    let mine = { (goal: Double) in process("coffer get, agent", get, [.times(goal)]) }
    try SecretPeers.libsecret(in: folder) { try table("Against libsecret", [mine(0.6), process("secret-tool lookup", $0, [])]) }
    try SecretPeers.pass(in: folder) { try table("Against pass", [mine(0.3), process("pass show", $0, [])]) }
    try fill(home, key)
    try table(
      "Command line, 10 000 items",
      [
        process("coffer list, agent", [tools.coffer, "vault", "list"], [.microseconds(100_000)]),
        process("coffer list --json, agent", [tools.coffer, "vault", "list", "--json"], []),
        process("coffer list, key file", [tools.coffer, "vault", "list", "--key-file", key], [.microseconds(100_000)]),
        process(
          "coffer get SERVICE ACCOUNT, agent", [tools.coffer, "vault", "get", "service", "17"], [.microseconds(5000)]),
        nothing,
      ], rounds: 15)
    try ScaleBenchmark.run(in: folder, coffer: tools.coffer)
  }

  static var program: String {
    ProcessInfo.processInfo.environment["COFFER_BENCHMARKED"]
      ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      .appendingPathComponent("coffer").path
  }

  private struct Tools {
    let coffer: String, gitHelper: String, dockerHelper: String

    init(_ folder: String) throws {
      coffer = program
      (gitHelper, dockerHelper) = (folder + "/git-credential-coffer", folder + "/docker-credential-coffer")
      for helper in [gitHelper, dockerHelper] {
        try FileManager.default.createSymbolicLink(atPath: helper, withDestinationPath: coffer)
      }
      let bytes = try FileManager.default.attributesOfItem(atPath: coffer)[.size] as? Int ?? 0
      print("\n\(coffer): \(bytes / 1_000_000) MB")
    }
  }

  private static var nothing: Contender { process("/bin/true", ["/bin/true"], []) }

  private static func table(_ title: String, _ contenders: [Contender], rounds: Int = rounds) throws {
    try Measure.table(title, rounds: rounds, clock: .wall, contenders)
  }

  private static func file(_ name: String, _ content: String, in folder: String) throws -> String {
    let path = folder + "/" + name
    try Data(content.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  private static func fill(_ home: String, _ key: String) throws {
    let content = try Data(contentsOf: URL(fileURLWithPath: key))
    let bytes = try content.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let locked = try LockedVault.open(VaultPlace(home + "/data/vault.sqlite"), options: .withoutPins)
    let vault = try locked.unlock(with: Credentials(keyFile: bytes))
    let items = try (0..<10_000).map { number in
      let value = SecretForm(try SecretBytes.random(32))
      return ImportedItem(name: try ItemName(service: "service", account: "\(number)"), form: value)
    }
    _ = try vault.add(items)
  }

  /// A contender that starts a program on the file `input`, discards its output and waits for its end.
  static func process(_ name: String, _ words: [String], _ goals: [Goal], input: String = "/dev/null") -> Contender {
    Contender(name: name, count: 1, goals: goals) { _ in
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
      let argv = words.map { strdup($0) } + [nil]
      defer { for word in argv { free(word) } }
      var child: pid_t = 0
      guard posix_spawn(&child, words[0], &actions, nil, argv, environ) == 0 else { throw Shell.Failed(line: words.joined()) }
      var status: Int32 = 0
      guard waitpid(child, &status, 0) == child, status == 0 else { throw Shell.Failed(line: words.joined(separator: " ")) }
    }
  }

  private static func shell(_ line: String) throws { try Shell.run(line) }
}
