internal import CCofferPlatform
internal import Coffer

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A command whose output passes through this process, which hands its signals on and ends as it ends.
final class MaskedCommand {
  /// How a process ended.
  enum Ending {
    case exited(Int32)
    case killed(Int32)
  }

  /// One of its output streams.
  private final class Stream {
    let pipe: Pipe
    let target: Int32
    var mask: OutputMask
    var isOpen = true

    init(_ patterns: [OutputMask.Pattern], to target: Int32) throws {
      pipe = try Pipe()
      self.target = target
      mask = try OutputMask(patterns, chunk: MaskedCommand.chunk)
    }
  }

  /// A pipe's capacity on Linux: more never comes at once.
  private static let chunk = 1 << 16

  private let streams: [Stream]
  private var child: pid_t = 0
  private var ending: Ending?

  init(_ patterns: [OutputMask.Pattern]) throws {
    streams = [try Stream(patterns, to: STDOUT_FILENO), try Stream(patterns, to: STDERR_FILENO)]
  }

  /// Runs the command to its end.
  func run(_ launch: Launch) throws -> Ending {
    var before = sigset_t()
    var handled = sigset_t()
    sigemptyset(&handled)
    for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP, SIGALRM, SIGCHLD] {
      sigaddset(&handled, signal)
    }
    pthread_sigmask(SIG_BLOCK, &handled, &before)
    let signals = coffer_signal_descriptor(&handled)
    guard signals >= 0 else { throw StoreError(errno: errno, "wait for signals", place: "signals") }
    defer { close(signals) }
    child = try launch.start(output: streams[0].pipe.writing, messages: streams[1].pipe.writing, signals: before)
    for stream in streams { stream.pipe.closeWriting() }
    while ending == nil { try wait(for: signals, timeout: -1) }
    // What the command wrote is in the pipes now. A process that it left behind may keep them open, and is not waited for.
    while try drain(timeout: 0) {}
    for stream in streams where stream.isOpen { try finish(stream) }
    pthread_sigmask(SIG_SETMASK, &before, nil)
    return ending ?? .exited(0)
  }

  // MARK: Signals

  private func wait(for signals: Int32, timeout: Int32) throws {
    let open = streams.filter(\.isOpen)
    var waiting = open.map { pollfd(fd: $0.pipe.reading, events: Int16(POLLIN), revents: 0) }
    waiting.append(pollfd(fd: signals, events: Int16(POLLIN), revents: 0))
    guard poll(&waiting, nfds_t(waiting.count), timeout) > 0 else { return }
    for (stream, state) in zip(open, waiting) where state.revents != 0 { try pass(stream) }
    if waiting[open.count].revents != 0 { handle(signals) }
  }

  private func handle(_ signals: Int32) {
    var isFromKernel = false
    while case let signal = coffer_next_signal(signals, &isFromKernel), signal > 0 {
      switch signal {
      case SIGCHLD: look()
      // The terminal sends these to the command as well, which is in the same process group: twice would be once too often.
      case SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGHUP: if !isFromKernel { kill(child, signal) }
      default: kill(child, signal)
      }
    }
  }

  private func look() {
    var status: Int32 = 0
    // The macros WIFSTOPPED, WIFEXITED, WEXITSTATUS and WTERMSIG, which Swift does not import.
    while case let found = waitpid(child, &status, WNOHANG | WUNTRACED), found == child {
      if status & 0xFF == 0x7F {
        // A shell that sees us stopped gives the terminal back to its user; going on, we wake the command.
        kill(getpid(), SIGSTOP)
        kill(child, SIGCONT)
      } else {
        ending = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(status & 0x7F)
        return
      }
    }
  }

  // MARK: Output

  /// Passes on what is there; false when nothing is.
  private func drain(timeout: Int32) throws -> Bool {
    let open = streams.filter(\.isOpen)
    var waiting = open.map { pollfd(fd: $0.pipe.reading, events: Int16(POLLIN), revents: 0) }
    guard !open.isEmpty, poll(&waiting, nfds_t(waiting.count), timeout) > 0 else { return false }
    for (stream, state) in zip(open, waiting) where state.revents != 0 { try pass(stream) }
    return true
  }

  private func pass(_ stream: Stream) throws {
    do throws(Failure) {
      let got = try stream.mask.take(
        { SecretReader.readOnce(stream.pipe.reading, $0.baseAddress, $0.count) },
        { (raw) throws(Failure) in try Output.write(raw, to: stream.target) })
      if got <= 0 { try finish(stream) }
    } catch {
      // The reader is gone: the command shall learn it from its next write, as it would without us.
      guard error.status == .pipeClosed else { throw error }
      stream.isOpen = false
      stream.pipe.closeReading()
    }
  }

  private func finish(_ stream: Stream) throws(Failure) {
    stream.isOpen = false
    try stream.mask.finish { (raw) throws(Failure) in try Output.write(raw, to: stream.target) }
  }
}

extension MaskedCommand.Ending {
  /// Ends this process in the same way.
  func leave() -> Never {
    switch self {
    case .exited(let status): exit(status)
    case .killed(let number):
      signal(number, SIG_DFL)
      var one = sigset_t()
      sigemptyset(&one)
      sigaddset(&one, number)
      pthread_sigmask(SIG_UNBLOCK, &one, nil)
      raise(number)
      exit(128 + number)  // A signal that cannot end us: as a shell tells it.
    }
  }
}
