internal import Coffer
internal import CofferPlatform
internal import CofferTerminal

/// A command whose output may pass through this process, which forwards its signals and ends as it does.
final class MaskedCommand {
  private final class Stream {
    let pipe: Pipe
    let target: Int32
    var mask: OutputMask
    var isOpen = true

    init(_ automaton: MaskAutomaton, to target: Int32) throws {
      pipe = try Pipe()
      self.target = target
      mask = try OutputMask(automaton, chunk: MaskedCommand.chunk)
    }
  }

  /// A pipe's capacity on Linux: more never comes at once.
  private static let chunk = 1 << 16

  /// A pipe with room takes this much without blocking: PIPE_BUF on Linux.
  private static let room = 4096

  private let streams: [Stream]
  private var signals: Int32 = -1
  private var child: pid_t = 0
  private var ending: Ending?
  /// A signal that came after the command's end, and ends the wait for processes that it left behind.
  private var last: Int32?
  private var failure: Failure?

  /// - Parameter automaton: nil leaves the output to the command.
  init(_ automaton: MaskAutomaton?) throws {
    streams = try automaton.map { [try Stream($0, to: STDOUT_FILENO), try Stream($0, to: STDERR_FILENO)] } ?? []
  }

  /// Runs the command and forwards all its output, also that of its descendants, to the end of both streams, as a pipe
  /// would.
  ///
  /// - Parameter prepare: begins what serves the command, on threads that get none of its signals.
  /// - Throws: a failure of status 74 if the output could not be written. The command saw a closed pipe and has ended.
  func run(_ launch: Launch, after prepare: () throws -> Void = {}) throws -> Ending {
    var before = sigset_t()
    var handled = sigset_t()
    sigfillset(&handled)
    for signal in Self.unhandled { sigdelset(&handled, signal) }
    pthread_sigmask(SIG_BLOCK, &handled, &before)
    signals = coffer_signal_descriptor(&handled)
    guard signals >= 0 else { throw StoreError(errno: errno, "wait for signals", place: "signals") }
    defer { close(signals) }
    try prepare()
    child = try launch.start(output: streams.first?.pipe.writing, messages: streams.last?.pipe.writing, signals: before)
    for stream in streams { stream.pipe.closeWriting() }
    while ending == nil || (last == nil && streams.contains(where: \.isOpen)) { wait() }
    for stream in streams where stream.isOpen { finish(stream) }
    // Signals that the last write sent to this process would end it.
    handleSignals()
    pthread_sigmask(SIG_SETMASK, &before, nil)
    if let failure { throw failure }
    return last.map { .killed($0) } ?? ending ?? .exited(0)
  }

  // MARK: Signals

  /// Unhandled signals: two that no process can catch, those of faults of this program, and those by which the terminal
  /// stops background processes.
  private static let unhandled = [SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGTTIN, SIGTTOU]

  private func wait() {
    let open = streams.filter(\.isOpen)
    var waiting = open.map { pollfd(fd: $0.pipe.reading, events: Int16(POLLIN), revents: 0) }
    waiting.append(pollfd(fd: signals, events: Int16(POLLIN), revents: 0))
    guard poll(&waiting, nfds_t(waiting.count), -1) > 0 else { return }
    for (stream, state) in zip(open, waiting) where state.revents != 0 { pass(stream) }
    if waiting[open.count].revents != 0 { handleSignals() }
  }

  private func handleSignals() {
    var isFromKernel = false
    while case let signal = coffer_next_signal(signals, &isFromKernel), signal > 0 {
      guard ending == nil else {
        if Self.ends(signal) { last = signal }
        continue
      }
      switch signal {
      case SIGCHLD: look()
      // The terminal sends these to the command as well, which is in the same process group: it must not get them twice.
      case SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGHUP: if !isFromKernel { kill(child, signal) }
      default: kill(child, signal)
      }
    }
  }

  /// Whether a signal ends a program that does not handle it.
  private static func ends(_ signal: Int32) -> Bool { ![SIGCHLD, SIGCONT, SIGTSTP, SIGURG, SIGWINCH].contains(signal) }

  private func look() {
    var status: Int32 = 0
    while case let found = waitpid(child, &status, WNOHANG | WUNTRACED), found != 0 {
      guard found == child else {
        // The command's end is unknown then. A failed wait must not become an endless one.
        failure = failure ?? Failure(StoreError(errno: errno, "wait for the command", place: "process")).afterStart
        ending = .exited(ExitStatus.io.rawValue)
        return
      }
      // The macro WIFSTOPPED, which Swift does not import.
      if status & 0xFF == 0x7F {
        // A shell that sees us stopped gives the terminal back to its user. When we continue, we wake the command.
        kill(getpid(), SIGSTOP)
        kill(child, SIGCONT)
      } else {
        ending = Ending(status)
        return
      }
    }
  }

  // MARK: Output

  private func pass(_ stream: Stream) {
    do throws(Failure) {
      let got = try stream.mask.take(
        { SecretReader.readOnce(stream.pipe.reading, $0.baseAddress, $0.count) },
        { (raw) throws(Failure) in try write(raw, to: stream.target) })
      if got <= 0 { finish(stream) }
    } catch { abandon(stream, error) }
  }

  private func finish(_ stream: Stream) {
    stream.isOpen = false
    do throws(Failure) {
      try stream.mask.finish { (raw) throws(Failure) in try write(raw, to: stream.target) }
    } catch { abandon(stream, error) }
  }

  /// Writes in pieces that do not block, so that signals reach the command while nobody reads its output. After a signal has
  /// ended the wait, unread output is dropped.
  private func write(_ bytes: UnsafeRawBufferPointer, to target: Int32) throws(Failure) {
    var rest = bytes
    while !rest.isEmpty, hasRoom(target) {
      let size = min(rest.count, Self.room)
      try Output.write(UnsafeRawBufferPointer(rebasing: rest[..<size]), to: target)
      rest = UnsafeRawBufferPointer(rebasing: rest[size...])
    }
  }

  /// Waits until `target` can be written or reports an error; false if a signal ended the wait.
  private func hasRoom(_ target: Int32) -> Bool {
    while true {
      var waiting = [
        pollfd(fd: target, events: Int16(POLLOUT), revents: 0), pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&waiting, nfds_t(waiting.count), last == nil ? -1 : 0)
      if ready > 0, waiting[1].revents != 0 { handleSignals() }
      if ready > 0, waiting[0].revents != 0 { return true }
      if ready <= 0, last != nil { return false }
    }
  }

  /// The output cannot be written: the command's next write fails, as it would without us. A closed pipe is left to the
  /// command; any other failure is reported after its end.
  private func abandon(_ stream: Stream, _ error: Failure) {
    stream.isOpen = false
    stream.pipe.closeReading()
    if error.status != .pipeClosed { failure = failure ?? error.afterStart }
  }
}
