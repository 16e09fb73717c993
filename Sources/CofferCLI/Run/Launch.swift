internal import Coffer
internal import CofferMemory
internal import CofferPlatform
internal import CofferTerminal
internal import SystemPackage

struct Launch {
  let words: [ByteWord]
  let environment: ChildEnvironment
  let files: [(file: MemoryFile, target: Int32)]

  private var executable: ByteWord {
    get throws(Failure) { try Executable.find(words[0], path: environment.path) }
  }

  /// Becomes the command, and so has its signals, exit status and process id.
  ///
  /// - Throws: a failure of status 126 or 127; without one this does not return.
  func replaceProcess() throws -> Never {
    let executable = try executable
    for (file, target) in files where dup2(file.descriptor, target) < 0 {
      throw StoreError(errno: errno, "open descriptor \(target)", place: FilePath("descriptor \(target)"))
    }
    Hardening.restoreForReplacement()
    var code = execute(executable, words)
    // A script without an interpreter line runs in the shell, as in execvp(3).
    if code == ENOEXEC { code = execute(Self.shell, [Self.shell, executable] + words.dropFirst()) }
    throw Executable.failure(words[0], code)
  }

  private func execute(_ file: ByteWord, _ words: [ByteWord]) -> Int32 {
    CStrings.lend(words) { argv in
      environment.lend { envp in
        file.withCString { _ = execve($0, argv, envp) }
        return errno
      }
    }
  }

  /// Starts the command as a child with its output to `output` and `messages`.
  func start(output: Int32, messages: Int32, signals: sigset_t) throws -> pid_t {
    let executable = try executable
    Hardening.restoreMask()
    let (child, code) = child(executable, words, output, messages, signals).spawn()
    if code == ENOEXEC {
      return try self.child(Self.shell, [Self.shell, executable] + words.dropFirst(), output, messages, signals)
        .start { Executable.failure(words[0], $0) }
    }
    guard code == 0 else { throw Executable.failure(words[0], code) }
    return child
  }

  private func child(_ file: ByteWord, _ words: [ByteWord], _ output: Int32, _ messages: Int32, _ signals: sigset_t) -> Child {
    var child = Child(file, words, .inherited(environment), [1: .descriptor(output), 2: .descriptor(messages)])
    for (file, target) in files { child.streams[target] = .descriptor(file.descriptor) }
    child.blocked = signals
    // Our own SIGPIPE stays ignored: changing its effect would lose a pending one that is to be forwarded.
    child.deadly = Hardening.deadlyWrites.filter { !Hardening.inheritsIgnored.contains($0) }
    return child
  }

  private static let shell: ByteWord = "/bin/sh"
}

/// Its output is in guarded memory. Its standard error goes to the user.
struct CapturedCommand: ~Copyable {
  let status: Int32
  let output: SecretBytes
  let notes: String

  static let notesDescriptor: Int32 = 3
  /// The limit of notes in bytes: gpg writes two short lines for each recipient's key, and the message's author chooses
  /// their number. This is enough for more than ten thousand.
  private static let largestNotes = 1 << 20

  static func run(_ words: [String]) throws -> CapturedCommand {
    let executable = try Executable.find(ByteWord(words[0]), path: ProcessEnvironment.word("PATH"))
    let (output, notes) = (try Pipe(), try Pipe())
    let streams: [Int32: Child.Stream] = [
      0: .null, 1: .descriptor(output.writing), notesDescriptor: .descriptor(notes.writing),
    ]
    let child = try Child(executable, words.map { ByteWord($0) }, .inherited(ChildEnvironment()), streams)
      .start { Executable.failure(ByteWord(words[0]), $0) }
    output.closeWriting()
    notes.closeWriting()
    do {
      var printed = try PipeContent(output, limit: SecretReader.largestValue, what: "the output of \(words[0])")
      var said = try PipeContent(notes, limit: largestNotes, what: "the status of \(words[0])")
      try PipeContent.fill(&printed, &said)
      let text = try said.bytes().withUnsafeBytes { PlainBytes.text($0) } ?? ""
      return try CapturedCommand(status: Ending(of: child).status, output: printed.bytes(), notes: text)
    } catch {
      kill(child, SIGTERM)
      Ending.discard(child)
      throw error
    }
  }
}

struct PipeContent: ~Copyable {
  private let pipe: Pipe
  private let limit: Int
  private let what: String
  private var buffer: SecretBytes
  private var count = 0
  private var isWhole = false

  private static let firstGuess = 4096

  /// - Parameters:
  ///   - limit: bytes, at most.
  ///   - what: the content, for an error.
  init(_ pipe: Pipe, limit: Int, what: String) throws {
    (self.pipe, self.limit, self.what) = (pipe, limit, what)
    buffer = try SecretBytes(zeros: min(limit + 1, Self.firstGuess))
  }

  /// Reads two pipes to their ends, each as it fills: a program that waits for room in one of them ends neither.
  static func fill(_ first: inout PipeContent, _ second: inout PipeContent) throws {
    while !first.isWhole || !second.isWhole {
      var ends = [first.waiting, second.waiting]
      guard poll(&ends, 2, -1) >= 0 || errno == EINTR else { throw StoreError(errno: errno, "wait for a program", place: "pipe") }
      if ends[0].revents != 0 { try first.take() }
      if ends[1].revents != 0 { try second.take() }
    }
  }

  func bytes() throws -> SecretBytes { try buffer.prefix(count) }

  /// The request for poll(2), which ignores negative descriptors.
  private var waiting: pollfd { pollfd(fd: isWhole ? -1 : pipe.reading, events: Int16(POLLIN), revents: 0) }

  private mutating func take() throws {
    let (descriptor, start, capacity) = (pipe.reading, count, buffer.count)
    let got = buffer.withUnsafeMutableBytes { systemRead(descriptor, $0.baseAddress.map { $0 + start }, capacity - start) }
    guard got >= 0 else {
      guard errno == EINTR else { throw StoreError(errno: errno, "read \(what)", place: "pipe") }
      return
    }
    count += got
    isWhole = got == 0
    guard count == capacity else { return }
    guard count <= limit else {
      throw StoreError(
        .tooLarge(limit: limit), "\(what) is larger than \(limit) bytes", place: "pipe", cure: "store a smaller value")
    }
    var larger = try SecretBytes(zeros: min(limit + 1, capacity * 2))
    buffer.withUnsafeBytes { old in larger.withUnsafeMutableBytes { $0.copyMemory(from: old) } }
    buffer = larger
  }
}
