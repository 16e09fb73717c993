internal import Coffer
package import CofferMemory
internal import CofferPlatform

/// How many guesses a password or passphrase withstands, as bits: the logarithm of the guesses of somebody who tries what people
/// choose first.
///
/// The text is cut into pieces so that the sum of their bits is least. A piece is a word of ``PasswordList`` or ``WordList`` or
/// of the item's own name, a repetition, a run of letters, digits or keys in their order, a year, or one character. It is the
/// method of zxcvbn (Wheeler, USENIX Security 2016) with smaller lists. It is an estimate from above: who knows more about the
/// person needs fewer guesses.
package struct PasswordStrength {
  /// Below this a stored password is weak, which others keep and hash as they like: four random words, the least that `coffer
  /// generate` makes, have 44 bits.
  package static let least = 44.0
  /// Below this a passphrase of a vault is too easy to guess: a guess costs at least 64 ms of a processor, so that 2^35 of them
  /// take 70 years of one.
  package static let leastOfPassphrase = 35.0

  /// The most bytes that are examined: a longer text is strong, or repeats itself long before.
  private static let longest = 128
  /// Fewer characters are named as the weakness, if no piece is.
  private static let short = 8

  package let bits: Double
  /// Its weakness, in words that give nothing of it away.
  package let reason: String

  package init(_ password: borrowing SecretBytes, of names: [String] = []) throws {
    let text = try password.prefix(Self.longest)
    (bits, reason) = text.withUnsafeBytes { raw in
      guard !raw.isEmpty else { return (0, "it is empty") }
      let own = PieceWords(names.flatMap { $0.lowercased().split { !$0.isLetter && !$0.isNumber } }.filter { $0.count > 2 }) {
        _ in 3
      }
      let lists: Lists = [(own, "the name of the item"), (.common, "a common password"), (.english, "words")]
      let (bits, piece) = Self.cheapest(raw, lists)
      return (bits, piece ?? Self.lack(raw))
    }
  }

  /// The missing property if no piece is named.
  private static func lack(_ raw: UnsafeRawBufferPointer) -> String {
    let characters = raw.count { !isContinuation($0) }
    guard characters < short else { return "it is short for the characters that it is made of" }
    return "it has \(characters) character\(characters == 1 ? "" : "s")"
  }

  private typealias Lists = [(words: PieceWords, what: String)]

  /// The least sum of bits of the first so many bytes, for each count, and the last piece by which it is reached.
  private static func cheapest(_ raw: UnsafeRawBufferPointer, _ lists: Lists) -> (Double, String?) {
    let (single, kinds) = (log2(Double(alphabet(raw))), raw.map(isContinuation))
    var cost = [0.0] + [Double](repeating: .infinity, count: raw.count)
    var last = [(start: Int, what: String?)](repeating: (0, nil), count: raw.count + 1)
    func reach(_ end: Int, from start: Int, _ bits: Double, _ what: String?) {
      guard cost[start] + bits < cost[end] else { return }
      (cost[end], last[end]) = (cost[start] + bits, (start, what))
    }
    for start in raw.indices {
      reach(start + 1, from: start, kinds[start] ? bitsOfContinuation : single, nil)
      for (words, what) in lists {
        words.each(in: raw, at: start) { count, bits in reach(start + count, from: start, bits, what) }
      }
      for piece in Piece.all(in: raw, at: start, single) { reach(start + piece.count, from: start, piece.bits, piece.what) }
    }
    var (end, longest, reason) = (raw.count, 0, String?.none)
    while end > 0 {
      let piece = last[end]
      if let what = piece.what, end - piece.start > longest { (longest, reason) = (end - piece.start, what) }
      end = piece.start
    }
    return (cost[raw.count], reason)
  }

  /// Each byte but the first of a character's says little more than which alphabet it is of.
  private static let bitsOfContinuation = 3.0
  private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

  /// How many characters there are of the kinds that occur.
  private static func alphabet(_ raw: UnsafeRawBufferPointer) -> Int {
    var kinds = Set<Int>()
    for byte in raw {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): kinds.insert(0)
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): kinds.insert(1)
      case UInt8(ascii: "0")...UInt8(ascii: "9"): kinds.insert(2)
      case 0x80...: kinds.insert(4)
      default: kinds.insert(3)
      }
    }
    return kinds.reduce(0) { $0 + [26, 26, 10, 33, 64][$1] }
  }
}

/// A piece of a password that follows a rule.
private struct Piece {
  let count: Int
  let bits: Double
  let what: String

  private static let rows = ["qwertyuiop", "asdfghjkl", "zxcvbnm", "1q2w3e4r5t6z7u8i9o0p", "qwertzuiop", "azertyuiop"].map {
    Array($0.utf8)
  }

  /// The longest of each kind that begins at `start`.
  package static func all(in raw: UnsafeRawBufferPointer, at start: Int, _ single: Double) -> [Piece] {
    var pieces: [Piece] = []
    let same = raw[start...].prefix { $0 == raw[start] }.count
    if same > 2 { pieces.append(Piece(count: same, bits: single + log2(Double(same)), what: "one character again and again")) }
    for step in [1, -1] {
      var count = 1
      while start + count < raw.count, Int(raw[start + count]) == Int(raw[start + count - 1]) + step { count += 1 }
      // Where it begins, how long it is, and which way it goes.
      if count > 2 { pieces.append(Piece(count: count, bits: 5 + log2(Double(count)), what: "characters in their order")) }
    }
    for row in rows {
      guard let first = row.firstIndex(of: lower(raw[start])) else { continue }
      let count = zip(raw[start...], row[first...]).prefix { lower($0) == $1 }.count
      if count > 3 { pieces.append(Piece(count: count, bits: 6 + log2(Double(count)), what: "keys in their order")) }
    }
    for count in [4, 3, 2] where period(count, in: raw, at: start) > 0 {
      let times = period(count, in: raw, at: start)
      pieces.append(
        Piece(count: count * (times + 1), bits: Double(count) * single + log2(Double(times + 1)), what: "a repetition"))
    }
    if let year = year(in: raw, at: start) { pieces.append(year) }
    return pieces
  }

  /// How often the `count` bytes at `start` follow once more.
  private static func period(_ count: Int, in raw: UnsafeRawBufferPointer, at start: Int) -> Int {
    let same = raw.indices[min(start + count, raw.count)...].prefix { raw[$0] == raw[$0 - count] }.count
    return same / count
  }

  /// From 1900 to 2039: some 140, and one in two of this century.
  private static func year(in raw: UnsafeRawBufferPointer, at start: Int) -> Piece? {
    guard start + 4 <= raw.count else { return nil }
    var number = 0
    for byte in raw[start..<start + 4] {
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return 1900...2039 ~= number ? Piece(count: 4, bits: log2(140), what: "a year") : nil
  }

  static func lower(_ byte: UInt8) -> UInt8 { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte }
}

/// Words that a guesser tries, by their first byte: one look at a password then costs little.
struct PieceWords: Sendable {
  static let common = PieceWords(PasswordList.words) { log2(Double($0 + 2)) }
  static let english = PieceWords(WordList.words.filter { $0.count > 2 }) { _ in log2(Double(WordList.words.count)) }

  private var byFirst = [[(bytes: [UInt8], bits: Double)]](repeating: [], count: 256)

  /// - Parameter bits: those of the word at a place of the list.
  init(_ words: [Substring], bits: (Int) -> Double) {
    for (place, word) in words.enumerated() {
      let bytes = Array(word.utf8)
      byFirst[Int(bytes[0])].append((bytes, bits(place)))
    }
  }

  /// Each word that stands at `start`, in capitals or with digits for letters too, which costs the guesser a bit or two more.
  package func each(in raw: UnsafeRawBufferPointer, at start: Int, _ body: (Int, Double) -> Void) {
    for first in Set([Piece.lower(raw[start]), Self.plain(raw[start])]) {
      for (word, bits) in byFirst[Int(first)] where start + word.count <= raw.count {
        var isChanged = false
        let isThere = word.indices.allSatisfy { index in
          let byte = raw[start + index]
          if byte != word[index] { isChanged = true }
          return Piece.lower(byte) == word[index] || Self.plain(byte) == word[index]
        }
        if isThere { body(word.count, bits + (isChanged ? 2 : 0)) }
      }
    }
  }

  /// The letter that a digit or sign is written for.
  private static func plain(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "4"), UInt8(ascii: "@"): UInt8(ascii: "a")
    case UInt8(ascii: "3"): UInt8(ascii: "e")
    case UInt8(ascii: "1"), UInt8(ascii: "!"): UInt8(ascii: "i")
    case UInt8(ascii: "0"): UInt8(ascii: "o")
    case UInt8(ascii: "5"), UInt8(ascii: "$"): UInt8(ascii: "s")
    case UInt8(ascii: "7"), UInt8(ascii: "+"): UInt8(ascii: "t")
    default: Piece.lower(byte)
    }
  }
}
