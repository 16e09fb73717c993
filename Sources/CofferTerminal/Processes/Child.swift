package import CofferPlatform

package struct Child {
  /// Others are inherited unchanged.
  package enum Stream {
    /// Reads as empty, and discards writes.
    case null
    /// The target of our descriptor.
    case descriptor(Int32)
  }

  package enum Variables {
    case exactly([ByteWord])
    case inherited(ChildEnvironment)
  }

  private let file: ByteWord
  private let words: [ByteWord]
  private let variables: Variables
  /// By the child's descriptor.
  package var streams: [Int32: Stream]
  /// Nil for none. Blocked and ignored signals are inherited, and this process has changed its own.
  package var blocked: sigset_t?
  /// Signals to reset to their default effect.
  package var deadly = Hardening.deadlyWrites
  /// Whether it leaves this terminal, and outlives the shell.
  package var hasOwnSession = false

  /// - Parameters:
  ///   - file: the path of the program.
  ///   - words: its words, the name first.
  package init(_ file: ByteWord, _ words: [ByteWord], _ variables: Variables, _ streams: [Int32: Stream] = [:]) {
    (self.file, self.words, self.variables, self.streams) = (file, words, variables, streams)
  }

  /// - Parameter failure: the error for an `errno`.
  package func start<Failure: Error>(or failure: (Int32) -> Failure) throws(Failure) -> pid_t {
    let (child, code) = spawn()
    guard code == 0 else { throw failure(code) }
    return child
  }

  /// Returns 0 or an `errno` as the code.
  package func spawn() -> (child: pid_t, code: Int32) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    addStreams(to: &actions)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    setSignals(in: &attributes)
    var child: pid_t = 0
    let code = CStrings.lend(words) { argv in
      lendVariables { envp in file.withCString { posix_spawn(&child, $0, &actions, &attributes, argv, envp) } }
    }
    return (child, code)
  }

  private func setSignals(in attributes: inout posix_spawnattr_t) {
    var mask = blocked ?? sigset_t([]), usual = sigset_t(deadly)
    posix_spawnattr_setsigmask(&attributes, &mask)
    posix_spawnattr_setsigdefault(&attributes, &usual)
    let session = hasOwnSession ? Int16(coffer_spawn_new_session()) : 0
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | session)
  }

  private func addStreams(to actions: inout posix_spawn_file_actions_t) {
    var sources: [Int32: Int32] = [:]
    for (number, stream) in streams { if case .descriptor(let source) = stream { sources[number] = source } }
    // If a source is another stream's number, each takes a detour by an unused number.
    let goesApart = sources.values.contains { streams[$0] != nil }
    var free = max(sources.values.max() ?? 0, streams.keys.max() ?? 0)
    for (number, source) in sources where goesApart {
      repeat { free += 1 } while fcntl(free, F_GETFD) >= 0
      posix_spawn_file_actions_adddup2(&actions, source, free)
      sources[number] = free
    }
    for (number, source) in sources {
      posix_spawn_file_actions_adddup2(&actions, source, number)
      if goesApart { posix_spawn_file_actions_addclose(&actions, source) }
    }
    for number in streams.keys where sources[number] == nil {
      posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
    }
  }

  private func lendVariables(_ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Int32) -> Int32 {
    switch variables {
    case .exactly(let entries): CStrings.lend(entries, body)
    case .inherited(let environment): environment.lend(body)
    }
  }
}
