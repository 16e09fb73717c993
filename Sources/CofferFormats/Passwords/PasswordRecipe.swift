package import Coffer
internal import CofferPlatform
internal import CofferTerminal

package struct PasswordRecipe {
  package enum Class: String, CaseIterable {
    case lower, upper, digits, symbols

    package var characters: String {
      switch self {
      case .lower: "abcdefghijklmnopqrstuvwxyz"
      case .upper: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
      case .digits: "0123456789"
      // Printable ASCII without quotes, backslash and space, which many forms and shells mangle.
      case .symbols: "!#$%&()*+,-./:;<=>?@[]^_{|}~"
      }
    }
  }

  package enum Kind {
    /// Each class has at least one character in the result.
    case characters(length: Int, classes: [[UInt8]])
    case words(count: Int, separator: String)
  }

  /// Characters that people confuse.
  private static let lookAlikes: Set<UInt8> = Set("0Oo1Il|".utf8)
  /// Words of a passphrase: fewer than 4 (44 bits) can be guessed, more than 64 nobody types.
  package static let wordCounts = 4...64

  package let kind: Kind

  package init(length: Int, classes: [Class], withoutLookAlikes: Bool) {
    kind = .characters(
      length: length,
      classes: classes.map { $0.characters.utf8.filter { !withoutLookAlikes || !Self.lookAlikes.contains($0) } })
  }

  package init(words count: Int, separator: String) { kind = .words(count: count, separator: separator) }

  /// Bits of entropy: the logarithm of the number of results, all equally likely.
  package var bits: Double {
    switch kind {
    case .words(let count, _): Double(count) * log2(Double(WordList.words.count))
    case .characters(let length, let classes):
      Double(length) * log2(Double(classes.map(\.count).reduce(0, +))) + log2(Self.shareWithAll(classes, length))
    }
  }

  /// The share of texts with a character of each class, by inclusion and exclusion.
  private static func shareWithAll(_ classes: [[UInt8]], _ length: Int) -> Double {
    let total = Double(classes.map(\.count).reduce(0, +))
    return (0..<1 << classes.count).reduce(0) { share, left in
      let missing = classes.indices.filter { left >> $0 & 1 == 1 }
      let rest = (total - Double(missing.map { classes[$0].count }.reduce(0, +))) / total
      return share + (missing.count.isMultiple(of: 2) ? 1 : -1) * pow(rest, Double(length))
    }
  }

  /// Always in guarded memory.
  package func make() throws -> SecretBytes {
    switch kind {
    case .words(let count, let separator): try Self.passphrase(count, separator)
    case .characters(let length, let classes): try Self.password(length, classes)
    }
  }

  private static func password(_ length: Int, _ classes: [[UInt8]]) throws -> SecretBytes {
    let alphabet = classes.flatMap(\.self)
    while true {
      var text = try SecretBytes(zeros: length)
      var source = try RandomNumbers()
      for index in 0..<length {
        let choice = try source.below(alphabet.count)
        text.withUnsafeMutableBytes { $0[index] = alphabet[choice] }
      }
      // Redrawing all of it keeps every result equally likely; inserting the missing class would not.
      let hasAll = text.withUnsafeBytes { raw in classes.allSatisfy { $0.contains { raw.contains($0) } } }
      if hasAll { return text }
    }
  }

  private static func passphrase(_ count: Int, _ separator: String) throws -> SecretBytes {
    var source = try RandomNumbers()
    // Room for the longest words first; the end is cut off, so that no allocation reveals the length.
    let longest = WordList.words.map(\.utf8.count).max() ?? 0
    var text = try SecretBytes(zeros: count * (longest + separator.utf8.count))
    var end = 0
    for index in 0..<count {
      let word = WordList.words[try source.below(WordList.words.count)]
      for byte in (index == 0 ? "" : separator).utf8 + Array(word.utf8) {
        text.withUnsafeMutableBytes { $0[end] = byte }
        end += 1
      }
    }
    return try text.prefix(end)
  }
}

private struct RandomNumbers: ~Copyable {
  private static let size = 1024
  private var bytes: SecretBytes
  private var used = 0

  init() throws { bytes = try .random(Self.size) }

  /// A number below `bound`, at most 65 536, all equally likely: a draw in the incomplete last range is repeated.
  mutating func below(_ bound: Int) throws -> Int {
    let limit = (1 << 16) - (1 << 16) % bound
    while true {
      if used + 2 > Self.size {
        bytes = try .random(Self.size)
        used = 0
      }
      let at = used
      let number = bytes.withUnsafeBytes { Int($0[at]) << 8 | Int($0[at + 1]) }
      used += 2
      if number < limit { return number % bound }
    }
  }
}

package enum Generated {
  /// 32 characters of 6 bits each: 192 bits.
  package static let standardLength = 32
  /// Fewer than 8 characters (48 bits) can be guessed; more than 1024 is no password.
  package static let lengths = 8...1024

  package static let bitsOfCharacter = 6.0

  // 64 characters, so that six random bits choose one evenly; safe in URLs, shells and most password rules.
  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

  package static func text(length: Int) throws -> SecretBytes {
    var text = try SecretBytes.random(length)
    text.withUnsafeMutableBytes { bytes in
      for index in bytes.indices { bytes[index] = alphabet.utf8Start[Int(bytes[index] & 63)] }
    }
    return text
  }
}
