public import CofferMemory
public import CofferPlatform

/// A generated key file, or any other file of some length.
///
/// A generated file contains `PVKEY1-`, 64 lowercase hexadecimal digits, and eight more of the key's digest, which reveal a
/// mistyped or truncated copy. Any other file stands for the digest of its content, and works only with a passphrase: a
/// photo is a guessable key.
public struct KeyFile: ~Copyable, Sendable {
  /// A file below 32 bytes can hardly hold a key.
  static let smallest = 32
  /// Larger files are a mistake, and would be held in guarded memory.
  package static let largest = 1024 * 1024
  /// The ways to make one, for errors.
  static let making = "Places.createVault(newKeyFileAt:) or coffer init --new-key-file PATH"
  private static let text = CheckedHex(mark: "PVKEY1-", name: "key file")

  /// The format's KF.
  let key: SecretBytes
  /// Only a generated one opens a slot without a passphrase.
  let isGenerated: Bool

  /// - Throws: `.damaged` for a file that only begins like a generated one, `.unfitSecret` below ``smallest``, `.tooLarge`.
  package init(content: borrowing SecretBytes) throws(StoreError) {
    let isGenerated = content.withUnsafeBytes { Self.text.begins($0) }
    let key = try content.withUnsafeBytes { (content) throws(StoreError) in
      isGenerated ? try Self.generatedKey(content) : try Self.digest(content)
    }
    self.key = key
    self.isGenerated = isGenerated
  }

  /// The content of a new key file with a line feed: 80 bytes, to be written with mode 0600.
  ///
  /// - Throws: `StoreError` `.memory` if guarded memory runs out.
  public static func generate() throws(StoreError) -> SecretBytes {
    do throws(FormatError) {
      let key = try SecretBytes.fresh(32)
      return try key.withUnsafeBytes { (key) throws(FormatError) in try text.encoded(key, lineFeed: true) }
    } catch {
      throw error.storeError()
    }
  }

  package static func isGenerated(_ content: borrowing SecretBytes) throws(StoreError) -> Bool {
    do throws(StoreError) { return try KeyFile(content: content).isGenerated } catch {
      guard error.kind == .damaged || error.kind == .unfitSecret else { throw error }
      return false
    }
  }

  private static func digest(_ content: UnsafeRawBufferPointer) throws(StoreError) -> SecretBytes {
    guard content.count <= largest else {
      throw StoreError(.tooLarge(limit: largest), "the key file has \(content.count) bytes", cure: "use a smaller file")
    }
    guard content.count >= smallest else {
      throw StoreError(
        .unfitSecret, "the key file has \(content.count) bytes",
        cure: "use a file of at least \(smallest) bytes, or one from \(making)")
    }
    do { return try PlainHash.secretDigest(content) } catch { throw error.storeError() }
  }

  private static func generatedKey(_ content: UnsafeRawBufferPointer) throws(StoreError) -> SecretBytes {
    do throws(FormatError) { return try text.decoded(content) } catch .memory(let error) {
      throw FormatError.memory(error).storeError()
    } catch {
      throw StoreError(.damaged, "the key file was changed or cut", cure: "use another copy of the key file")
    }
  }
}
