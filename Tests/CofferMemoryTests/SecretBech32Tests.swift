import CofferMemory
import Foundation
import Testing

@Suite struct SecretBech32Tests {
  private static func decode(_ text: String, _ prefix: String) throws -> [UInt8]? {
    var secret = try SecretBytes(zeros: text.utf8.count)
    secret.withUnsafeMutableBytes { $0.copyBytes(from: text.utf8) }
    guard let bytes = try SecretBech32.decode(secret, prefix: prefix) else { return nil }
    return bytes.withUnsafeBytes { Array($0) }
  }

  private static func encode(_ bytes: [UInt8], _ prefix: String) -> String {
    var text: [UInt8] = []
    bytes.withUnsafeBytes { SecretBech32.encode($0, prefix: prefix) { text.append($0) } }
    return String(decoding: text, as: UTF8.self)
  }

  // Source: BIP 173, "Test vectors", those that hold whole bytes.
  @Test(arguments: [
    ("A12UEL5L", "A"), ("a12uel5l", "a"),
    (
      "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
      "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio"
    ),
    ("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", "abcdef"),
    ("split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w", "split"),
  ]) func `valid texts of BIP 173 are read, and written again`(text: String, prefix: String) throws {
    let bytes = try #require(try Self.decode(text, prefix))
    #expect(Self.encode(bytes, prefix) == text)
    #expect(try Self.decode(text, prefix + "x") == nil)
  }

  @Test(arguments: [
    ("x1b4n0q5v", "x"), ("li1dgmt3", "li"), ("A1G7SGD8", "A"), ("pzry9x0s0muk", "pzry9x0s"), ("1pzry9x0s0muk", "1"),
    ("a12UEL5L", "a"),
    ("A12uel5l", "A"), ("", ""), ("a", "a"), ("a1", "a"),
    // Bits after the last byte that are not zero, or that would hold a group of their own.
    ("split1checkupstagehandshakeupstreamerranterredcaperred2y9e3q", "split"),
  ]) func `invalid texts are refused`(text: String, prefix: String) throws { #expect(try Self.decode(text, prefix) == nil) }

  @Test func `every byte sequence comes back, and no other text is read as it`() throws {
    for count in 0..<40 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
      let text = Self.encode(bytes, "AGE-SECRET-KEY-")
      #expect(try Self.decode(text, "AGE-SECRET-KEY-") == bytes)
      for index in text.indices.dropFirst(16) {
        let other = text.replacingCharacters(in: index...index, with: text[index] == "Q" ? "P" : "Q")
        #expect(try Self.decode(other, "AGE-SECRET-KEY-") == nil)
      }
    }
  }
}
