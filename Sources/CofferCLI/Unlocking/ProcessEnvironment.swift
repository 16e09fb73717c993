internal import Coffer

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif
internal import Synchronization

/// This process's environment.
enum ProcessEnvironment {
  /// The value of `name`; nil when it is not set or empty, as shells often leave it.
  static func value(_ name: String) -> String? {
    guard let value = Places.environment(name), !value.isEmpty else { return nil }
    return value
  }

  static func set(_ name: String, _ value: String) throws(Failure) {
    guard setenv(name, value, 1) == 0 else {
      throw Failure(StoreError(errno: errno, "set \(name) in the environment", place: "environment"))
    }
  }
}

/// `COFFER_PASSPHRASE`, taken out of the environment before anything else runs.
///
/// The environment of a process can be read by its user (`/proc/PID/environ`) and goes to its children. What was inherited
/// cannot be called back, but it need not stay: the bytes are overwritten where the kernel put them, then the name goes.
enum EnvironmentPassphrase {
  private struct Taken: ~Copyable {
    var bytes: SecretBytes?
    var isTooLong = false
  }
  private static let taken = Mutex(Taken(bytes: nil))

  static func take() {
    guard let text = getenv("COFFER_PASSPHRASE") else { return }
    let length = strlen(text)
    defer {
      memset_explicitly(text, length)
      unsetenv("COFFER_PASSPHRASE")
    }
    guard length > 0 else { return }
    taken.withLock { taken in
      do { taken.bytes = try SecretBytes(copying: UnsafeRawBufferPointer(start: text, count: length)) } catch {
        taken.isTooLong = true
      }
    }
  }

  static var isSet: Bool { taken.withLock { $0.bytes != nil || $0.isTooLong } }

  /// The passphrase, once; nil when there was none.
  static func use() throws -> SecretBytes? {
    try taken.withLock { taken in
      guard !taken.isTooLong else {
        throw Failure(StoreError(memory: .exhausted(bytes: SecretReader.largestPassphrase)))
      }
      return try taken.bytes?.duplicate()
    }
  }

  // A loop over volatile-like stores: the compiler may not drop writes that `unsetenv` could still read.
  @inline(never)
  private static func memset_explicitly(_ text: UnsafeMutablePointer<CChar>, _ length: Int) {
    for index in 0..<length { text[index] = CChar(UInt8(ascii: "x")) }
    withExtendedLifetime(text) {}
  }
}
