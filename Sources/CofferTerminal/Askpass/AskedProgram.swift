internal import Coffer
internal import CofferPlatform

/// A started program with a deadline. All that it starts is in its session, which ends with it and with this process.
final class AskedProgram {
  private let path: String
  private let process: pid_t
  private let output: Pipe
  private let input: Pipe?
  private let deadline: ContinuousClock.Instant
  private let patience: Duration
  private var signals = HeldSignals([SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  private var status: Int32?

  /// Milliseconds between checks of the clock and the signals: see `Terminal`.
  private static let look: Int32 = 50
  /// Checks before a program that was asked to end is killed.
  private static let farewell = 20

  /// - Parameter hasInput: otherwise its input is empty.
  init(_ path: String, _ words: [String], hasInput: Bool, patience: Duration) throws {
    (self.path, self.patience, deadline) = (path, patience, .now + patience)
    output = try Pipe()
    input = hasInput ? try Pipe() : nil
    process = try Self.start(path, words, output: output.writing, input: input?.reading)
    output.closeWriting()
    input?.closeReading()
  }

  deinit { if status == nil { Self.stop(process) } }

  private static func start(_ path: String, _ words: [String], output: Int32, input: Int32?) throws -> pid_t {
    var environment = ChildEnvironment()
    // A program that gets a secret from the vault must not be asked by the command that it starts.
    try environment.set("COFFER_ASKPASS", "")
    try environment.set("SSH_ASKPASS_REQUIRE", "never")
    let child = CStrings.lend(([path] + words).map { ByteWord($0) }) { argv in
      environment.lend { coffer_spawn_guarded(path, argv, $0, input ?? -1, output, -1, 0) }
    }
    guard child > 0 else { throw Askpass.noAnswer(path, "it cannot be started: \(String(cString: strerror(errno)))") }
    return child
  }

  /// Reads output into `buffer` after `at` bytes; 0 at its end.
  package func read(into buffer: inout SecretBytes, at: Int) throws -> Int {
    guard at < buffer.count else { throw Askpass.noAnswer(path, "its answer is longer than \(buffer.count) bytes") }
    try wait { output in
      var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      return poll(&waiting, 1, Self.look) > 0
    }
    let descriptor = output.reading
    let got = buffer.withUnsafeMutableBytes { raw in
      SecretReader.readOnce(descriptor, raw.baseAddress.map { $0 + at }, raw.count - at)
    }
    guard got >= 0 else { throw Failure(StoreError(errno: errno, "read the answer of", place: FilePath(path))) }
    return got
  }

  func write(_ text: String) throws {
    guard let input else { return }
    let written = Array(text.utf8).withUnsafeBytes { systemWrite(input.writing, $0.baseAddress, $0.count) }
    guard written == text.utf8.count else { throw Askpass.noAnswer(path, "it ended before it was asked") }
  }

  /// The status that a shell reports.
  func end() throws -> Int32 {
    input?.closeWriting()
    let process = process
    var raw: Int32 = 0, found: pid_t = 0
    try wait { _ in
      found = waitpid(process, &raw, WNOHANG)
      if found != 0 { return true }
      usleep(UInt32(Self.look) * 100)
      return false
    }
    let code = errno
    let ended = Ending(raw).status
    // Its process id may now belong to another process.
    status = ended
    guard found == process else { throw Failure(StoreError(errno: code, "wait for the program", place: FilePath(path))) }
    return ended
  }

  /// Waits until `isOver` or the deadline, and handles signals.
  private func wait(until isOver: (Int32) -> Bool) throws {
    while !isOver(output.reading) {
      if let signal = signals.next() {
        // The program ends before the signal takes effect.
        Self.stop(process)
        status = 128 + signal
        guard signal != SIGINT else { throw Failure.interrupted }
        signals.deliver(signal)
      }
      guard ContinuousClock.now < deadline else {
        throw Askpass.noAnswer(path, "it did not answer within \(patience.components.seconds) s and was ended")
      }
    }
  }

  private static func stop(_ process: pid_t) {
    kill(-process, SIGTERM)
    for _ in 0..<farewell where waitpid(process, nil, WNOHANG) == 0 { usleep(UInt32(look) * 1000) }
    kill(-process, SIGKILL)
    Ending.discard(process)
  }
}
