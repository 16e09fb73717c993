internal import CCofferPlatform
internal import Coffer

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// What this process gives up before it touches a secret.
enum Hardening {
  static func apply() {
    _ = SecretMemory.hardenProcess()  // Where the system refuses, `coffer doctor` is the place to say so: nothing leaked yet.
    umask(0o077)
    // A closed pipe is then an error of `write`, which has an exit status, and not a silent death.
    signal(SIGPIPE, SIG_IGN)
    // Swift's crash backtracer prints registers and memory: a crash shall leave nothing but its signal.
    for crash in [SIGSEGV, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE] { signal(crash, SIG_DFL) }
    EnvironmentPassphrase.take()
  }

  /// For commands that start no other program: not even a mistake may then gain rights by `execve`.
  static func forbidNewPrivileges() { _ = coffer_forbid_new_privileges() }
}
