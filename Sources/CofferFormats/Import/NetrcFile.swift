package import CofferMemory
internal import CofferStorage

/// `.netrc`: passwords by machine, for curl, ftp and others.
///
/// Source: ftp(1) of BSD for its words, and curl's documentation for quotes and comments.
package struct NetrcFile {
  private let bytes: UnsafeRawBufferPointer
  private let place: String
  private var offset = 0
  /// Nil before the first word.
  private var start: Int?
  private var isCuttable = true
  /// The words of the current machine that may occur once.
  private var words: Set<String> = []
  private var found = ImportedEntries()

  package static func read(_ file: borrowing SecretBytes, place: String) throws -> ImportedEntries {
    try file.withUnsafeBytes { raw in
      var reader = NetrcFile(bytes: raw, place: place)
      try reader.read()
      return reader.found
    }
  }

  private mutating func read() throws {
    var entry: ImportedEntry?
    while true {
      start = nil
      guard let word = try word()?.plainText else { break }
      defer { cut(&entry) }
      switch word {
      case "machine", "default":
        finish(entry)
        entry = ImportedEntry()
        (isCuttable, words) = (true, [])
        let host = word == "default" ? "default" : try value(of: word).plainText
        entry?.service = host
        entry?.title = host
      case "macdef":
        found.leaveOut(try value(of: word).plainText, "macros")
        // A macro ends with an empty line.
        while offset < bytes.count, !bytes[offset...].starts(with: "\n\n".utf8) { offset += 1 }
        // It belongs to the machine before it; after a cut it would become another's.
        isCuttable = false
      case "login" where entry != nil:
        try checkOnce(word)
        entry?.user = try value(of: word).plainText
      case "password" where entry != nil:
        try checkOnce(word)
        entry?.value = try value(of: word)
      case "account" where entry != nil: entry?.add(try value(of: word), as: "account")
      default: throw damaged("a word is unknown; a netrc has machine, default, login, password, account, macdef")
      }
    }
    finish(entry)
  }

  /// Of two equal words one would be lost, and programs do not agree on which they use.
  private mutating func checkOnce(_ word: String) throws {
    guard words.insert(word).inserted else { throw damaged("the machine has a second '\(word)'") }
  }

  private mutating func finish(_ entry: ImportedEntry?) {
    guard var entry else { return }
    if !isCuttable { entry.cuts = [] }
    found.add(entry)
  }

  /// With the blanks and the line end behind it.
  private mutating func cut(_ entry: inout ImportedEntry?) {
    guard let start else { return }
    var (first, end) = (start, offset)
    while first > 0, [0x20, 0x09].contains(bytes[first - 1]) { first -= 1 }
    // Blanks inside a line stand behind another word, and are cut with that one.
    if first > 0, bytes[first - 1] != 0x0A { first = start }
    while end < bytes.count, [0x20, 0x09, 0x0D].contains(bytes[end]) { end += 1 }
    if end < bytes.count, bytes[end] == 0x0A { end += 1 }
    entry?.cuts.append(ImportedEntry.Cut(range: first..<end))
  }

  private mutating func value(of word: String) throws -> SecretForm {
    guard let value = try self.word() else { throw damaged("nothing follows '\(word)'") }
    return value
  }

  /// The next word, in guarded memory; nil at the end. A word in double quotes may hold spaces and `\"`, `\\`, `\n`, `\r`,
  /// `\t`.
  private mutating func word() throws -> SecretForm? {
    while let byte = peek, Self.isSpace(byte) || byte == UInt8(ascii: "#") {
      offset += 1
      while byte == UInt8(ascii: "#"), let rest = peek, rest != 0x0A { offset += 1 }
    }
    guard let first = peek else { return nil }
    let start = offset
    if self.start == nil { self.start = start }
    return SecretForm(
      try SecretBytes.written { (put) throws(StoreError) in
        offset = start
        if first == UInt8(ascii: "\"") { return try quoted(put) }
        while let byte = peek, !Self.isSpace(byte) {
          put(byte)
          offset += 1
        }
      })
  }

  private mutating func quoted(_ put: (UInt8) -> Void) throws(StoreError) {
    offset += 1
    while let byte = peek {
      offset += 1
      switch byte {
      case UInt8(ascii: "\""): return
      case UInt8(ascii: "\\"):
        guard let escaped = peek else { break }
        offset += 1
        switch escaped {
        case UInt8(ascii: "n"): put(0x0A)
        case UInt8(ascii: "r"): put(0x0D)
        case UInt8(ascii: "t"): put(0x09)
        default: put(escaped)
        }
      default: put(byte)
      }
    }
    throw damaged("a quote has no end")
  }

  private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }
  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

  private func damaged(_ what: String) -> StoreError {
    let line = bytes[..<min(offset, bytes.count)].count { $0 == 0x0A } + 1
    return StoreError.damaged(line, what, place)
  }
}
