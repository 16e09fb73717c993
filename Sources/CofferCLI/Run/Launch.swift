internal import Coffer
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
    let code = CStrings.lend(words) { argv in
      environment.lend { envp in
        executable.withCString { _ = execve($0, argv, envp) }
        return errno
      }
    }
    guard code == ENOEXEC else { throw Executable.failure(words[0], code) }
    // A script without an interpreter line runs in the shell, as in execvp(3).
    let failed = CStrings.lend([Self.shell, executable] + words.dropFirst()) { argv in
      environment.lend { envp in
        Self.shell.withCString { _ = execve($0, argv, envp) }
        return errno
      }
    }
    throw Executable.failure(words[0], failed)
  }

  /// Starts the command as a child with its output to `output` and `messages`.
  ///
  /// - Parameter signals: the command's initial signal mask.
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

/// The result of another program, with its output in guarded memory. Its standard error goes to the user.
struct CapturedCommand: ~Copyable {
  let status: Int32
  let output: SecretBytes
  let notes: String

  static let notesDescriptor: Int32 = 3
  /// The limit of notes in bytes: gpg writes two short lines for each recipient's key, and the message's author chooses
  /// their number. This is enough for more than ten thousand.
  private static let largestNotes = 1 << 20

  /// - Throws: a failure of status 126 or 127 if the program could not be started.
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
