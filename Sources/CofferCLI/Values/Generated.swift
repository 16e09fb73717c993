internal import Coffer

/// Random text for passwords and tokens.
enum Generated {
  /// 32 characters of 6 bits each: 192 bits.
  static let standardLength = 32
  /// Fewer than 8 characters (48 bits) can be guessed; more than 1024 is no password.
  static let lengths = 8...1024

  /// What one of 64 equally likely characters is worth.
  static let bitsOfCharacter = 6.0

  // 64 characters, so that six random bits choose one evenly; safe in URLs, shells and most password rules.
  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

  static func text(length: Int) throws -> SecretBytes {
    var text = try SecretBytes.random(length)
    text.withUnsafeMutableBytes { bytes in
      for index in bytes.indices { bytes[index] = alphabet.utf8Start[Int(bytes[index] & 63)] }
    }
    return text
  }
}
