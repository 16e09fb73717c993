internal import CofferPlatform

/// The meaning of the bytes that an SSH agent is asked to sign.
package enum SigningPurpose: Sendable, Equatable {
  /// A login by the key that is to sign.
  case login(Login)
  /// A signature of a file or a commit. Source: OpenSSH's PROTOCOL.sshsig.
  case file(namespace: String)
  /// A certificate by the key that is to sign. Source: OpenSSH's PROTOCOL.certkeys.
  case certificate
  /// Anything else, such as a malformed request.
  case other

  /// Source: RFC 4252, section 7; OpenSSH's PROTOCOL, "publickey-hostbound-v00@openssh.com".
  package struct Login: Sendable, Equatable {
    package let sessionID: [UInt8]
    package let user: String
    /// The key that the server showed; nil in requests of clients before OpenSSH 8.9.
    package let hostKey: [UInt8]?
  }

  /// - Parameter blob: the key that is to sign, or its certificate. A request that names another one is ``other``: signed, it
  ///   would be no login.
  package init(_ data: UnsafeRawBufferPointer, by blob: [UInt8]) {
    self =
      Self.read { () throws(StoreError) in .login(try Self.login(data, blob)) }
      ?? Self.read { () throws(StoreError) in try Self.file(data) }
      ?? Self.read { () throws(StoreError) in try Self.certificate(data, blob) } ?? .other
  }

  /// Nil for bytes of another format, which are no error.
  private static func read(_ body: () throws(StoreError) -> SigningPurpose) -> SigningPurpose? {
    do throws(StoreError) { return try body() } catch { return nil }
  }

  private static let loginByte: UInt8 = 50
  /// Bytes of a session id: a hash of the key exchange, of at most 64. Source: OpenSSH's agent has the same limit.
  private static let longestSessionID = 128

  private static func login(_ data: UnsafeRawBufferPointer, _ blob: [UInt8]) throws(StoreError) -> Login {
    try SSHReader.read(data) { (reader) throws(StoreError) in
      let sessionID = Array(try reader.string())
      guard 1...longestSessionID ~= sessionID.count, try reader.byte() == loginByte else { throw .malformedKey("no login") }
      let user = try reader.text()
      guard try reader.text() == "ssh-connection" else { throw .malformedKey("another service") }
      let method = try reader.text()
      guard ["publickey", "publickey-hostbound-v00@openssh.com"].contains(method), try reader.byte() == 1 else {
        throw .malformedKey("another method")
      }
      let algorithm = try reader.text()
      guard try reader.string().elementsEqual(blob), try SSHKeyType.of(blob).type.fits(algorithm: algorithm) else {
        throw .malformedKey("another key")
      }
      return Login(sessionID: sessionID, user: user, hostKey: method == "publickey" ? nil : Array(try reader.string()))
    }
  }

  private static func file(_ data: UnsafeRawBufferPointer) throws(StoreError) -> SigningPurpose {
    try SSHReader.read(data) { (reader) throws(StoreError) in
      guard try reader.take(6).elementsEqual("SSHSIG".utf8) else { throw .malformedKey("no SSHSIG") }
      let namespace = try reader.text()
      _ = try reader.string()  // Reserved, and to be ignored.
      let (hash, digest) = (try reader.text(), try reader.string())
      guard !namespace.isEmpty, digest.count == ["sha256": 32, "sha512": 64][hash] else { throw .malformedKey("no SSHSIG") }
      return .file(namespace: namespace)
    }
  }

  /// The fields of ``SSHCertificate`` without its signature.
  private static func certificate(_ data: UnsafeRawBufferPointer, _ blob: [UInt8]) throws(StoreError) -> SigningPurpose {
    try SSHReader.read(data) { (reader) throws(StoreError) in
      let (type, isCertificate) = try SSHKeyType.named(reader.text())
      guard isCertificate else { throw .malformedKey("no certificate") }
      _ = try reader.string()
      _ = try KeyNumbers(type, type.publicNames, from: &reader)
      _ = (try reader.uint64(), try reader.uint32())  // Serial number and kind.
      _ = (try reader.string(), try reader.string())  // Id and names.
      _ = (try reader.uint64(), try reader.uint64())
      _ = (try reader.string(), try reader.string(), try reader.string())
      guard try reader.string().elementsEqual(blob) else { throw .malformedKey("another authority") }
      return .certificate
    }
  }
}
