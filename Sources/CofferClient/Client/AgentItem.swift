/// The name of an item in a vault, or of one of its fields.
public struct AgentItem: Sendable, Hashable, CustomStringConvertible {
  /// The name of a program or server.
  public var service: String
  /// An account of the service; may be empty.
  public var account: String
  /// A field of the item; empty for the item itself.
  public var field: String

  /// A name. The agent checks it.
  public init(service: String, account: String = "", field: String = "") {
    (self.service, self.account, self.field) = (service, account, field)
  }

  /// `service/account`, and the field after a colon.
  public var description: String {
    service + (account.isEmpty ? "" : "/" + account) + (field.isEmpty ? "" : ":" + field)
  }
}

/// A secret that unlocks a vault.
public enum AgentCredential: Sendable {
  /// A passphrase.
  case passphrase(SecretBuffer)
  /// The content of a key file.
  case keyFile(SecretBuffer)
  /// A recovery code.
  case recoveryCode(SecretBuffer)
  /// The content of an identity's file.
  case identity(SecretBuffer)
}

extension WireWriter where Memory == SecretBuffer {
  mutating func put(_ item: AgentItem) throws(ClientError) {
    try put(item.service)
    try put(item.account)
    try put(item.field)
  }

  mutating func put(_ secret: SecretBuffer) throws(ClientError) {
    guard secret.isIntact else {
      throw ClientError(
        WireError(code: 37, "the value is gone from this forked process", cure: "read it again in this process"))
    }
    try secret.withUnsafeBytes { (raw) throws(ClientError) in try put(prefixed: raw) }
  }
}

extension WireReader where Failure == ClientError {
  mutating func secret() throws(ClientError) -> SecretBuffer {
    try withPrefixed { (raw) throws(ClientError) in try SecretBuffer(copying: raw) }
  }

  /// The value of a form, after its metadata.
  mutating func value() throws(ClientError) -> SecretBuffer {
    _ = (try text(), try text())
    if try flag() { _ = try seconds() }
    for _ in 0..<(try count(ofAtLeast: 8)) { _ = (try text(), try text()) }
    return try secret()
  }
}
