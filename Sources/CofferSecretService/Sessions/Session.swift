internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage

/// A secret as it goes over the bus: `(oayays)`.
enum WireSecret {
  static let signature = "(oayays)"
  static let contents = "oayays"
}

/// How one client and this service exchange secrets.
final class Session {
  /// The connection that opened it, and nobody else may use it.
  let client: String
  let path: String
  private let exchange: Exchange

  private enum Exchange: ~Copyable {
    /// As they are: the bus carries them between processes of one user.
    case plain
    case encrypted(key: SecretBytes)
  }

  init(plainFor client: String, path: String) {
    self.client = client
    self.path = path
    exchange = .plain
  }

  init(for client: String, path: String, key: consuming SecretBytes) {
    self.client = client
    self.path = path
    exchange = .encrypted(key: key)
  }

  /// Writes `secret`, as this session has it.
  func put(_ secret: SecretForm, to message: BusMessage) throws(CallFailure) {
    switch exchange {
    case .plain: try put(secret.bytes, [], secret, message)
    case .encrypted(let key):
      do throws(Refusal) {
        let vector = try Refusal.memory { () throws(SecretMemoryError) in try SecretBytes.random(SecretCipher.blockCount) }
        let (sealed, open) = try vector.withUnsafeBytes { (raw) throws(Refusal) in
          (try GuardedValue(SecretCipher.encrypt(secret.bytes, key, raw)), Array(raw))
        }
        try put(sealed.bytes, open, secret, message)
      } catch { throw .refused(error) }
    }
  }

  private func put(
    _ bytes: borrowing SecretBytes, _ parameters: [UInt8], _ secret: SecretForm, _ message: BusMessage
  ) throws(CallFailure) {
  }
}
