package import CofferPlatform

/// How a child starts. Blocked and ignored signals are inherited: what this process has done to its own is undone for the child
/// alone.
package enum SpawnAttributes {
  /// Lends them to `body`, which calls posix_spawn(3).
  ///
  /// - Parameters:
  ///   - blocked: the signals that the child finds blocked; nil for none.
  ///   - deadly: the signals that get their usual effect, which this process may have taken from them.
  ///   - newSession: leaves this process's terminal, so that the child outlives the shell.
  package static func lend(
    blocking blocked: sigset_t? = nil, endingOn deadly: [Int32] = Hardening.deadlyWrites, newSession: Bool = false,
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
    var usual = none
    for signal in deadly { sigaddset(&usual, signal) }
    posix_spawnattr_setsigdefault(&attributes, &usual)
    flags |= Int16(POSIX_SPAWN_SETSIGDEF)
    posix_spawnattr_setflags(&attributes, flags)
    return body(&attributes)
  }
}
