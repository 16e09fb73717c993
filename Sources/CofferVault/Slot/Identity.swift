internal import CCofferSodium
public import CofferMemory
public import CofferPlatform
internal import CofferStorage

/// An identity: an X25519 key pair whose public half, the ``Recipient``, lets others give its holder a way into a vault.
///
/// The file reads `PVID1-`, 64 lowercase hexadecimal digits of the secret key, and eight more of its digest, which tell a mistyped
/// or cut copy. It is as secret as a key file.
public enum Identity {
  private static let text = CheckedHex(mark: "PVID1-", name: "identity")

  /// The content of a new identity file, line feed included: 79 bytes, to be written with mode 0600.
  ///
  /// - Throws: `StoreError` `.memory` when guarded memory runs out.
  public static func generate() throws(StoreError) -> SecretBytes {
    do throws(FormatError) {
      let key = try SecretBytes.fresh(KeyAgreement.keyBytes)
      return try key.withUnsafeBytes { (key) throws(FormatError) in try text.encoded(key, lineFeed: true) }
    } catch {
      throw error.storeError()
    }
  }

  /// The public half of the identity in `content`.
  ///
  /// - Throws: `StoreError` `.damaged` for a content that is no identity.
  public static func recipient(of content: borrowing SecretBytes) throws(StoreError) -> Recipient {
    let key = try secretKey(content)
    return Recipient(key: key.withUnsafeBytes { KeyAgreement.publicKey(of: $0) })
  }

  /// The secret key in `content`, or `content` itself where it is a bare key of 32 bytes.
  static func secretKey(_ content: borrowing SecretBytes) throws(StoreError) -> SecretBytes {
    do throws(FormatError) {
      guard content.count != KeyAgreement.keyBytes else { return try content.copy() }
      return try text.decoded(content)
    } catch .memory(let error) {
      throw FormatError.memory(error).storeError()
    } catch {
      throw StoreError(.damaged, "the identity was changed or cut, or is none", cure: "use another copy of the identity file")
    }
  }
}

/// The public half of an ``Identity``: who has it can add a slot for the identity's holder. Not secret, but worth checking: a slot
/// for someone else's key lets them in.
public struct Recipient: Sendable, Hashable, CustomStringConvertible {
  private static let text = CheckedHex(mark: "PVPUB1-", name: "recipient")
  let key: PublicKey32

  init(key: PublicKey32) { self.key = key }

  /// Reads the public form: `PVPUB1-`, 64 lowercase hexadecimal digits of the public key, and eight more of its digest.
  ///
  /// - Throws: `StoreError` `.damaged` for a text that is none.
  public init(_ text: String) throws(StoreError) {
    do throws(FormatError) {
      let utf8 = text.utf8Span
      let content = try utf8.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in
        do throws(SecretMemoryError) { return try SecretBytes(copying: bytes) } catch { throw .memory(error) }
      }
      let decoded = try Self.text.decoded(content)
      guard let key = decoded.withUnsafeBytes({ PublicKey32($0) }) else { throw .damaged("recipient", "it is short") }
      // A point of low order shares nothing with anybody: any secret key shows it.
      let any = try SecretBytes.fresh(KeyAgreement.keyBytes)
      try any.withUnsafeBytes { (any) throws(FormatError) in
        try KeyAgreement.withShared(any, key, part: "recipient") { _ in }
      }
      self.key = key
    } catch .memory(let error) {
      throw FormatError.memory(error).storeError()
    } catch {
      throw StoreError(
        .damaged, "this is no recipient: it begins with PVPUB1- and has 72 hexadecimal digits after it",
        cure: "ask for it again; Identity.recipient(of:) tells it from the identity", remedy: .askRecipient)
    }
  }

  /// The public form.
  public var description: String {
    let digest = PlainHash.digest(key.bytes).bytes
    return "PVPUB1-" + Hex.text(key.bytes) + Hex.text(digest.prefix(4))
  }
}
