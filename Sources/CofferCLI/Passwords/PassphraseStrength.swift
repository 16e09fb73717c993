internal import Coffer
internal import CofferPlatform

/// How many tries it takes to guess a passphrase, for somebody who tries what people choose first.
///
/// The cheapest way to put the text together out of words, common passwords, rows of keys, runs, years, repetitions and single characters.
/// It is an estimate from above: who knows more about the person needs fewer tries.
///
/// Source of the method: D. Wheeler, "zxcvbn: Low-Budget Password Strength Estimation", USENIX Security 2016.
struct PassphraseStrength {
  /// The logarithm to base 2 of the tries.
  let bits: Double
  /// What is weak about it, in words that give nothing of it away.
  let reason: String

  /// Below this a passphrase is too easy to guess: a guess costs at least 64 ms of a processor, so that 2^35 of them take 70 years of one.
  static let least = 35.0

  /// Characters that are looked at: more are strong enough, whatever they are.
  private static let longest = 128
  /// Fewer are named as what is wrong.
  private static let short = 8

  init(of passphrase: borrowing SecretBytes) throws {
    let length = min(passphrase.count, Self.longest)
    // Copies in guarded memory, as the original: in lower case, and with what stands for a letter as that letter.
    var lower = try passphrase.prefix(length)
    lower.withUnsafeMutableBytes { raw in for index in raw.indices { raw[index] = CommonPasswords.lower(raw[index]) } }
    var folded = try lower.duplicate()
    folded.withUnsafeMutableBytes { raw in for index in raw.indices { raw[index] = CommonPasswords.folded(raw[index]) } }
    let found = passphrase.withUnsafeBytes { given in
      lower.withUnsafeBytes { lower in
        folded.withUnsafeBytes { folded in
          Self(given: UnsafeRawBufferPointer(rebasing: given[..<length]), lower: lower, folded: folded)
        }
      }
    }
    bits = found.bits
    let characters = passphrase.withUnsafeBytes { raw in raw.count { $0 & 0xC0 != 0x80 } }
    reason = characters < Self.short ? "it has \(characters) character\(characters == 1 ? "" : "s")" : found.reason
  }

  /// The cheapest way to each place of the text, and what most of the way there is.
  private init(given: UnsafeRawBufferPointer, lower: UnsafeRawBufferPointer, folded: UnsafeRawBufferPointer) {
    var best: [(bits: Double, parts: [Part: Int])] = [(0, [:])]
    for end in given.indices.map({ $0 + 1 }) {
      best.append((best[end - 1].bits + Self.bits(ofByte: given[end - 1]), Self.adding(.single, 1, to: best[end - 1].parts)))
      for start in 0..<end - 1 {
        let range = start..<end
        // What was changed of a word: capitals, digits in the place of letters.
        let changes = range.contains { given[$0] != folded[$0] } ? 1.5 : 0
        let found = Self.word(UnsafeRawBufferPointer(rebasing: folded[range])).map { ($0.0 + changes, $0.1) }
        guard let (cost, part) = found ?? Self.pattern(lower, range) else { continue }
        let bits = best[start].bits + cost
        if bits < best[end].bits { best[end] = (bits, Self.adding(part, end - start, to: best[start].parts)) }
      }
    }
    let most = best[given.count].parts.max { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) }
    bits = best[given.count].bits
    reason = (most?.key ?? .single).rawValue
  }

  private enum Part: String {
    case common = "it is a common password, or nearly one"
    case word = "it is made of few common words"
    case pattern = "it is made of keys or characters in a row"
    case single = "it is short for the characters that it is made of"
  }

  private static func adding(_ part: Part, _ length: Int, to parts: [Part: Int]) -> [Part: Int] {
    parts.merging([part: length]) { $0 + $1 }
  }

  private static func word(_ part: UnsafeRawBufferPointer) -> (Double, Part)? {
    if let rank = CommonPasswords.rank(of: part) { return (log2(Double(rank + 2)), .common) }
    return CommonPasswords.isWord(part) ? (CommonPasswords.bitsOfWord, .word) : nil
  }

  private static func pattern(_ text: UnsafeRawBufferPointer, _ range: Range<Int>) -> (Double, Part)? {
    let part = UnsafeRawBufferPointer(rebasing: text[range])
    if part.count > 2, isRun(part) || isRowOfKeys(part) { return (6 + log2(Double(part.count)), .pattern) }
    if isYear(part) { return (7, .pattern) }
    return repeats(text, range) ? (1 + log2(Double(range.upperBound)), .pattern) : nil
  }

  /// Whether the same bytes stand right before.
  private static func repeats(_ text: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
    (1..<range.lowerBound + 1).contains { period in range.allSatisfy { text[$0] == text[$0 - period] } }
  }

  /// Whether each byte is one more, one less, or the same as the one before.
  private static func isRun(_ part: UnsafeRawBufferPointer) -> Bool {
    [-1, 0, 1].contains { step in (1..<part.count).allSatisfy { Int(part[$0]) - Int(part[$0 - 1]) == step } }
  }

  private static let rows = ["qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop", "1234567890"]
    .flatMap { [Array($0.utf8), Array($0.utf8.reversed())] }

  private static func isRowOfKeys(_ part: UnsafeRawBufferPointer) -> Bool {
    rows.contains { row in
      guard part.count <= row.count, let start = row.firstIndex(of: part[0]), start + part.count <= row.count else {
        return false
      }
      return part.elementsEqual(row[start..<start + part.count])
    }
  }

  private static func isYear(_ part: UnsafeRawBufferPointer) -> Bool {
    guard part.count == 4, part.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return false }
    return part.starts(with: "19".utf8) || part.starts(with: "20".utf8)
  }

  /// What one character costs that is part of nothing.
  private static func bits(ofByte byte: UInt8) -> Double {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): log2(10)
    case UInt8(ascii: "a")...UInt8(ascii: "z"): log2(26)
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): log2(52)
    case UInt8(ascii: " "): 2
    // Each byte but the first of a character's says little more than which alphabet it is of.
    case 0x80...0xBF: 3
    default: 5.5
    }
  }
}
