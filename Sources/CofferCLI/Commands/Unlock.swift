internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferPlatform

struct UnlockCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: "Unlock the vault for all your shells, until it locks again.",
    discussion: """
      Starts the agent where none runs, and hands it what opens the vault. --idle and --lifetime are those of an agent that is \
      started here. Further wrong secrets after the third have to wait longer and longer (exit status 75).
      """)

  @OptionGroup var options: Opening<AgentOptions>

  func perform(_ session: Session) throws {
    guard !options.given.noAgent else {
      throw Failure.usage("there is nothing to unlock without the agent", try: "coffer unlock without --no-agent")
    }
    let vault = try session.lockedVault()
    let times = options.others.times
    if try session.agentStatus() == nil {
      try DetachedAgent.start(times, session)
    } else if times.idle != nil || times.lifetime != nil {
      session.note("an agent runs already and keeps its times; coffer agent stop ends it")
    }
    // Asked for only now: a passphrase is typed once the agent is known to be there.
    let credentials = try session.credentials(for: vault)
    let client = AgentClient(folder: try session.runFolder(), vault: session.places.vault, options: vault.options)
    try AgentReport(client.unlock(with: credentials)).print(session, json: options.json)
  }
}

/// How long an agent keeps the keys, beside what commands share.
struct AgentOptions: CommandOptions {
  @OptionGroup var times: AgentTimes
  @OptionGroup var answer: AnswerOptions

  var common: CommonOptions { answer.common }
  var json: Bool { answer.json }
}

struct LockCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "lock", abstract: "Have the agent wipe its keys; it stays for the next 'coffer unlock'.",
    discussion: "Where no agent runs there is nothing to lock, and that is no error.")

  @OptionGroup var options: AnswerOptions

  func perform(_ session: Session) throws {
    guard let run = session.places.run else { return }
    do throws(StoreError) { try AgentClient(folder: run).lock() } catch { guard error.kind == .locked else { throw error } }
  }
}

/// This program as an agent in the background: in a session of its own, so that it has no terminal and outlives the shell.
enum DetachedAgent {
  /// Variables that say where things are. All others stay behind, secrets among them.
  private static let inherited = [
    "HOME", "PATH", "LANG", "TMPDIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
  ]
  /// Milliseconds that an agent may take to listen. One that ends before is noticed at once, so this is for a machine on which a
  /// program takes its time to start.
  private static let patience: Int32 = 60_000

  /// Starts one and returns when clients can connect.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/alreadyExists`` when one runs, ``/CofferPlatform/StoreError/Kind/io(_:)`` when it could not be started.
  static func start(_ times: AgentTimes, _ session: Session) throws {
    if let running = try session.agentStatus() {
      throw StoreError(
        .alreadyExists, "an agent is running, process \(running.process)", place: try session.runFolder().string,
        cure: "coffer unlock uses it, coffer agent stop ends it")
    }
    let ready = try Pipe()
    let child = try spawn(
      ["agent", "start", "--foreground", "--quiet", "--ready-fd", "3"] + times.arguments, ready.writing, session)
    ready.closeWriting()
    var waiting = pollfd(fd: ready.reading, events: Int16(POLLIN), revents: 0)
    var byte: UInt8 = 0
    guard poll(&waiting, 1, patience) > 0, SecretReader.readOnce(ready.reading, &byte, 1) == 1 else {
      // Two may start at once: then the other one is there.
      if try session.agentStatus() != nil { return }
      kill(child, SIGTERM)
      throw StoreError(
        .io(ECHILD), "the agent could not be started", place: try session.runFolder().string,
        cure: "coffer agent start --foreground says why")
    }
  }

  private static func spawn(_ arguments: [String], _ ready: Int32, _ session: Session) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // First, since the pipe may have the number of a standard stream that was closed.
    posix_spawn_file_actions_adddup2(&actions, ready, 3)
    for descriptor in 0..<Int32(3) { posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(coffer_spawn_new_session()) | Int16(POSIX_SPAWN_SETSIGMASK))
    let environment =
      ProcessEnvironment.entries(inherited) + (session.places.home.map { [ByteWord("COFFER_HOME=\($0)")] } ?? [])
    var child: pid_t = 0
    let status = CStrings.lend(["coffer"] + arguments) { argv in
      CStrings.lend(environment) { posix_spawn(&child, SecondProcess.executable, &actions, &attributes, argv, $0) }
    }
    guard status == 0 else { throw StoreError(errno: status, "start the agent", place: FilePath(SecondProcess.executable)) }
    return child
  }
}

/// What commands print of an agent.
struct AgentReport: Encodable {
  let running: Bool
  let process: Int32?
  let vault: String?, unlocked: String?, locked: String?
  /// Seconds.
  let idle: Int64?, lifetime: Int64?, idleLeft: Int64?, lifetimeLeft: Int64?
  let connections: Int?, unlockedMemory: Int?

  init(_ status: AgentStatus?) {
    running = status != nil
    process = status?.process
    vault = status?.vault.string
    unlocked = status?.unlocked?.description
    locked = status.flatMap { $0.unlocked == nil ? $0.whyLocked : nil }
    idle = status?.idle.components.seconds
    lifetime = status?.lifetime.components.seconds
    let isUnlocked = status?.unlocked != nil
    idleLeft = isUnlocked ? status?.idleLeft.components.seconds : nil
    lifetimeLeft = isUnlocked ? status?.lifetimeLeft.components.seconds : nil
    // The connection that asks is no news.
    connections = status.map { $0.connections - 1 }
    unlockedMemory = status?.unlockedMemory
  }

  enum CodingKeys: String, CodingKey {
    case running, process, vault, unlocked, locked, idle, lifetime, idleLeft, lifetimeLeft, connections, unlockedMemory
  }

  // Every field is always there, null where it does not apply.
  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(running, forKey: .running)
    try fields.encode(process, forKey: .process)
    try fields.encode(vault, forKey: .vault)
    try fields.encode(unlocked, forKey: .unlocked)
    try fields.encode(locked, forKey: .locked)
    try fields.encode(idle, forKey: .idle)
    try fields.encode(lifetime, forKey: .lifetime)
    try fields.encode(idleLeft, forKey: .idleLeft)
    try fields.encode(lifetimeLeft, forKey: .lifetimeLeft)
    try fields.encode(connections, forKey: .connections)
    try fields.encode(unlockedMemory, forKey: .unlockedMemory)
  }

  /// One clause: `unlocked; locks in 14 min without use, in 7 h 59 min at the latest`.
  var summary: String {
    guard running else { return "none; coffer unlock starts one" }
    guard let idleLeft, let lifetimeLeft else { return "locked: \(locked ?? ""); coffer unlock unlocks it" }
    return "unlocked; locks after \(Self.words(idleLeft)) without use, in \(Self.words(lifetimeLeft)) at the latest"
  }

  func print(_ session: Session, json: Bool) throws {
    if json { return try Output.line(JSONText.encode(self)) }
    session.note("agent: \(summary)")
  }

  /// `7 h 59 min`, `14 min` or `30 s`: rounded down.
  static func words(_ seconds: Int64) -> String {
    if seconds < 60 { return "\(seconds) s" }
    if seconds < 3600 { return "\(seconds / 60) min" }
    let minutes = seconds % 3600 / 60
    return "\(seconds / 3600) h" + (minutes == 0 ? "" : " \(minutes) min")
  }
}
