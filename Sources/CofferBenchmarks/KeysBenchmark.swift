internal import Foundation

/// Signatures by `coffer ssh run` and the agent behind it, beside OpenSSH's `ssh-agent`: the same requests over each socket.
/// The program is the one beside this one, or the one named by `COFFER_BENCHMARKED`; build it as it is shipped: `.ci/release`.
struct KeysBenchmark {
  private struct Key {
    let name: String, options: String, algorithm: String
    /// Of the request: 4 is RSA with SHA-512.
    var flags: UInt32 = 0
    let signatures: Int, goals: [Goal]
  }

  private static let keys = [
    Key(
      name: "Ed25519", options: "-t ed25519", algorithm: "ssh-ed25519", signatures: 100,
      goals: [.times(0.6), .microseconds(300)]),
    Key(
      name: "ECDSA-P-256", options: "-t ecdsa -b 256", algorithm: "ecdsa-sha2-nistp256", signatures: 100, goals: [.times(3.5)]),
    Key(
      name: "RSA-3072", options: "-t rsa -b 3072", algorithm: "rsa-sha2-512", flags: 4, signatures: 20, goals: [.times(4.5)]),
  ]
  /// The most that a vault offers.
  private static let mostKeys = 256

  private let program: String, home: String
  private var ours: String { home + "/face.sock" }
  private var theirs: String { home + "/peer.sock" }

  static func run(in folder: String) throws {
    guard SecretPeers.isInstalled(["ssh-agent", "ssh-add", "ssh-keygen"]) else { return }
    let benchmark = KeysBenchmark(program: CommandLineBenchmark.program, home: folder + "/keys")
    let folders = ["HOME": benchmark.home, "COFFER_HOME": benchmark.home + "/coffer", "XDG_RUNTIME_DIR": benchmark.home]
    try SecretPeers.environment(folders) {
      try Shell.run("mkdir -m 700 \(benchmark.home)")
      defer { benchmark.stop() }
      try benchmark.start()
      for key in keys { try benchmark.sign(key) }
      try benchmark.list()
    }
  }

  // MARK: Programs

  private func start() throws {
    try Shell.run("\(program) init --quiet --new-key-file \(home)/key && \(program) unlock --quiet --key-file \(home)/key")
    try Shell.run("ssh-agent -D -a \(theirs) 2>/dev/null & echo $! >\(home)/peer.pid")
    try Shell.run("\(program) ssh run --quiet --socket \(ours) & echo $! >\(home)/face.pid")
    // The peer listens.
    _ = try KeySocket(theirs)
    for key in Self.keys {
      let file = "\(home)/\(key.name)"
      try Shell.run("ssh-keygen -q -N '' -f \(file) \(key.options)")
      try Shell.run("\(program) ssh add \(file) --name \(key.name) --quiet && SSH_AUTH_SOCK=\(theirs) ssh-add -q \(file)")
    }
  }

  private func stop() {
    do {
      try Shell.run("kill $(cat \(home)/face.pid \(home)/peer.pid); \(program) agent stop --quiet")
    } catch { print("an agent was left running: \(error)") }
  }

  /// The face, the agent and the peer.
  private func processes() throws -> [Int32] {
    let file = home + "/status"
    try Shell.run("\(program) status --json >\(file)")
    let status = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: file))) as? [String: Any]
    let others = try ["face", "peer"].map { name in
      let text = try String(contentsOfFile: "\(home)/\(name).pid", encoding: .utf8)
      return Int32(text.trimmingCharacters(in: .whitespacesAndNewlines))
    }
    let agent = (status?["agent"] as? [String: Any])?["process"] as? Int
    let all = [agent.map { Int32($0) }] + others
    guard !all.contains(nil) else { throw Shell.Failed(line: "coffer status") }
    return all.compactMap(\.self)
  }

  // MARK: Tables

  /// Only the contender's own processes run during its turn, so one clock counts all of them.
  private func sign(_ key: Key) throws {
    let request = try request(key)
    let (mine, peer) = try (KeySocket(ours), KeySocket(theirs))
    let contenders = { (goals: [Goal]) in
      [("coffer, face and agent", mine, goals), ("ssh-agent", peer, [])].map { name, socket, goals in
        Contender(name: name, count: key.signatures, goals: goals) { _ in
          // SSH_AGENT_SIGN_RESPONSE
          guard try socket.ask(request).first == 14 else { throw Shell.Failed(line: "\(name) signs by \(key.name)") }
        }
      }
    }
    try Measure.table("A login's signature by \(key.name), round trip", rounds: 21, clock: .wall, contenders(key.goals))
    try Measure.table("The same, processor time", rounds: 21, clock: .processes(processes()), contenders([]))
  }

  private func list() throws {
    let more = Self.mostKeys - Self.keys.count
    try Shell.run("for n in $(seq \(more)); do \(program) ssh new more/$n --quiet || exit; done")
    try Shell.run("for n in $(seq \(more)); do ssh-keygen -q -N '' -t ed25519 -f \(home)/more.$n || exit; done")
    try Shell.run("SSH_AUTH_SOCK=\(theirs) ssh-add -q $(seq -f '\(home)/more.%.0f' \(more))")
    let (mine, peer) = try (KeySocket(ours), KeySocket(theirs))
    let ask = { (socket: KeySocket) in
      // SSH_AGENTC_REQUEST_IDENTITIES, SSH_AGENT_IDENTITIES_ANSWER
      let answer = try socket.ask([0, 0, 0, 1, 11])
      guard answer.starts(with: [12] + KeySocket.number(UInt32(Self.mostKeys))) else { throw Shell.Failed(line: "list of keys") }
    }
    let goal = Goal.microseconds(5000)
    try Measure.table(
      "A list of \(Self.mostKeys) keys", rounds: 21, clock: .wall,
      [
        Contender(name: "coffer, face and agent", count: 20, goals: [goal]) { _ in try ask(mine) },
        Contender(name: "ssh-agent", count: 20) { _ in try ask(peer) },
      ])
    // A commit makes the agent read its keys again.
    var first: [Double] = [], second: [Double] = []
    for _ in 0..<15 {
      try Shell.run("printf s3cret | \(program) vault set other --quiet")
      for isFirst in [true, false] {
        let start = Clock.wall.now
        try ask(mine)
        if isFirst { first.append(Clock.wall.now - start) } else { second.append(Clock.wall.now - start) }
      }
    }
    let result = Result(
      microseconds: Measure.median(first), ratio: Measure.median(zip(first, second).map { $0 / $1 }),
      difference: Measure.median(zip(first, second).map { $0 - $1 }))
    print("\nThe first list after a commit; the peer is the second")
    Measure.line("coffer, face and agent", result, [goal])
  }

  // MARK: Requests

  /// SSH_AGENTC_SIGN_REQUEST for a login. Sources: RFC 9987 (SSH agent); RFC 4252, section 7.
  private func request(_ key: Key) throws -> [UInt8] {
    let words = try String(contentsOfFile: "\(home)/\(key.name).pub", encoding: .utf8).split(separator: " ")
    guard words.count > 1, let data = Data(base64Encoded: String(words[1])) else { throw Shell.Failed(line: "ssh-keygen") }
    let blob = KeySocket.string([UInt8](data))
    let texts = ["git", "ssh-connection", "publickey", key.algorithm].map { KeySocket.string(Array($0.utf8)) }
    let session = KeySocket.string([UInt8](repeating: 7, count: 32))
    let login: [[UInt8]] = [session, [50], texts[0], texts[1], texts[2], [1], texts[3], blob]
    let request: [[UInt8]] = [[13], blob, KeySocket.string(Array(login.joined())), KeySocket.number(key.flags)]
    return KeySocket.string(Array(request.joined()))
  }
}
