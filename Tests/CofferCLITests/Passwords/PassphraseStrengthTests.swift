import CofferMemory
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats

struct PassphraseStrengthTests {
  private func strength(_ text: String) throws -> PasswordStrength { try PasswordStrength(Home.secret(text)) }

  @Test(arguments: [
    "a", "abc", "hunter2", "password", "Passw0rd!", "qwertyuiop", "1234567890", "abcdefghijkl", "aaaaaaaaaaaaaaaa", "letmein2024",
    "correct horse", "P4$$w0rd1", "abcabcabcabcabc", "sunshine1987", "zxcvbnm,./", "äöü", "19871987", "drowssap",
    "iloveyouiloveyou",
  ])
  func `what people choose first is too easy`(text: String) throws {
    let strength = try strength(text)
    #expect(strength.bits < PasswordStrength.leastOfPassphrase, "\(text): \(strength)")
    #expect(!strength.reason.isEmpty && !text.contains(strength.reason))
  }

  @Test(arguments: [
    "plum sofa kite unit", "plum-sofa-kite-unit", "kd93hGz1pq", "xqvjwzkp", "Ein Haus am blauen Meer, sagt er", "日本語のパスフレーズ",
    "fjord gypsy 81 ox", "VbT7!pQz",
  ])
  func `what nobody would try first is taken`(text: String) throws {
    let strength = try strength(text)
    #expect(strength.bits >= PasswordStrength.leastOfPassphrase, "\(text): \(strength)")
  }

  @Test
  func `no byte and no length stops it, and more text is never weaker than its beginning by much`() throws {
    var random = Random(seed: 7)
    for length in [1, 2, 3, 127, 128, 129, 1024] {
      let bytes = (0..<length).map { _ in UInt8.random(in: 1...255, using: &random) }
      let strength = try bytes.withUnsafeBytes { try PasswordStrength(SecretBytes(copying: $0)) }
      #expect(strength.bits > 0 && strength.bits.isFinite)
    }
    #expect(try strength("kd93hGz1pqaaaa").bits >= strength("kd93hGz1pq").bits)
  }

  @Test
  func `generated passphrases are worth what they are said to be, and their separators`() throws {
    var random = Random(seed: 7)
    for _ in 0..<50 {
      let words = (0..<4).map { _ in String(WordList.words.randomElement(using: &random) ?? "") }.joined(separator: " ")
      let bits = try strength(words).bits
      #expect(bits >= PasswordStrength.least && bits <= 4 * log2(Double(WordList.words.count)) + 18, "\(words): \(bits)")
    }
  }
}
