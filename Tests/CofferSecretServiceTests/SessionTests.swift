import CofferMemory
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSecretService

@Suite struct SessionTests {
  private static func secret(_ hexadecimal: String) throws -> SecretBytes {
    try bytes(hexadecimal).span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
  }

  private static func bytes(_ hexadecimal: String) -> [UInt8] {
    stride(from: 0, to: hexadecimal.count, by: 2).compactMap { UInt8(hexadecimal.dropFirst($0).prefix(2), radix: 16) }
  }

  private static func needGcrypt() throws {
    if Gcrypt.table == nil { try Test.skip(without: "libgcrypt20") }
  }

  // Source: NIST SP 800-38A, F.2.1 (CBC-AES128.Encrypt).
  private static let key = "2b7e151628aed2a6abf7158809cf4f3c"
  private static let vector = "000102030405060708090a0b0c0d0e0f"
  private static let plain =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
  private static let sealed =
    "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b273bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7"

  @Test func `secrets are encrypted as the standard's examples are`() throws {
    try Self.needGcrypt()
    let key = try Self.secret(Self.key)
    let vector = Self.bytes(Self.vector)
    let plain = try Self.secret(Self.plain)
    let sealed = try vector.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try SecretCipher.encrypt(plain, key, raw) }
    let text = sealed.withUnsafeBytes { $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
    #expect(text.hasPrefix(Self.sealed) && text.count == Self.sealed.count + 32)
    let back = try sealed.withUnsafeBytes { (bytes) throws(Refusal) in
      try vector.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try SecretCipher.decrypt(bytes, key, raw) }
    }
    let isSame = back.isEqual(to: plain)
    #expect(isSame)
  }

  @Test func `secrets of any length come back, and others are refused`() throws {
    try Self.needGcrypt()
    let key = try Self.secret(Self.key)
    let vector = Self.bytes(Self.vector)
    for count in [0, 1, 15, 16, 17, 4096] {
      let plain = try SecretBytes.random(count)
      let sealed = try vector.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try SecretCipher.encrypt(plain, key, raw) }
      #expect(sealed.count == (count / 16 + 1) * 16)
      let back = try sealed.withUnsafeBytes { (bytes) throws(Refusal) in
        try vector.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try SecretCipher.decrypt(bytes, key, raw) }
      }
      let isSame = back.isEqual(to: plain)
      #expect(isSame)
    }
    // No block, half a block, and another key: of 256 such keys one would give valid padding.
    for (wrong, vector) in [("", vector), ("0011", vector), (Self.sealed, vector), (Self.sealed, [0])] {
      #expect(throws: Refusal.self) {
        _ = try Self.bytes(wrong).span.bytes.withUnsafeBytes { (bytes) throws(Refusal) in
          try vector.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try SecretCipher.decrypt(bytes, key, raw).count }
        }
      }
    }
  }

  @Test func `the key of a session is derived as HKDF derives it`() throws {
    // By Python's hmac: the first 16 bytes of HKDF-SHA-256 of the bytes 0 to 127 with no salt and no information.
    let shared = try Array(UInt8(0)..<128).span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let derived = try KeyExchange.derive(shared)
    let isSame = derived.isEqual(to: try Self.secret("d030a065c4f99245756b6fc30d00a294"))
    #expect(isSame)
  }

  @Test func `both sides of an exchange have the same key`() throws {
    try Self.needGcrypt()
    // A peer with the private key 1 has the generator as its public key, and shares our public key.
    for _ in 0..<3 {
      let outcome = try [UInt8(2)].span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try KeyExchange.answer(raw) }
      #expect(outcome.publicKey.count == 128)
      let shared = try outcome.publicKey.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
      let derived = try KeyExchange.derive(shared)
      let isSame = derived.isEqual(to: outcome.key)
      #expect(isSame)
    }
  }

  @Test func `public keys that make the key known are refused`() throws {
    try Self.needGcrypt()
    let prime = KeyExchange.prime
    let wrong: [[UInt8]] = [
      [], [0], [1], [0, 0, 1], prime, Array(prime.dropLast()) + [0xFE], [0] + prime, [1] + prime,
      Array(repeating: 0xFF, count: 4096),
    ]
    for key in wrong {
      #expect(throws: Refusal.self) {
        _ = try key.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try KeyExchange.answer(raw).publicKey }
      }
    }
    let largest = Array(prime.dropLast()) + [0xFD]
    _ = try largest.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try KeyExchange.answer(raw).publicKey }
  }
}
