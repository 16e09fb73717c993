internal import Coffer
internal import CofferPlatform

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
  static func start(_ times: AgentTimes, _ context: Context) throws {
    if let running = try context.agentStatus() {
      throw StoreError(
        .alreadyExists, "an agent is running, process \(running.process)", place: try context.runFolder().string,
        cure: "coffer unlock uses it, coffer agent stop ends it")
    }
    let ready = try Pipe()
    let child = try spawn(
      ["agent", "start", "--foreground", "--quiet", "--ready-fd", "3"] + times.arguments, ready.writing, context)
    ready.closeWriting()
    var waiting = pollfd(fd: ready.reading, events: Int16(POLLIN), revents: 0)
    var byte: UInt8 = 0
    guard poll(&waiting, 1, patience) > 0, SecretReader.readOnce(ready.reading, &byte, 1) == 1 else {
      // Two may start at once: then the other one is there.
      if try context.agentStatus() != nil { return }
      kill(child, SIGTERM)
      throw StoreError(
        .io(ECHILD), "the agent could not be started", place: try context.runFolder().string,
        cure: "coffer agent start --foreground says why")
    }
  }

  private static func spawn(_ arguments: [String], _ ready: Int32, _ context: Context) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // First, since the pipe may have the number of a standard stream that was closed.
    posix_spawn_file_actions_adddup2(&actions, ready, 3)
    for descriptor in 0..<Int32(3) { posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0) }
    let environment = ProcessEnvironment.entries(inherited) + AgentPlaces.variables(context).map { ByteWord($0) }
    var child: pid_t = 0
    let status = SpawnAttributes.lend(endsOnClosedPipe: false, newSession: true) { attributes in
      CStrings.lend(["coffer"] + arguments) { argv in
        CStrings.lend(environment) { posix_spawn(&child, SecondProcess.executable, &actions, attributes, argv, $0) }
      }
    }
    guard status == 0 else { throw StoreError(errno: status, "start the agent", place: FilePath(SecondProcess.executable)) }
    return child
  }
}
