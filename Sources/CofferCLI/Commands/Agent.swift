internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferPlatform
internal import CofferTerminal

struct AgentCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "agent", abstract: "Manage the agent, which keeps the vault unlocked for your shells.",
    discussion: """
      'coffer unlock' starts it if none runs. It serves only programs of the same user, and hands out items, never the vault's \
      key. It locks each vault after a time without use, after a working day, and after the machine was suspended.
      """,
    subcommands: [AgentRunCommand.self, AgentInstallCommand.self, AgentStopCommand.self])
}

struct AgentRunCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Run the agent, locked; 'coffer unlock' starts and unlocks it.",
    discussion: "SIGUSR1 locks it; SIGTERM, SIGINT and SIGHUP end it.")

  @Flag(help: "Run it in the background; return once it listens.") var detach = false
  // Written to once clients can connect.
  @Option(help: .hidden) var readyFd: Int32?
  @OptionGroup var times: AgentTimes
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    guard !detach else {
      try DetachedAgent.start(times, context)
      return try AgentReport(context.agentStatus()).print(context, json: options.json)
    }
    // A pipe would never end while a process that outlives the shell holds it.
    if let readyFd { coffer_close_from(readyFd + 1) }
    // Before there are threads, so that only this one takes signals.
    let held = HeldSignals([SIGINT, SIGTERM, SIGHUP, SIGUSR1])
    let server = try AgentServer(times.settings(context))
    // A background process must not keep a folder from being unmounted.
    if readyFd != nil { _ = chdir("/") }
    tellReady()
    context.note("the agent listens in \(context.places.run)")
    let service = ServiceThread("agent") { () throws(StoreError) in try server.run() }
    while held.wait() == SIGUSR1, !service.isOver { server.lockVaults() }
    if let failure = service.stop({ server.stop() }) { throw failure }
  }

  private func tellReady() {
    guard let readyFd else { return }
    var ready = DetachedAgent.ready
    _ = write(readyFd, &ready, 1)
    close(readyFd)
    // The agent's starter reads no more.
    let nowhere = coffer_open("/dev/null", O_RDWR | O_CLOEXEC, 0)
    guard nowhere >= 0 else { return }
    dup2(nowhere, STDERR_FILENO)
    close(nowhere)
  }
}

struct AgentStopCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "stop", abstract: "Wipe the agent's keys and end it.", discussion: "Exits with 1 if none runs.")

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let client = AgentClient(folder: context.places.run)
    do throws(StoreError) { try client.stop() } catch {
      guard error.kind == .noAgent else { throw error }
      var failure = Failure(StoreError(.notFound, "no agent is running", place: error.place, cure: ""))
      failure.cure = nil
      throw failure
    }
    // The keys are wiped by now. Another agent needs the socket's name, which goes a moment later: seconds on a busy
    // machine.
    for _ in 0..<15_000 {
      // The socket may go during the request.
      do throws(StoreError) { guard try client.isRunning() else { break } } catch {}
      usleep(2_000)
    }
    context.done("stopped: the agent has wiped its keys; 'coffer unlock' starts another")
  }
}
