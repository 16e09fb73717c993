internal import CofferPlatform

/// How a child starts: with no signal blocked, because blocked and ignored signals are inherited.
enum SpawnAttributes {
  /// Lends them to `body`, which calls posix_spawn(3).
  ///
  /// - Parameters:
  ///   - endsOnClosedPipe: gives SIGPIPE its usual effect, which this process may have taken from it.
  ///   - newSession: leaves this process's terminal, so that the child outlives the shell.
  static func lend(
    endsOnClosedPipe: Bool = true, newSession: Bool = false, _ body: (UnsafePointer<posix_spawnattr_t>) -> Int32
  ) -> Int32 {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    var flags = Int16(POSIX_SPAWN_SETSIGMASK)
    if newSession { flags |= Int16(coffer_spawn_new_session()) }
    if endsOnClosedPipe {
      sigaddset(&signals, SIGPIPE)
      posix_spawnattr_setsigdefault(&attributes, &signals)
      flags |= Int16(POSIX_SPAWN_SETSIGDEF)
    }
    posix_spawnattr_setflags(&attributes, flags)
    return body(&attributes)
  }
}
