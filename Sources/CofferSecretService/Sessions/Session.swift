internal import CofferMemory
internal import CofferStorage

/// A client's exchange of secrets: `(oayays)` on the bus, the session, parameters, the value and its content type.
final class Session {
  static let signature = "(oayays)"
  static let contents = "oayays"

  /// The connection that opened it; no other may use it.
  let client: String
  let path: String
  private let key: SecretBytes?

  /// Without encryption, between processes of one user.
  init(plainFor client: String, path: String) {
    self.client = client
    self.path = path
    key = nil
  }

  init(for client: String, path: String, key: consuming SecretBytes) {
    self.client = client
    self.path = path
    self.key = consume key
  }

  func put(_ secret: SecretForm, to message: BusMessage) throws(Refusal) {
    switch key {
    case .none: try put(secret.bytes, [], secret, message)
    case .some(let key):
      let vector = try Refusal.memory { () throws(SecretMemoryError) in try SecretBytes.random(SecretCipher.blockCount) }
      let open = vector.withUnsafeBytes { Array($0) }
      let sealed = try vector.withUnsafeBytes { (raw) throws(Refusal) in try SecretCipher.encrypt(secret.bytes, key, raw) }
      try put(sealed, open, secret, message)
    }
  }

  private func put(
    _ bytes: borrowing SecretBytes, _ parameters: [UInt8], _ secret: SecretForm, _ message: BusMessage
  ) throws(Refusal) {
    let type = secret.metadata.contentType.isEmpty ? Self.usualType : secret.metadata.contentType
    try bytes.withUnsafeBytes { (value) throws(Refusal) in
      try message.putStructure(Self.contents) { () throws(Refusal) in
        try message.put(path: path)
        try parameters.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try message.put(raw) }
        try message.put(value)
        try message.put(type)
      }
    }
  }

  /// The type of a value without one: libsecret returns no text of another type.
  static let usualType = "text/plain"

  /// The decrypted value.
  func open(
    _ value: UnsafeRawBufferPointer, _ parameters: [UInt8]
  ) throws(Refusal) -> SecretBytes {
    switch key {
    case .none: return try Refusal.memory { () throws(SecretMemoryError) in try SecretBytes(copying: value) }
    case .some(let key):
      return try parameters.span.bytes.withUnsafeBytes { (vector) throws(Refusal) in try SecretCipher.decrypt(value, key, vector)
      }
    }
  }
}
