internal import CofferPlatform

/// How a child starts. Blocked and ignored signals are inherited: what this process has done to its own is undone for the child alone.
enum SpawnAttributes {
  /// Lends them to `body`, which calls posix_spawn(3).
  ///
  /// - Parameters:
  ///   - blocked: the signals that the child finds blocked; nil for none.
  ///   - endsOnClosedPipe: gives SIGPIPE its usual effect, which this process may have taken from it.
  ///   - newSession: leaves this process's terminal, so that the child outlives the shell.
  static func lend(
    blocking blocked: sigset_t? = nil, endsOnClosedPipe: Bool = true, newSession: Bool = false,
    _ body: (UnsafePointer<posix_spawnattr_t>) -> Int32
  ) -> Int32 {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    var mask = blocked ?? none
    posix_spawnattr_setsigmask(&attributes, &mask)
    var flags = Int16(POSIX_SPAWN_SETSIGMASK)
    if newSession { flags |= Int16(coffer_spawn_new_session()) }
    if endsOnClosedPipe {
      var pipe = none
      sigaddset(&pipe, SIGPIPE)
      posix_spawnattr_setsigdefault(&attributes, &pipe)
      flags |= Int16(POSIX_SPAWN_SETSIGDEF)
    }
    posix_spawnattr_setflags(&attributes, flags)
    return body(&attributes)
  }
}
