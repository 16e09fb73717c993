internal import Coffer
internal import CofferPlatform
internal import Synchronization

/// `COFFER_PASSPHRASE`, taken out of the environment before anything else runs.
///
/// The environment of a process can be read by its user (`/proc/PID/environ`) and goes to its children. What was inherited
/// cannot be called back, but it need not stay: the bytes are overwritten where the kernel put them, then the name goes.
enum EnvironmentPassphrase {
  private struct Taken: ~Copyable {
    var bytes: SecretBytes?
    var memoryRanOut = false
  }
  private static let taken = Mutex(Taken(bytes: nil))

  static func take() {
    guard let text = getenv("COFFER_PASSPHRASE") else { return }
    let length = strlen(text)
    defer {
      overwrite(text, length)
      unsetenv("COFFER_PASSPHRASE")
    }
    guard length > 0 else { return }
    taken.withLock { taken in
      do { taken.bytes = try SecretBytes(copying: UnsafeRawBufferPointer(start: text, count: length)) } catch {
        taken.memoryRanOut = true
      }
    }
  }

  /// The passphrase; nil when there was none.
  static func use() throws -> SecretBytes? {
    try taken.withLock { taken in
      guard !taken.memoryRanOut else {
        throw Failure(StoreError(memory: .exhausted(bytes: SecretReader.largestPassphrase)))
      }
      return try taken.bytes?.duplicate()
    }
  }

  // Not inlined: seen together with what follows, the stores could be dropped as dead.
  @inline(never)
  private static func overwrite(_ text: UnsafeMutablePointer<CChar>, _ length: Int) {
    for index in 0..<length { text[index] = CChar(UInt8(ascii: "x")) }
  }
}
