internal import Coffer
package import CofferMemory
internal import CofferPlatform

/// A program with a deadline that gets or prints a secret. Its messages are not shown: they may repeat the secret.
package struct BoundedCommand: ~Copyable {
  package let status: Int32
  /// Empty unless requested.
  package let output: SecretBytes

  /// Variables that locate the session's display and files. Others may hold secrets, and are withheld.
  package static let inherited = [
    "HOME", "PATH", "LANG", "TMPDIR", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
  ]

  /// Runs it in its own session: it may stay to serve the clipboard after this terminal is closed. It does not get our
  /// streams, which would then never end.
  ///
  /// - Parameters:
  ///   - limit: the most that it may print; nil discards its output.
  ///   - patience: passing bytes on takes milliseconds, and about a hundred times that on a busy machine.
  ///   - signals: these end it, and are held meanwhile: see ``HeldSignals``.
  /// - Throws: a failure of status 126 or 127 if it cannot be started; `.io(ETIMEDOUT)` if it took too long, and
  ///   `.io(EINTR)` for one of the signals, which stays pending: it was killed then.
  package static func run(
    _ words: [String], input: borrowing SecretBytes, limit: Int? = nil, patience: Duration = .seconds(10),
    endsOn signals: [Int32] = []
  ) throws -> BoundedCommand {
    let deadline =
      coffer_time_awake() + patience.components.seconds * 1_000_000_000 + patience.components.attoseconds / 1_000_000_000
    let (feed, answer) = (try Pipe(), try Pipe())
    let child = try start(words, feed.reading, limit == nil ? nil : answer.writing)
    feed.closeReading()
    answer.closeWriting()
    do {
      let exchange = Exchange(words[0], feed, answer, deadline, signals)
      return try exchange.finish(child, input, limit)
    } catch {
      // With its session: all that it started.
      kill(-child, SIGKILL)
      Ending.discard(child)
      throw error
    }
  }

  private static func start(_ words: [String], _ input: Int32, _ output: Int32?) throws -> pid_t {
    let executable = try Executable.find(ByteWord(words[0]), path: ProcessEnvironment.word("PATH"))
    var child = Child(
      executable, words.map { ByteWord($0) }, .exactly(ProcessEnvironment.entries(inherited)),
      [0: .descriptor(input), 1: output.map(Child.Stream.descriptor) ?? .null, 2: .null])
    child.hasOwnSession = true
    return try child.start { Executable.failure(ByteWord(words[0]), $0) }
  }

  private struct Exchange {
    let name: String
    let feed: Pipe
    let answer: Pipe
    /// In nanoseconds of `coffer_time_awake`.
    let deadline: Int64
    let signals: [Int32]

    init(_ name: String, _ feed: Pipe, _ answer: Pipe, _ deadline: Int64, _ signals: [Int32]) {
      (self.name, self.feed, self.answer, self.deadline, self.signals) = (name, feed, answer, deadline, signals)
      for end in [feed.writing, answer.reading] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    }

    func finish(_ child: pid_t, _ input: borrowing SecretBytes, _ limit: Int?) throws -> BoundedCommand {
      let isTaken = try send(input)
      feed.closeWriting()
      let output = try limit.map { (limit) throws in try receive(limit) } ?? SecretBytes(zeros: 0)
      // A program that prints too much must not wait.
      answer.closeReading()
      let status = try wait(child)
      guard isTaken || status != 0 else {
        throw StoreError(.io(EPIPE), "\(name) did not take the value", cure: BoundedCommand.cure(name))
      }
      return BoundedCommand(status: status, output: output)
    }

    /// False if the program stops reading before the end of `input`.
    func send(_ input: borrowing SecretBytes) throws -> Bool {
      try input.withUnsafeBytes { raw in
        var rest = raw
        while !rest.isEmpty {
          let written = systemWrite(feed.writing, rest.baseAddress, rest.count)
          if written >= 0 {
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
          } else if errno == EPIPE {
            return false
          } else if errno == EAGAIN {
            try waitFor(feed.writing, Int16(POLLOUT))
          } else if errno != EINTR {
            throw StoreError(errno: errno, "write to \(name)", place: "pipe")
          }
        }
        return true
      }
    }

    func receive(_ limit: Int) throws -> SecretBytes {
      // One byte more detects an excess.
      var bytes = try SecretBytes(zeros: limit + 1)
      var count = 0
      while count <= limit {
        let read = bytes.withUnsafeMutableBytes { out in
          // Not the reader of secrets, which would block.
          systemRead(answer.reading, out.baseAddress.map { $0 + count }, out.count - count)
        }
        if read == 0 { break }
        if read > 0 {
          count += read
        } else if errno == EAGAIN {
          try waitFor(answer.reading, Int16(POLLIN))
        } else if errno != EINTR {
          throw StoreError(errno: errno, "read from \(name)", place: "pipe")
        }
      }
      bytes.truncate(to: count)
      return bytes
    }

    func wait(_ child: pid_t) throws -> Int32 {
      var status: Int32 = 0
      while true {
        let ended = waitpid(child, &status, WNOHANG)
        if ended == child { return Ending(status).status }
        guard ended == 0 || errno == EINTR else { throw StoreError(errno: errno, "wait for \(name)", place: "process") }
        try goOn()
        usleep(1_000)
      }
    }

    private func waitFor(_ end: Int32, _ events: Int16) throws {
      var waiting = pollfd(fd: end, events: events, revents: 0)
      try goOn()
      _ = poll(&waiting, 1, min(Self.nap, Int32(clamping: left / 1_000_000 + 1)))
    }

    /// Milliseconds: not noticeable.
    private static let nap: Int32 = 50

    private func goOn() throws {
      guard left > 0 else {
        throw StoreError(.io(ETIMEDOUT), "\(name) did not end and was killed", cure: BoundedCommand.cure(name))
      }
      guard !HeldSignals.isPending(one: signals) else {
        throw StoreError(.io(EINTR), "interrupted", cure: BoundedCommand.cure(name))
      }
    }

    private var left: Int64 { deadline - coffer_time_awake() }
  }

  package static func cure(_ name: String) -> String {
    "run \(name) by hand to see its messages, or choose another with --clipboard"
  }
}
