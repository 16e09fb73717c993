internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import Dispatch
internal import Synchronization

struct AgentStart: Command {
  static let configuration = CommandConfiguration(
    commandName: "start", abstract: "Start the agent, locked; 'coffer unlock' starts and unlocks it.",
    discussion: "SIGUSR1 has it lock; SIGTERM, SIGINT and SIGHUP end it.")

  @Flag(help: "Stay in this process, as a service manager wants it.") var foreground = false
  // The end of a pipe that is written to once clients can connect.
  @Option(help: .hidden) var readyFd: Int32?
  @OptionGroup var times: AgentTimes
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    guard foreground else {
      try DetachedAgent.start(times, session)
      return try AgentReport(session.agentStatus()).print(session, json: output.json)
    }
    // What the shell had open stays open in who outlives it: a pipe would never end.
    if let readyFd { coffer_close_from(readyFd + 1) }
    // Before there are threads, so that no thread but this one takes a signal.
    let held = HeldSignals([SIGINT, SIGTERM, SIGHUP, SIGUSR1])
    let server = try AgentServer(times.settings(session))
    // No folder shall be kept from being unmounted by a process that nobody sees.
    if readyFd != nil { _ = chdir("/") }
    tellReady()
    session.note("the agent listens in \(try session.runFolder())")
    let shared = Ending()
    let end = DispatchQueue(label: "coffer.agent")
    end.async { shared.run(server) }
    while held.wait() == SIGUSR1, !shared.isOver { server.lockVault() }
    server.stop()
    end.sync {}
    if let failure = shared.error { throw failure }
  }

  private func tellReady() {
    guard let readyFd else { return }
    var ready: UInt8 = 1
    _ = write(readyFd, &ready, 1)
    close(readyFd)
  }

  /// How the agent's loop ended.
  private final class Ending: Sendable {
    private let failure = Mutex<StoreError?>(nil)
    private let over = Atomic<Bool>(false)

    var isOver: Bool { over.load(ordering: .acquiring) }
    var error: StoreError? { failure.withLock { $0 } }

    func run(_ server: AgentServer) {
      do throws(StoreError) { try server.run() } catch { failure.withLock { $0 = error } }
      over.store(true, ordering: .releasing)
      // Whoever waits for signals shall look.
      kill(getpid(), SIGTERM)
    }
  }
}
