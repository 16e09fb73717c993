internal import Coffer
internal import CofferPlatform

/// What people choose first, and the words that they put together, by their bytes: no text is made of a passphrase that is looked at.
enum CommonPasswords {
  /// Bytes of an entry, at most: they are looked up as one number.
  private static let longest = 8

  /// The place of `part`, folded, in the list; nil where it is not there.
  static func rank(of part: UnsafeRawBufferPointer) -> Int? { number(part).flatMap { ranks[$0] } }

  /// Whether `part`, folded, is a word of the list that passphrases are made of.
  static func isWord(_ part: UnsafeRawBufferPointer) -> Bool { number(part).map { words.contains($0) } ?? false }

  /// What one word is worth.
  static let bitsOfWord = log2(Double(WordList.words.count))

  static func lower(_ byte: UInt8) -> UInt8 { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte + 32 : byte }

  /// The letter that `byte` stands for.
  static func folded(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "@"), UInt8(ascii: "4"): UInt8(ascii: "a")
    case UInt8(ascii: "0"): UInt8(ascii: "o")
    case UInt8(ascii: "1"), UInt8(ascii: "!"): UInt8(ascii: "i")
    case UInt8(ascii: "3"): UInt8(ascii: "e")
    case UInt8(ascii: "$"), UInt8(ascii: "5"): UInt8(ascii: "s")
    case UInt8(ascii: "7"): UInt8(ascii: "t")
    default: byte
    }
  }

  private static func number(_ part: UnsafeRawBufferPointer) -> UInt64? {
    guard 3...longest ~= part.count else { return nil }
    return part.reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func number(_ text: Substring) -> UInt64? {
    Array(text.utf8).map(folded).withUnsafeBytes { number($0) }
  }

  private static let words = Set(WordList.words.compactMap { number($0) })
  private static let ranks: [UInt64: Int] = {
    let numbers = list.split { $0 == " " || $0 == "\n" }.compactMap { number($0) }
    return Dictionary(numbers.enumerated().map { ($1, $0) }) { first, _ in first }
  }()

  // In about the order of their frequency in lists that were published. Rows of keys and runs of digits are found without a list.
  private static let list = """
    password passwort passw0rd passwd pass secret iloveyou admin root toor welcome monkey dragon letmein login princess sunshine
    master hello freedom whatever qazwsx trustno1 football baseball superman batman shadow michael jordan jennifer hunter hunter2
    ashley bailey access flower mustang starwars matrix pokemon abc123 1q2w3e4r 1q2w3e 1qaz2wsx q1w2e3r4 zaq12wsx qwe123 asd123
    test testing guest user default changeme computer internet samsung google apple linux ubuntu debian windows server service
    system oracle mysql postgres vault coffer key love lovely baby angel daniel thomas robert matthew andrew joshua jessica
    michelle charlie george harley ranger buster soccer hockey killer pepper ginger cheese cookie summer winter spring autumn
    orange banana chocolate purple silver golden diamond thunder tigger yankees dallas london berlin paris chelsea arsenal
    liverpool merlin maggie amanda nicole sophie hannah jasmine donald solo zxcvbn asdf asdfgh qwertz azerty geheim hallo schatz
    soleil bonjour doudou motdepass marina contrase hola amor tequiero teste senha correct horse battery staple
    """
}
