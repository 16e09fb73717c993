internal import Coffer
internal import CofferPlatform
internal import CofferPostgres
internal import CofferTerminal

/// This program as an agent in the background, in its own session: it outlives the shell.
enum DetachedAgent {
  /// Variables for places, also of the programs that carry a remote's files. All others are dropped, secrets among them.
  private static let inherited =
    [
      "HOME", "PATH", "LANG", "TMPDIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
      "XDG_CACHE_HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS",
    ] + PostgresVaults.variables
  /// Milliseconds for an agent to listen, for machines that start programs slowly: an early end is noticed at once.
  private static let patience: Int32 = 60_000

  /// Signals that clients can connect: no message begins with this byte.
  static let ready: UInt8 = 1

  /// Starts one that is no child of this process, which may become a command that waits for its children.
  static func startApart(_ context: Context) throws {
    let answer = try SecondProcess.run(["agent", "run", "--detach", "--quiet"], environment: variables(context))
    // Another command may have started one meanwhile.
    guard answer.status != ExitStatus.done.rawValue, answer.status != ExitStatus.cannotCreate.rawValue else { return }
    throw unstarted(answer.notes.trimmedEnd, ExitStatus(rawValue: answer.status))
  }

  private static func unstarted(_ messages: String, _ status: ExitStatus?) -> Failure {
    let parts = messages.split(separator: "\n  try: ", maxSplits: 1)
    let said = parts.first.map { $0.hasPrefix("coffer: ") ? String($0.dropFirst("coffer: ".count)) : String($0) }
    let what = "the agent could not be started"
    return Failure(
      status ?? .io, kind: "io", said.map { $0.hasPrefix(what) ? $0 : "\(what): \($0)" } ?? what,
      cure: parts.count > 1 ? String(parts[1]) : "coffer agent run")
  }

  /// Starts one and returns when clients can connect.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/alreadyExists`` if one runs, ``/CofferPlatform/StoreError/Kind/io(_:)`` if
  ///   it could not be started.
  static func start(_ times: AgentTimes, _ context: Context) throws {
    if let running = try context.agentStatus() {
      throw StoreError(
        .alreadyExists, "an agent is already running, process \(running.process)", place: context.places.run.string,
        cure: "coffer unlock uses it, coffer agent stop stops it")
    }
    let ready = try Pipe()
    // Until it is ready, it reports obstacles on standard error.
    var agent = SecondProcess.child(
      ["agent", "run", "--quiet", "--ready-fd", "3"] + times.arguments, variables(context),
      [0: .null, 1: .null, 2: .descriptor(ready.writing), 3: .descriptor(ready.writing)])
    (agent.deadly, agent.hasOwnSession) = ([], true)
    let child = try agent.start { StoreError(errno: $0, "start the agent", place: FilePath(SecondProcess.executable)) }
    ready.closeWriting()
    var waiting = pollfd(fd: ready.reading, events: Int16(POLLIN), revents: 0)
    // Clients can connect, or the reason for the agent's end.
    var said = [UInt8](repeating: 0, count: 4096)
    let count = poll(&waiting, 1, patience) > 0 ? SecretReader.readOnce(ready.reading, &said, said.count) : 0
    guard count < 1 || said[0] != DetachedAgent.ready else { return }
    // Another one may have started meanwhile.
    if try context.agentStatus() != nil { return }
    if count < 1 { kill(child, SIGTERM) }
    let ended: ExitStatus? = if case .exited(let status) = try Ending(of: child) { ExitStatus(rawValue: status) } else { nil }
    throw unstarted(String(decoding: said.prefix(max(0, count)), as: UTF8.self).trimmedEnd, ended == .done ? nil : ended)
  }

  private static func variables(_ context: Context) -> [ByteWord] {
    ProcessEnvironment.entries(inherited) + AgentPlaces.variables(context).map { ByteWord($0) }
  }
}

/// The places for an agent started from here, except standard ones: it has another current folder.
enum AgentPlaces {
  static func variables(_ context: Context) -> [String] {
    let home = context.places.home.map { "COFFER_HOME=\($0)" }
    let vault = context.variables["COFFER_VAULT"] == nil ? nil : "COFFER_VAULT=\(context.places.vault)"
    return [home, vault].compactMap(\.self)
  }

  /// Variables with non-standard places for a service, which has its own environment. libpq's are among them: a program may
  /// name a vault on a server to an agent that was installed for another.
  ///
  /// - Throws: a usage failure for a control character: a newline would begin another line of the service's file.
  static func allVariables(_ context: Context) throws -> [String] {
    let folders = context.places.home == nil ? ["XDG_DATA_HOME", "XDG_STATE_HOME"] : []
    // Each session of Kerberos has its own file, so that each unit would differ: a vault in a file needs none.
    let server = PostgresVaults.variables.filter { $0 != "KRB5CCNAME" || context.places.vault.path == nil }
    let all =
      variables(context)
      + (folders + server).compactMap { name in ProcessEnvironment.value(name).map { "\(name)=\($0)" } }
    for variable in all where variable.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      let name = String(variable.unicodeScalars.prefix { $0 != "=" })
      throw Failure.usage("\(name) contains a control character", try: "another value of \(name)")
    }
    return all
  }
}
