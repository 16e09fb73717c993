public import CofferMemory
public import CofferPlatform

/// An X25519 key pair. With its public half, the ``Recipient``, others give its holder access to a vault.
///
/// The file contains `PVID1-`, 64 lowercase hexadecimal digits of the secret key, and eight more of its digest, which reveal
/// a mistyped or truncated copy. It is as secret as a key file.
public enum Identity {
  private static let text = CheckedHex(mark: "PVID1-", name: "identity")

  /// The content of a new identity file with a line feed: 79 bytes, to be written with mode 0600.
  ///
  /// - Throws: `StoreError` `.memory` if guarded memory runs out.
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
  /// - Throws: `StoreError` `.damaged` if `content` is no identity.
  public static func recipient(of content: borrowing SecretBytes) throws(StoreError) -> Recipient {
    let key = try secretKey(content)
    return Recipient(key: key.withUnsafeBytes { KeyAgreement.publicKey(of: $0) })
  }

  /// The content of an identity file with `invitation` added, in place of one to the same vault.
  ///
  /// - Throws: `StoreError` `.damaged` if `content` is no identity, `.tooLarge` beyond ``Invitation/most``, `.memory`.
  public static func adding(_ invitation: Invitation, to content: borrowing SecretBytes) throws(StoreError) -> SecretBytes {
    let kept = try invitations(in: content).filter { $0.vault != invitation.vault } + [invitation]
    guard kept.count <= Invitation.most else {
      throw StoreError(
        .tooLarge(limit: Invitation.most), "the identity has \(Invitation.most) invitations, and no room for another",
        cure: "remove the line of a vault that you no longer use from the identity's file")
    }
    let key = try secretKey(content)
    do throws(FormatError) {
      let line = try key.withUnsafeBytes { (key) throws(FormatError) in try text.encoded(key, lineFeed: true) }
      let lines = kept.map { "\($0)\n" }.joined()
      return try ByteWriter.secret(line.count + lines.utf8.count) { out in
        line.withUnsafeBytes { out.write($0) }
        out.write([UInt8](lines.utf8))
      }
    } catch {
      throw error.storeError()
    }
  }

  /// The invitations after the identity's line, each ending in a line feed.
  ///
  /// - Throws: `StoreError` `.damaged` for an invalid line or more than ``Invitation/most``.
  public static func invitations(in content: borrowing SecretBytes) throws(StoreError) -> [Invitation] {
    guard content.count != KeyAgreement.keyBytes else { return [] }
    // Not secret: the text after the first line.
    let rest = content.withUnsafeBytes { String(decoding: $0[firstLine($0).upperBound...], as: UTF8.self) }
    guard !rest.isEmpty else { return [] }
    let lines = rest.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.last == "", lines.count <= Invitation.most + 1 else {
      throw StoreError(
        .damaged, "the identity's file has more after its line than \(Invitation.most) invitations, or one without a line feed",
        cure: "remove anything but invitations from the identity's file")
    }
    var found: [Invitation] = []
    for (index, line) in lines.dropLast().enumerated() {
      do throws(StoreError) { found.append(try Invitation(String(line))) } catch {
        throw StoreError(
          .damaged, "line \(index + 2) of the identity's file is not an invitation",
          cure: "remove it, or ask for the invitation again and put the whole of it there")
      }
    }
    return found
  }

  package static func check(_ content: borrowing SecretBytes) throws(StoreError) {
    _ = try secretKey(content)
    _ = try invitations(in: content)
  }

  /// Includes its line feed, if any.
  private static func firstLine(_ content: UnsafeRawBufferPointer) -> Range<Int> {
    0..<(content.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? content.count)
  }

  /// The secret key in `content`, or `content` itself if it is a bare key of 32 bytes.
  static func secretKey(_ content: borrowing SecretBytes) throws(StoreError) -> SecretBytes {
    do throws(FormatError) {
      guard content.count != KeyAgreement.keyBytes else { return try content.copy() }
      return try content.withUnsafeBytes { (content) throws(FormatError) in try text.decoded(content.part(firstLine(content))) }
    } catch .memory(let error) {
      throw FormatError.memory(error).storeError()
    } catch {
      throw StoreError(
        .damaged, "the identity is not valid: it was changed or cut", cure: "use another copy of the identity file")
    }
  }
}

/// The public half of an ``Identity``, with which anyone can add a slot for its holder. Not secret, but worth checking: a
/// slot for someone else's key lets them in.
public struct Recipient: Sendable, Hashable, CustomStringConvertible {
  private static let text = CheckedHex(mark: "PVPUB1-", name: "recipient")
  package let key: PublicKey32

  package init(key: PublicKey32) { self.key = key }

  /// Reads the public form: `PVPUB1-`, 64 lowercase hexadecimal digits of the public key, and eight more of its digest.
  ///
  /// - Throws: `StoreError` `.damaged` for an invalid text.
  public init(_ text: String) throws(StoreError) {
    do throws(FormatError) {
      let utf8 = text.utf8Span
      let content = try utf8.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in
        do throws(SecretMemoryError) { return try SecretBytes(copying: bytes) } catch { throw .memory(error) }
      }
      let decoded = try Self.text.decoded(content)
      guard let key = decoded.withUnsafeBytes({ PublicKey32($0) }) else { throw .damaged("recipient", "it is short") }
      // A point of low order shares nothing with anybody; any secret key shows it.
      let any = try SecretBytes.fresh(KeyAgreement.keyBytes)
      try any.withUnsafeBytes { (any) throws(FormatError) in
        try KeyAgreement.withShared(any, key, part: "recipient") { _ in }
      }
      self.key = key
    } catch .memory(let error) {
      throw FormatError.memory(error).storeError()
    } catch {
      throw StoreError(
        .damaged, "this is not a recipient: one is PVPUB1- and 72 hexadecimal digits",
        cure: "ask for it again; Identity.recipient(of:) derives it from the identity", remedy: .askRecipient)
    }
  }

  /// The public form.
  public var description: String {
    let digest = PlainHash.digest(key.bytes).bytes
    return "PVPUB1-" + Hex.text(key.bytes) + Hex.text(digest.prefix(4))
  }
}
