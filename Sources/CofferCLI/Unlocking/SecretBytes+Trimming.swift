internal import Coffer

/// What counts as one newline at the end.
enum TrailingNewline { case lineFeed, lineFeedOrCRLF }

extension SecretBytes {
  /// These bytes without one newline at their end.
  borrowing func withoutTrailingNewline(_ style: TrailingNewline) throws -> SecretBytes {
    let drop = withUnsafeBytes { raw -> Int in
      guard raw.last == UInt8(ascii: "\n") else { return 0 }
      return style == .lineFeedOrCRLF && raw.dropLast().last == UInt8(ascii: "\r") ? 2 : 1
    }
    return try prefix(count - drop)
  }

  /// These bytes, checked to be a passphrase.
  consuming func asPassphrase(from source: String) throws -> SecretBytes {
    let length = count
    guard length > 0 else { throw Failure.usage("the passphrase from \(source) is empty", try: "one of 1 to 1024 bytes") }
    guard length <= SecretReader.largestPassphrase else {
      throw Failure(
        StoreError(
          .tooLarge(limit: SecretReader.largestPassphrase), "the passphrase from \(source) is longer than 1024 bytes",
          cure: "use a shorter one, or a key file"))
    }
    return self
  }
}
