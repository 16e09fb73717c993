internal import Coffer
internal import CofferPlatform

/// A conversation with a pinentry of GnuPG.
///
/// Source: the manuals of pinentry ("Protocol") and of libassuan ("Client requests", "Server responses"): a line has at most
/// 1000 bytes; `%`, carriage returns and line feeds are escaped.
struct Pinentry: ~Copyable {
  private let path: String
  private let program: AskedProgram
  /// Unparsed input.
  private var text: SecretBytes
  private var count = 0

  init(program: AskedProgram, _ path: String) throws {
    (self.path, self.program) = (path, program)
    text = try SecretBytes(zeros: Terminal.longestLine)
  }

  consuming func secret(_ question: Question, within patience: Duration) throws -> SecretBytes {
    var answer = try SecretBytes(zeros: 0)
    try expectOK(&answer)
    // An older pinentry refuses unknown options, and continues without them.
    for option in Self.options { try ignored("OPTION \(option)", &answer) }
    try ignored("SETTITLE Coffer", &answer)
    try ignored("SETTIMEOUT \(patience.components.seconds)", &answer)
    try told("SETDESC", [question.reason, question.subject].compactMap(\.self).joined(separator: "\n"), &answer)
    try told("SETPROMPT", "Passphrase:", &answer)
    if let remark = question.remark { try told("SETERROR", remark, &answer) }
    try program.write("GETPIN\n")
    try expectOK(&answer)
    try program.write("BYE\n")
    _ = try program.end()
    return answer
  }

  /// The terminal, for a pinentry without a display.
  private static var options: [String] {
    let terminal = (STDIN_FILENO...STDERR_FILENO).lazy.compactMap { ttyname($0) }.first.map { String(cString: $0) }
    let type = ProcessEnvironment.value("TERM")
    return [terminal.map { "ttyname=\($0)" }, type.map { "ttytype=\($0)" }].compactMap(\.self)
  }

  private mutating func told(_ command: String, _ text: String, _ answer: inout SecretBytes) throws {
    try program.write("\(command) \(Self.escaped(text))\n")
    try expectOK(&answer)
  }

  private mutating func ignored(_ command: String, _ answer: inout SecretBytes) throws {
    try program.write(command + "\n")
    _ = try reply(&answer)
  }

  private mutating func expectOK(_ answer: inout SecretBytes) throws {
    if let why = try reply(&answer) { throw Askpass.noAnswer(path, why) }
  }

  /// Reads to the end of a response, and appends the parts of a secret in it to `answer`.
  ///
  /// - Returns: the reason of a failure.
  private mutating func reply(_ answer: inout SecretBytes) throws -> String? {
    while true {
      let end = text.withUnsafeBytes { raw in raw.prefix(count).firstIndex(of: UInt8(ascii: "\n")) }
      if let end {
        if begins("D ", end) { answer = try joined(answer, 2..<end) }
        let (isOK, isError) = (begins("OK", end), begins("ERR ", end))
        let why = isError ? text.withUnsafeBytes { raw in String(decoding: raw[4..<end], as: UTF8.self) } : nil
        let rest = count - end - 1
        text.withUnsafeMutableBytes { raw in
          guard let start = raw.baseAddress else { return }
          memmove(start, start + end + 1, rest)
          memset(start + rest, 0, raw.count - rest)
        }
        count = rest
        if isOK || isError { return why }
        continue
      }
      let got = try program.read(into: &text, at: count)
      guard got > 0 else { throw Askpass.noAnswer(path, "it ended in the middle of its answer") }
      count += got
    }
  }

  /// Whether the first line, which has `end` bytes, begins with `word`.
  private func begins(_ word: StaticString, _ end: Int) -> Bool {
    text.withUnsafeBytes { raw in
      raw.prefix(end).starts(with: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }
  }

  private func joined(_ answer: borrowing SecretBytes, _ range: Range<Int>) throws -> SecretBytes {
    try answer.withUnsafeBytes { old in
      try text.withUnsafeBytes { raw in
        try SecretBytes.written { put in
          old.forEach(put)
          var rest = raw[range]
          while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%"), let high = rest.first.flatMap(PercentEncoding.digit),
              let low = rest.dropFirst().first.flatMap(PercentEncoding.digit)
            else {
              put(byte)
              continue
            }
            put(high << 4 | low)
            rest = rest.dropFirst(2)
          }
        }
      }
    }
  }

  /// Escaped, and cut to fit.
  private static func escaped(_ text: String) -> String {
    let escaped = text.utf8.prefix(300).map { byte -> String in
      switch byte {
      case UInt8(ascii: "%"), ..<0x20, 0x7F...: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      default: String(UnicodeScalar(byte))
      }
    }
    return escaped.joined()
  }
}
