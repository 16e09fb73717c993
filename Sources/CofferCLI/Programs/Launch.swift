internal import Coffer
internal import CofferPlatform
internal import SystemPackage

/// A command that is ready to start: words, environment, and the descriptors it finds open.
struct Launch {
  let words: [ByteWord]
  let environment: ChildEnvironment
  /// Files in memory and the numbers that the command knows them by.
  let files: [(file: MemoryFile, target: Int32)]

  private var executable: ByteWord {
    get throws(Failure) { try Executable.find(words[0], path: environment.path) }
  }

  /// Becomes the command: signals, exit status and process id are then its own.
  ///
  /// - Throws: a failure of status 126 or 127; without one this does not return.
  func replaceProcess() throws -> Never {
    let executable = try executable
    for (file, target) in files where dup2(file.descriptor, target) < 0 {
      throw StoreError(errno: errno, "open descriptor \(target)", place: FilePath("descriptor \(target)"))
    }
    Hardening.restoreForCommands()
    let code = CStrings.lend(words) { argv in
      environment.lend { envp in
        executable.withCString { _ = execve($0, argv, envp) }
        return errno
      }
    }
    guard code == ENOEXEC else { throw Executable.failure(words[0], code) }
    // A script without a first line that says who reads it is the shell's, as execvp(3) has it.
    let failed = CStrings.lend([Self.shell, executable] + words.dropFirst()) { argv in
      environment.lend { envp in
        Self.shell.withCString { _ = execve($0, argv, envp) }
        return errno
      }
    }
    throw Executable.failure(words[0], failed)
  }

  /// Starts the command as a child whose output goes to `output` and `messages`.
  ///
  /// - Parameter signals: the mask that the command starts with.
  func start(output: Int32, messages: Int32, signals: sigset_t) throws -> pid_t {
    let executable = try executable
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO)
    for (file, target) in files { posix_spawn_file_actions_adddup2(&actions, file.descriptor, target) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = signals
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    Hardening.restoreForCommands()
    // We go on ourselves, and a closed pipe is still an error of `write` to us.
    defer { signal(SIGPIPE, SIG_IGN) }
    var child: pid_t = 0
    func spawn(_ file: ByteWord, _ words: [ByteWord]) -> Int32 {
      CStrings.lend(words) { argv in
        environment.lend { envp in file.withCString { posix_spawn(&child, $0, &actions, &attributes, argv, envp) } }
      }
    }
    var code = spawn(executable, words)
    if code == ENOEXEC { code = spawn(Self.shell, [Self.shell, executable] + words.dropFirst()) }
    guard code == 0 else { throw Executable.failure(words[0], code) }
    return child
  }

  private static let shell: ByteWord = "/bin/sh"
}
