public import CofferMemory

/// A caller's secrets, to open a vault or to make a slot of a new one. Give all: key files are tried before passphrases,
/// which cost an Argon2id run each.
public struct Credentials: ~Copyable, Sendable {
  /// The passphrase, 1 to 1 024 bytes as typed.
  public var passphrase: SecretBytes?
  /// The content of a key file. Alone it opens a key-file slot, with a passphrase a slot that needs both.
  public var keyFile: SecretBytes?
  /// The text of a recovery code.
  public var recoveryCode: SecretBytes?
  /// The content of an identity file, or the bare X25519 secret key of 32 bytes. Opens a recipient's slot.
  public var identity: SecretBytes?

  /// No credentials yet.
  public init() {}

  /// A passphrase alone.
  public init(passphrase: consuming SecretBytes) { self.passphrase = consume passphrase }

  /// A key file's content alone.
  public init(keyFile: consuming SecretBytes) { self.keyFile = consume keyFile }

  /// Whether there are no credentials.
  public var isEmpty: Bool { passphrase == nil && keyFile == nil && recoveryCode == nil && identity == nil }
}
