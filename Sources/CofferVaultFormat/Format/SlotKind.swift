/// The kind of secret that opens a slot.
public enum SlotKind: UInt8, Sendable, CaseIterable, Codable {
  /// A passphrase, through Argon2id.
  case passphrase = 1
  /// A passphrase and a key file together.
  case passphraseAndKeyFile = 2
  /// A generated key file.
  case keyFile = 3
  /// A printed recovery code.
  case recoveryCode = 4
  /// The X25519 key of a recipient.
  case recipient = 5
  /// A secret unknown to this version, such as a security chip. The slot is kept and gets each new key of the vault; another
  /// program opens it.
  case foreign = 6

  /// The kinds that this version makes and opens.
  public static let openable: [SlotKind] = [.passphrase, .passphraseAndKeyFile, .keyFile, .recoveryCode, .recipient]

  /// Whether a slot of the kind holds its own secret, sealed in a way this version knows.
  package var isOwned: Bool { self != .recipient && self != .foreign }
}

extension SlotKind: CustomStringConvertible {
  /// The kind in words.
  public var description: String {
    switch self {
    case .passphrase: "passphrase"
    case .passphraseAndKeyFile: "passphrase and key file"
    case .keyFile: "key file"
    case .recoveryCode: "recovery code"
    case .recipient: "recipient"
    case .foreign: "of another program"
    }
  }
}

/// A slot in the header of a locked vault, unauthenticated until the vault is unlocked.
public struct SlotSummary: Sendable, Equatable, Identifiable, Codable {
  /// 16 random bytes that identify a slot for life.
  public struct ID: Sendable, Hashable, CustomStringConvertible, Codable {
    /// The 16 bytes.
    public let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }
    /// 32 lowercase hexadecimal digits.
    public var description: String { Hex.text(bytes) }
  }
  /// The slot's id.
  public let id: ID
  /// The kind of secret that opens it.
  public let kind: SlotKind
  /// Argon2id passes and memory in MiB; zeros without a passphrase.
  public let passes: UInt32, mebibytes: UInt32
  package init(id: ID, kind: SlotKind, passes: UInt32, mebibytes: UInt32) {
    self.id = id
    self.kind = kind
    self.passes = passes
    self.mebibytes = mebibytes
  }
}
