internal import CofferPlatform
internal import CofferTerminal
internal import SystemPackage

struct Launch {
  let words: [ByteWord]
  let environment: ChildEnvironment
  let files: [(file: MemoryFile, target: Int32)]

  private var executable: ByteWord { get throws(Failure) { try Executable.find(words[0], path: environment.path) } }

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

  /// Starts the command as a child with its output to `output` and `messages`; nil leaves ours to it.
  func start(output: Int32?, messages: Int32?, signals: sigset_t) throws -> pid_t {
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

  private func child(_ file: ByteWord, _ words: [ByteWord], _ output: Int32?, _ messages: Int32?, _ signals: sigset_t) -> Child {
    var child = Child(file, words, .inherited(environment))
    child.streams[1] = output.map(Child.Stream.descriptor)
    child.streams[2] = messages.map(Child.Stream.descriptor)
    for (file, target) in files { child.streams[target] = .descriptor(file.descriptor) }
    child.blocked = signals
    // Our own SIGPIPE stays ignored: changing its effect would lose a pending one that is to be forwarded.
    child.deadly = Hardening.deadlyWrites.filter { !Hardening.inheritsIgnored.contains($0) }
    return child
  }

  private static let shell: ByteWord = "/bin/sh"
}
