internal import ArgumentParser
internal import CofferMemory
internal import CofferPlatform
internal import CofferTerminal
internal import SystemPackage

/// This program in the background, until it clears the clipboard.
///
/// It is not the agent, which may be absent, locked or stopped, or belong to another session than the display. It has no
/// terminal and its own session, so that it outlives the shell and its window. It knows only a tag of the value: an HMAC
/// under a secret key. Both come over a pipe and stay in guarded memory.
struct ClipboardKeeper {
  fileprivate static let digest = SecretDigest.sha256
  fileprivate static let keyBytes = 32
  fileprivate static let (task, ready): (Int32, Int32) = (3, 4)
  /// As long as an agent may take to start.
  private static let patience: Int32 = 60_000
  private let pipe: Pipe
  private let child: pid_t

  /// Starts it. It waits for a value, and ends if this process ends without one. Its time begins when the pipe is closed, by
  /// ``begin()`` or by the end of this process.
  init(_ tool: ClipboardTool, _ seconds: Int) throws {
    let (task, ready) = (try Pipe(), try Pipe())
    var keeper = SecondProcess.child(
      [ClipboardKeeperCommand.configuration.commandName ?? "", tool.rawValue, "\(seconds)"],
      ProcessEnvironment.entries(BoundedCommand.inherited),
      [0: .null, 1: .null, 2: .null, Self.task: .descriptor(task.reading), Self.ready: .descriptor(ready.writing)])
    (keeper.deadly, keeper.hasOwnSession) = ([], true)
    child = try keeper.start {
      StoreError(errno: $0, "start the process that clears the clipboard", place: FilePath(SecondProcess.executable))
    }
    ready.closeWriting()
    task.closeReading()
    var waiting = pollfd(fd: ready.reading, events: Int16(POLLIN), revents: 0)
    var byte: UInt8 = 0
    guard poll(&waiting, 1, Self.patience) > 0, SecretReader.readOnce(ready.reading, &byte, 1) == 1 else {
      kill(child, SIGKILL)
      throw StoreError(
        .io(ECHILD), "the process that clears the clipboard could not be started, and nothing was copied",
        cure: "--clear-after 0, then clear it by hand")
    }
    pipe = task
  }

  /// Announces that `value` may be on the clipboard from now on.
  func keep(_ value: borrowing SecretBytes) throws {
    let key = try SecretBytes.random(Self.keyBytes)
    let tag = try value.withUnsafeBytes { try Self.digest.authenticate($0, with: key) }
    try key.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: pipe.writing) }
    try tag.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: pipe.writing) }
  }

  func begin() { pipe.closeWriting() }

  func clearNow() {
    kill(child, SIGTERM)
    pipe.closeWriting()
  }
}

/// The command that ``ClipboardKeeper`` starts. No person calls it.
struct ClipboardKeeperCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clipboard-keeper", abstract: "Clear the clipboard later.", shouldDisplay: false)

  @Argument(help: .hidden) var tool: ClipboardTool
  @Argument(help: .hidden) var seconds: Int

  func run() throws {
    // A process that outlives the shell must not keep its files open: a pipe would never end.
    coffer_close_from(ClipboardKeeper.ready + 1)
    for end in [ClipboardKeeper.task, ClipboardKeeper.ready] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    signal(SIGHUP, SIG_IGN)
    // They end the wait, and must not keep it from clearing.
    var signals = HeldSignals([SIGTERM, SIGINT])
    var byte: UInt8 = 1
    guard write(ClipboardKeeper.ready, &byte, 1) == 1 else { return }
    close(ClipboardKeeper.ready)
    let count = ClipboardKeeper.keyBytes + ClipboardKeeper.digest.count
    let task = try SecretReader.read(ClipboardKeeper.task, limit: count, what: "the task", place: "pipe")
    close(ClipboardKeeper.task)
    // No value was announced.
    guard task.count == count else { return }
    wait(&signals)
    // A tool that fails may succeed in a moment.
    for pause in [1, 2, 4, 8] as [UInt32] {
      do { return try clear(task) } catch { sleep(pause) }
    }
    try clear(task)
  }

  private func clear(_ task: borrowing SecretBytes) throws {
    let content: SecretBytes?
    // A clipboard that cannot be read may hold the value. Losing other content is better than leaving a secret.
    do { content = try tool.content() } catch { return try tool.clear() }
    guard let content else { return }
    let key = try task.prefix(ClipboardKeeper.keyBytes)
    let tag = try content.withUnsafeBytes { try ClipboardKeeper.digest.authenticate($0, with: key) }
    let isSame = try task.suffix(ClipboardKeeper.digest.count).isEqual(to: tag)
    if isSame { try tool.clear() }
  }

  /// Until the time is over, which continues while the machine is suspended, or the session ends.
  private func wait(_ signals: inout HeldSignals) {
    let end = coffer_time_since_boot() + Int64(seconds) * 1_000_000_000
    while coffer_time_since_boot() < end, signals.next() == nil { usleep(100_000) }
  }
}
