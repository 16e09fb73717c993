internal import CCofferSodium

/// libsodium, initialized. Every entry into libsodium goes through a type that touched `ready` first.
package enum Sodium {
  /// `sodium_init` is idempotent and thread-safe; it fails only when the system's random source is unusable,
  /// and then nothing that this library does could be safe.
  package static let ready: Void = {
    precondition(sodium_init() >= 0, "libsodium could not be initialized: the system's random source is unusable")
  }()
}
