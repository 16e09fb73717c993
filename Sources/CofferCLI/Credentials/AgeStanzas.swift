internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import SystemPackage

/// A stanza of age's: words, and a body.
struct AgeStanza {
  let words: [String]
  /// Nil for a longer body than Coffer takes, and one that is no Base64.
  let body: SecretForm?
}

/// The stanzas of age's plugins on standard input and output. A file's key may be in one, so they are in guarded memory alone.
///
/// Source: C2SP age, "Stanzas"; C2SP age-plugin, "Commands and responses".
final class AgeStanzas {
  /// Letters of a body's whole line; a shorter one, perhaps empty, is the last.
  private static let wholeLine = 64
  /// Lines of a body: a passphrase is the longest that Coffer takes.
  private static let mostLines = 100
  /// Bytes of a line. Stanzas of others are read, and left out.
  private static let longest = 1 << 16

  private var buffer: SecretBytes
  /// The bytes that were read, and not yet taken.
  private var rest = 0..<0

  init() throws { buffer = try SecretBytes(zeros: Self.longest) }

  /// Nil at the end.
  func next() throws -> AgeStanza? {
    guard let head = try line() else { return nil }
    guard let text = head.bytes.withUnsafeBytes({ PlainBytes.text($0) }), text.hasPrefix("-> ") else {
      throw Self.malformed("a line is not the beginning of a stanza")
    }
    var lines: [SecretForm] = [], isShort = true
    while true {
      guard let line = try line() else { throw Self.malformed("a stanza has no end") }
      if lines.count < Self.mostLines { lines.append(line) } else { isShort = false }
      if line.bytes.count < Self.wholeLine { break }
    }
    return AgeStanza(
      words: text.dropFirst(3).split(separator: " ").map(String.init), body: isShort ? try Self.decoded(lines) : nil)
  }

  /// Sends a command, and returns the answer to it.
  @discardableResult func send(_ words: [String], _ body: borrowing SecretBytes) throws -> AgeStanza {
    try Self.write(words, body)
    guard let answer = try next() else { throw Self.malformed("age ended the conversation") }
    return answer
  }

  @discardableResult func send(_ words: [String], _ text: String) throws -> AgeStanza {
    try send(words, Self.form(text).bytes)
  }

  static func write(_ words: [String], _ body: borrowing SecretBytes) throws {
    let stanza = try body.withUnsafeBytes { raw in
      try SecretBytes.written { put in
        "-> \(words.joined(separator: " "))\n".utf8.forEach(put)
        let step = wholeLine / 4 * 3
        for start in stride(from: 0, through: raw.count, by: step) {
          encode(UnsafeRawBufferPointer(rebasing: raw[start..<min(start + step, raw.count)]), put)
          put(0x0A)
        }
      }
    }
    try Output.write(stanza)
  }

  static func form(_ text: String) throws -> SecretForm {
    SecretForm(try text.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) })
  }

  static func base64(_ bytes: [UInt8]) -> String {
    var letters: [UInt8] = []
    bytes.span.bytes.withUnsafeBytes { encode($0) { letters.append($0) } }
    return String(decoding: letters, as: UTF8.self)
  }

  /// Without padding.
  private static func encode(_ raw: UnsafeRawBufferPointer, _ put: (UInt8) -> Void) {
    SecretBase64.encode(raw) { if $0 != UInt8(ascii: "=") { put($0) } }
  }

  /// The bytes of Base64 without padding; nil for other text.
  static func decoded(_ lines: [SecretForm]) throws -> SecretForm? {
    let count = lines.reduce(0) { $0 + $1.bytes.count }
    let padded = try SecretBytes.written { put in
      for line in lines { line.bytes.withUnsafeBytes { $0.forEach(put) } }
      for _ in 0..<((4 - count % 4) % 4) { put(UInt8(ascii: "=")) }
    }
    guard let bytes = try SecretBase64.decode(padded) else { return nil }
    return SecretForm(bytes)
  }

  private func line() throws -> SecretForm? {
    while true {
      let rest = rest
      if let newline = buffer.withUnsafeBytes({ $0[rest].firstIndex(of: 0x0A) }) {
        self.rest = newline + 1..<rest.upperBound
        return try buffer.withUnsafeBytes {
          SecretForm(try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[rest.lowerBound..<newline])))
        }
      }
      let have = rest.count, room = Self.longest - have
      guard room > 0 else { throw Self.malformed("a line is longer than \(Self.longest) bytes") }
      let got = buffer.withUnsafeMutableBytes { raw in
        raw.copyMemory(from: UnsafeRawBufferPointer(rebasing: raw[rest]))
        return SecretReader.readOnce(STDIN_FILENO, raw.baseAddress.map { $0 + have }, room)
      }
      guard got >= 0 else { throw StoreError(errno: errno, "read age's request", place: "standard input") }
      if got == 0 { return nil }
      self.rest = 0..<have + got
    }
  }

  private static func malformed(_ what: String) -> StoreError {
    StoreError(.undecodable(stored: "malformed stanzas"), what, cure: "only age and programs like it start this command")
  }
}
