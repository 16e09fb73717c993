package import CofferMemory
internal import CofferPlatform

/// How many guesses a password or passphrase withstands, in bits: the logarithm of the guesses of an attacker who tries
/// common choices first.
///
/// The text is cut into pieces with the least sum of bits. A piece is a word of ``PasswordList``, of ``WordList`` or of the
/// item's name, a repetition, a run of letters, digits or keys, a year, or one character. This is the method of zxcvbn
/// (Wheeler, USENIX Security 2016) with smaller lists. It is an upper bound: knowledge of the person saves guesses.
package struct PasswordStrength {
  /// A stored password below this is weak, because a service may hash it badly: four random words, the minimum of
  /// `coffer generate`, have 44 bits.
  package static let least = 44.0
  /// A vault's passphrase below this is too easy to guess: a guess costs at least 64 ms of a processor, so 2^35 of them take
  /// one processor 70 years.
  package static let leastOfPassphrase = 35.0

  /// Most bytes examined: a longer text is strong, or repeats itself well before.
  private static let longest = 128
  /// If no piece is named, a count of characters below this is the weakness.
  private static let short = 8

  package let bits: Double
  /// In words that reveal nothing of it.
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

  private static func lack(_ raw: UnsafeRawBufferPointer) -> String {
    let characters = raw.count { !isContinuation($0) }
    guard characters < short else { return "it is short for its kinds of characters" }
    return "it has \(characters) character\(characters == 1 ? "" : "s")"
  }

  private typealias Lists = [(words: PieceWords, what: String)]

  /// The least sum of bits for each count of first bytes, and the last piece of that sum.
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

  /// The further bytes of a character say little more than its alphabet.
  private static let bitsOfContinuation = 3.0
  private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

  /// How many characters the kinds that occur have.
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

private struct Piece {
  let count: Int
  let bits: Double
  let what: String

  private static let rows = ["qwertyuiop", "asdfghjkl", "zxcvbnm", "1q2w3e4r5t6z7u8i9o0p", "qwertzuiop", "azertyuiop"].map {
    Array($0.utf8)
  }

  package static func all(in raw: UnsafeRawBufferPointer, at start: Int, _ single: Double) -> [Piece] {
    var pieces: [Piece] = []
    let same = raw[start...].prefix { $0 == raw[start] }.count
    if same > 2 { pieces.append(Piece(count: same, bits: single + log2(Double(same)), what: "one repeated character")) }
    for step in [1, -1] {
      var count = 1
      while start + count < raw.count, Int(raw[start + count]) == Int(raw[start + count - 1]) + step { count += 1 }
      // Its start, its length and its direction.
      if count > 2 { pieces.append(Piece(count: count, bits: 5 + log2(Double(count)), what: "characters in sequence")) }
    }
    for row in rows {
      guard let first = row.firstIndex(of: lower(raw[start])) else { continue }
      let count = zip(raw[start...], row[first...]).prefix { lower($0) == $1 }.count
      if count > 3 { pieces.append(Piece(count: count, bits: 6 + log2(Double(count)), what: "neighboring keys")) }
    }
    for count in [4, 3, 2] where period(count, in: raw, at: start) > 0 {
      let times = period(count, in: raw, at: start)
      pieces.append(
        Piece(count: count * (times + 1), bits: Double(count) * single + log2(Double(times + 1)), what: "a repetition"))
    }
    if let year = year(in: raw, at: start) { pieces.append(year) }
    return pieces
  }

  /// How often the `count` bytes at `start` repeat.
  private static func period(_ count: Int, in raw: UnsafeRawBufferPointer, at start: Int) -> Int {
    let same = raw.indices[min(start + count, raw.count)...].prefix { raw[$0] == raw[$0 - count] }.count
    return same / count
  }

  /// One of the 140 years from 1900 to 2039.
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

/// Words that a guesser tries, indexed by first byte, so that a search costs little.
struct PieceWords: Sendable {
  static let common = PieceWords(PasswordList.words) { log2(Double($0 + 2)) }
  static let english = PieceWords(WordList.words.filter { $0.count > 2 }) { _ in log2(Double(WordList.words.count)) }

  private var byFirst = [[(bytes: [UInt8], bits: Double)]](repeating: [], count: 256)

  init(_ words: [Substring], bits: (Int) -> Double) {
    for (place, word) in words.enumerated() {
      let bytes = Array(word.utf8)
      byFirst[Int(bytes[0])].append((bytes, bits(place)))
    }
  }

  /// Each word at `start`, also in capitals or with digits for letters, for a bit or two more.
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
