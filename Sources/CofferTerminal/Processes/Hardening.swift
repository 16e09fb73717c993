internal import CofferMemory
package import CofferPlatform
internal import Synchronization
internal import SystemPackage

/// Restricts this process before it touches a secret.
package enum Hardening {
  package static func apply() {
    occupyStandardStreams()
    _ = SecretMemory.hardenProcess()  // Where the system refuses, `coffer doctor` is the place to say so: nothing leaked yet.
    let mask = umask(0o077)
    // A closed pipe, and a file over the limit (`ulimit -f`), then make `write` fail with an exit status, instead of a
    // silent death.
    let ignored = Set(Self.deadlyWrites.filter(isIgnored))
    for write in deadlyWrites { signal(write, SIG_IGN) }
    // While it is ignored, the system discards a child's status: failure would look like success.
    let ignoresChildren = isIgnored(SIGCHLD)
    signal(SIGCHLD, SIG_DFL)
    inherited.withLock { $0 = Inherited(mask: mask, ignored: ignored, ignoresChildren: ignoresChildren) }
    // Swift's crash backtracer prints registers and memory: a crash must leave only its signal. It takes SIGQUIT too, which
    // a shell may ignore for its background jobs.
    for crash in [SIGSEGV, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGQUIT] where !isIgnored(crash) { signal(crash, SIG_DFL) }
  }

  /// For commands that start no program: no mistake may then gain rights by `execve`.
  package static func forbidNewPrivileges() { _ = coffer_forbid_new_privileges() }

  /// Restores the settings for a command that replaces this process. Core dumps stay disabled: its memory will hold secrets.
  package static func restoreForReplacement() {
    restoreMask()
    guard let inherited = inherited.withLock({ $0 }) else { return }
    for write in deadlyWrites where !inherited.ignored.contains(write) { signal(write, SIG_DFL) }
    if inherited.ignoresChildren { signal(SIGCHLD, SIG_IGN) }
  }

  package static func restoreMask() { if let mask = inherited.withLock({ $0?.mask }) { umask(mask) } }

  /// The signals of an impossible write. A started command gets the original settings.
  package static let deadlyWrites = [SIGPIPE, SIGXFSZ]

  /// Those ignored when this process started.
  package static var inheritsIgnored: Set<Int32> { inherited.withLock { $0?.ignored ?? [] } }

  /// Occupies closed standard streams, as the C library does for privileged programs: a file opened later would be read as
  /// the input, or written as the output. Reading and writing still fail, and a started command finds the stream closed.
  private static func occupyStandardStreams() {
    for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) < 0 {
      #if os(Linux)
        // O_PATH, behind _GNU_SOURCE. A folder, so that /dev/stdin cannot be read either.
        let (path, flags) = ("/", Int32(0o10000000))
      #else
        let (path, flags) = ("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
      #endif
      guard coffer_open(path, flags | O_CLOEXEC, 0) == stream else { exit(ExitStatus.io.rawValue) }
    }
  }

  /// Only this program's own descriptors are closed on exec.
  static func wasGiven(_ descriptor: Int32) -> Bool {
    let flags = fcntl(descriptor, F_GETFD)
    return flags >= 0 && flags & FD_CLOEXEC == 0
  }

  /// Keeps a started command from reading the inherited `descriptor` again. A terminal as a standard stream stays: its input
  /// is gone.
  package static func withhold(_ descriptor: Int32) throws(StoreError) {
    guard wasGiven(descriptor) else { return }
    guard descriptor <= STDERR_FILENO else {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      return
    }
    guard isatty(descriptor) == 0 else { return }
    // Not closed: the command's next file would get the number.
    let null = coffer_open("/dev/null", O_RDWR | O_CLOEXEC, 0)
    guard null >= 0 else { throw StoreError(errno: errno, "open the device", place: "/dev/null") }
    defer { close(null) }
    guard dup2(null, descriptor) >= 0 else { throw StoreError(errno: errno, "open the device", place: "/dev/null") }
  }

  private struct Inherited {
    let mask: mode_t
    let ignored: Set<Int32>
    let ignoresChildren: Bool
  }
  private static let inherited = Mutex<Inherited?>(nil)

  private static func isIgnored(_ signal: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(signal, nil, &action) == 0 else { return false }
    #if os(Linux)
      return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    #else
      return unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    #endif
  }
}
