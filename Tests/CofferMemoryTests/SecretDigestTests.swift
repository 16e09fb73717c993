import CofferMemory
import Foundation
import Testing

@Suite struct SecretDigestTests {
  private func secret(_ bytes: [UInt8]) throws -> SecretBytes {
    var secret = try SecretBytes(zeros: bytes.count)
    secret.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    return secret
  }
  private func secret(_ text: String) throws -> SecretBytes { try secret(Array(text.utf8)) }
  private func hex(_ bytes: borrowing SecretBytes) -> String {
    bytes.withUnsafeBytes { $0.map { String(format: "%02x", $0) }.joined() }
  }

  @Test func `SHA-1 gives the results of RFC 3174, around the ends of blocks too`() throws {
    let long = String(repeating: "a", count: 1_000_000)
    let eights = String(repeating: "0123456701234567012345670123456701234567012345670123456701234567", count: 10)
    for (text, expected) in [
      ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
      ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
      (long, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"), (eights, "dea356a2cddd90c7a7ecedc5ebb563934f460452"),
    ] { #expect(try hex(SecretDigest.sha1.hash(secret(text))) == expected) }
    // Made by coreutils' sha1sum.
    for (count, expected) in [
      (55, "c1c8bbdc22796e28c0e15163d20899b65621d65a"), (56, "c2db330f6083854c99d4b5bfb6e8f29f201be699"),
      (63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5"), (64, "0098ba824b5c16427bd7a1122a5a442a25ec644d"),
      (65, "11655326c708d70319be2610e8a57d9a5b959d3b"), (119, "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56"),
      (120, "f34c1488385346a55709ba056ddd08280dd4c6d6"),
    ] { #expect(try hex(SecretDigest.sha1.hash(secret(String(repeating: "a", count: count)))) == expected, "\(count)") }
  }

  @Test func `SHA-256 and SHA-512 are those of FIPS 180-4`() throws {
    #expect(
      try hex(SecretDigest.sha256.hash(secret("abc"))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(try hex(SecretDigest.sha512.hash(secret("abc"))).hasPrefix("ddaf35a193617abacc417349ae20413112e6fa4e89a97ea2"))
  }

  @Test func `HMAC gives the results of RFC 2202 and RFC 4231, with short keys and with keys longer than a block`() throws {
    let larger = "Test Using Larger Than Block-Size Key - Hash Key First"
    let cases: [(SecretDigest, [UInt8], String, String)] = [
      (.sha1, Array(repeating: 0x0B, count: 20), "Hi There", "b617318655057264e28bc0b6fb378c8ef146be00"),
      (.sha1, Array("Jefe".utf8), "what do ya want for nothing?", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
      (.sha1, Array(repeating: 0xAA, count: 80), larger, "aa4ae5e15272d00e95705637ce8a3b55ed402112"),
      (
        .sha256, Array(repeating: 0x0B, count: 20), "Hi There",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        .sha256, Array(repeating: 0xAA, count: 131), larger,
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
      (
        .sha512, Array("Jefe".utf8), "what do ya want for nothing?",
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
      ),
      (
        .sha512, Array(repeating: 0xAA, count: 131), larger,
        "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598"
      ),
    ]
    for (digest, key, message, expected) in cases {
      let key = try secret(key)
      let message = try secret(message)
      let tag = try message.withUnsafeBytes { try digest.authenticate($0, with: key) }
      #expect(hex(tag) == expected, "\(digest)")
    }
  }

  @Test func `HKDF gives the first block of RFC 5869's result without salt and information`() throws {
    let salt = try SecretBytes(zeros: 0)
    let derived = try secret(Array(repeating: 0x0B, count: 22)).withUnsafeBytes {
      try SecretDigest.sha256.derive(from: $0, salt: salt)
    }
    #expect(hex(derived) == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d")
  }
}
