internal import Coffer
package import CofferMemory
internal import CofferPlatform

/// Another program that gets a secret on its standard input, or prints one, and may take so long and no longer. What it says is
/// not shown: it may repeat what it was given.
package struct BoundedCommand: ~Copyable {
  package let status: Int32
  /// What it printed, where that was asked for.
  package let output: SecretBytes

  /// Ten seconds: a program that only passes on some bytes takes milliseconds, and some hundred times that on a machine that is
  /// busy.
  static let standardPatience = Duration.seconds(10)
  /// Variables that say where the session's display and its files are. All others stay behind, secrets among them.
  package static let inherited = [
    "HOME", "PATH", "LANG", "TMPDIR", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
  ]

  /// Runs it in a session of its own: it may stay behind to hand the clipboard out, when this terminal is closed too. Its streams
  /// are not ours, which would then never end.
  ///
  /// - Parameters:
  ///   - limit: how much it may print; nil where it is not asked to print, and its output goes nowhere.
  ///   - signals: those that end it, and are held meanwhile: see ``HeldSignals``.
  /// - Throws: a failure of status 126 or 127 where it cannot be started; `.io(ETIMEDOUT)` where it took too long, and
  ///   `.io(EINTR)` for one of the signals, which waits to be taken: it was killed then.
  package static func run(
    _ words: [String], input: borrowing SecretBytes, limit: Int? = nil, patience: Duration = standardPatience,
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
      // With all that it started: they are of its session.
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

  /// What goes to and fro until a deadline.
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
      // One that would print more than it may is not kept waiting.
      answer.closeReading()
      let status = try wait(child)
      guard isTaken || status != 0 else {
        throw StoreError(.io(EPIPE), "\(name) did not take the value", cure: BoundedCommand.cure(name))
      }
      return BoundedCommand(status: status, output: output)
    }

    /// Hands over all of `input`; false where the program reads no more before that.
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
      // One byte more than allowed tells that it was too much.
      var bytes = try SecretBytes(zeros: limit + 1)
      var count = 0
      while count <= limit {
        let read = bytes.withUnsafeMutableBytes { out in
          // Not the reader of secrets, which waits for what is not there yet.
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

    /// Milliseconds after which a signal is looked for again: a person does not notice them.
    private static let nap: Int32 = 50

    private func goOn() throws {
      guard left > 0 else { throw late }
      guard !HeldSignals.isPending(one: signals) else {
        throw StoreError(.io(EINTR), "interrupted", cure: BoundedCommand.cure(name))
      }
    }

    private var left: Int64 { deadline - coffer_time_awake() }
    private var late: StoreError {
      StoreError(.io(ETIMEDOUT), "\(name) does not come to an end, and was killed", cure: BoundedCommand.cure(name))
    }
  }

  package static func cure(_ name: String) -> String { "run \(name) by hand to see what it says, or choose another: --clipboard" }
}
