internal import CofferAgent
internal import CofferMemory
internal import CofferPlatform
internal import Synchronization

/// The lock that `ssh-add -x` puts on a socket until `ssh-add -X`. The vault stays as it is. Source: RFC 9987, section 5.7.
final class SocketLock: Sendable {
  private let passphrase = Mutex<SecretBytes?>(nil)
  /// Wrong passphrases in a row. Held during an attempt: others wait for their turn, and their delay.
  private let failures = Mutex<UInt64>(0)

  /// The longest delay is 10 s: as in OpenSSH.
  private static let most: UInt64 = 100, step: UInt64 = 100_000_000

  var isLocked: Bool { passphrase.withLock { $0 != nil } }

  /// False if it is locked, or if the passphrase is empty.
  func lock(with raw: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    guard !raw.isEmpty else { return false }
    var given: SecretBytes? = try SecretBytes.copy(of: raw)
    return passphrase.withLock { kept in
      guard kept == nil else { return false }
      kept = given.take()
      return true
    }
  }

  /// Takes longer after each wrong passphrase.
  func unlock(with raw: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    let given = try SecretBytes.copy(of: raw)
    return failures.withLock { failures in
      guard isLocked else { return false }
      if passphrase.withLock({ $0?.isEqual(to: given) ?? false }) {
        failures = 0
        passphrase.withLock { $0 = nil }
        return true
      }
      failures = min(failures + 1, Self.most)
      DetachedThread.sleep(failures * Self.step)
      return false
    }
  }
}
