public import CofferPlatform

/// Introduces a vault to a person: its id and the mark of its key. A vault by a writer of the file who never had the key is
/// then refused.
///
/// It is not secret. Send it over a tamper-proof channel, like a ``Recipient``. Its text is `PVINV1-`, 112 lowercase
/// hexadecimal digits, and eight more of their digest.
public struct Invitation: Sendable, Hashable, CustomStringConvertible {
  /// The maximum number of invitations in one place: each is checked whenever the vault's key has changed.
  public static let most = 64

  /// The id of the vault.
  public let vault: VaultID
  /// The epoch of the named key, from which later keys must descend.
  public var epoch: UInt64 { key.epoch }
  /// The mark of that key: 64 lowercase hexadecimal digits.
  public var mark: String { key.mark.description }
  let key: EpochMark

  /// Whether it ends the memory of a machine that has seen only keys before the named one.
  ///
  /// After a loss of commits, as by a failover, every such machine refuses the older state. A member who has accepted that, and
  /// given the vault a new key, sends this invitation to all.
  public let endsOlderPins: Bool

  private static let prefix = "PVINV1-", endingPrefix = "PVEND1-"
  package static func begins(_ text: String) -> Bool { text.hasPrefix(prefix) || text.hasPrefix(endingPrefix) }
  private static let contentBytes = 16 + 8 + 32

  package init(vault: VaultID, key: EpochMark, endsOlderPins: Bool = false) {
    self.vault = vault
    self.key = key
    self.endsOlderPins = endsOlderPins
  }

  /// The same, which ends older pins.
  public func endingOlderPins() -> Invitation { Invitation(vault: vault, key: key, endsOlderPins: true) }

  /// Reads the text.
  ///
  /// - Throws: `StoreError` `.damaged` for another length, upper case, or wrong check digits.
  public init(_ text: String) throws(StoreError) {
    guard let found = Self(reading: text.utf8), found.description == text else {
      throw StoreError(
        .damaged, "this is not an invitation: one is \(Self.prefix) and 120 lowercase hexadecimal digits",
        cure: "ask for it again, or copy it whole")
    }
    self = found
  }

  private init?(reading text: String.UTF8View) {
    let digits = text.dropFirst(Self.prefix.utf8.count).map { $0 }
    guard digits.count == 2 * Self.contentBytes + 8 else { return nil }
    let bytes = (0..<Self.contentBytes).map { Hex.value(digits[2 * $0]) << 4 | Hex.value(digits[2 * $0 + 1]) }
    guard let mark = KeyMark([UInt8](bytes[24..<56])) else { return nil }
    let epoch = bytes[16..<24].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard (1...FileCounter.most).contains(epoch) else { return nil }
    self.init(
      vault: VaultID(bytes: [UInt8](bytes[..<16])), key: EpochMark(epoch: epoch, mark: mark),
      endsOlderPins: text.starts(with: Self.endingPrefix.utf8))
  }

  /// The text.
  public var description: String {
    let content = ByteWriter.bytes(Self.contentBytes) { out in
      out.write(vault.bytes)
      out.write(key.epoch)
      out.write(key.mark)
    }
    // One prefix is not mistaken for the other.
    let (prefix, after) = endsOlderPins ? (Self.endingPrefix, Self.endingPrefix) : (Self.prefix, "")
    return prefix + Hex.text(content) + Hex.text(PlainHash.digest(content + after.utf8).bytes.prefix(4))
  }

  package func anchor() throws(FormatError) -> Anchor {
    guard let salt = VaultSalt(vault.bytes) else { throw .damaged("invitation", "its vault's id has not 16 bytes") }
    return Anchor(vault: salt, key: key, source: .invitation)
  }
}
