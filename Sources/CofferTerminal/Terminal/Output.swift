package import Coffer
internal import CofferPlatform
internal import CofferStorage
package import Logging

/// Data to standard output, messages to standard error. No buffer can keep a secret.
package enum Output {
  package static var isTerminal: Bool { Display.output.isTerminal }

  package static func write(_ text: String) throws(Failure) { try write(text.utf8Span.span.bytes) }

  package static func line(_ text: String) throws(Failure) { try write(text + "\n") }

  package static func sentence(_ text: String) throws(Failure) {
    try line(isTerminal ? TextWidth.message(text, to: Display.output.width) : text)
  }

  package static func write(_ bytes: RawSpan) throws(Failure) {
    try bytes.withUnsafeBytes { (raw) throws(Failure) in try write(raw, to: STDOUT_FILENO) }
  }

  /// Straight from guarded memory.
  package static func write(_ bytes: borrowing SecretBytes) throws(Failure) {
    try bytes.withUnsafeBytes { (raw) throws(Failure) in try write(raw, to: STDOUT_FILENO) }
  }

  /// A value for a person or a program. A pipe or a file gets exactly its bytes. A terminal gets a newline after them, and
  /// control characters, such as ESC, as `\u{1b}`: a value may be another's text.
  ///
  /// - Parameter hanging: the blanks before each further line at a terminal.
  /// - Throws: a usage failure if the output is a terminal and the value is not text.
  package static func value(_ bytes: borrowing SecretBytes, hanging: Int = 0) throws(Failure) {
    try bytes.withUnsafeBytes { (raw) throws(Failure) in try value(raw, hanging: hanging) }
  }

  /// A value and a newline, for programs too.
  package static func valueLine(_ bytes: borrowing SecretBytes, hanging: Int = 0) throws(Failure) {
    try value(bytes, hanging: hanging)
    if !isTerminal { try write("\n") }
  }

  package static func value(_ text: String) throws(Failure) {
    try text.utf8Span.span.bytes.withUnsafeBytes { (raw) throws(Failure) in try value(raw) }
  }

  package static func value(_ raw: UnsafeRawBufferPointer, hanging: Int = 0) throws(Failure) {
    guard isTerminal else { return try write(raw, to: STDOUT_FILENO) }
    guard UTF8Validity.isValid(raw) else {
      throw .usage(
        "the value is not text, and a terminal could interpret its bytes as commands",
        try: "the same command with '| xxd' or '> FILE'")
    }
    // In place: the value is never copied into ordinary memory.
    var start = 0, at = 0, decoder = Unicode.UTF8(), bytes = raw.makeIterator()
    scan: while true {
      switch decoder.decode(&bytes) {
      case .scalarValue(let scalar):
        let end = at + UTF8.width(scalar)
        if scalar.isHidden, !scalar.isPartOfWriting, scalar != "\n", scalar != "\t" {
          try write(UnsafeRawBufferPointer(rebasing: raw[start..<at]), to: STDOUT_FILENO)
          try write("\\u{\(String(scalar.value, radix: 16))}")
          start = end
        } else if scalar == "\n", hanging > 0, end < raw.count {
          try write(UnsafeRawBufferPointer(rebasing: raw[start..<end]), to: STDOUT_FILENO)
          try write(TextWidth.blanks(hanging))
          start = end
        }
        at = end
      case .emptyInput, .error: break scan
      }
    }
    try write(UnsafeRawBufferPointer(rebasing: raw[start...]), to: STDOUT_FILENO)
    if raw.last != UInt8(ascii: "\n") { try write("\n") }
  }

  /// A message for a person, wrapped on a terminal. If standard error is gone, nobody can be informed.
  package static func message(_ text: String) {
    record(Display.errors.isTerminal ? TextWidth.message(text, to: Display.errors.width) : text)
  }

  /// At a terminal `command`, the cure, is alone on its line: nothing breaks a copy.
  package static func message(_ failure: Failure, cure command: String? = nil) {
    guard Display.errors.isTerminal else { return record(failure.text) }
    message(failure.text(for: .errors, without: command))
    if let command { record(TextWidth.blanks(4) + Style.bold.text(command, .errors)) }
  }

  /// A person's next steps, each with its text beside it, or below it in a narrow window. Lines stay whole for copying.
  package static func next(_ steps: [(name: String, text: String)]) {
    let column = (steps.map { Cells.count($0.name) }.max() ?? 0) + 2
    let rows = steps.map { name, text in
      let isLong = 2 + column + Cells.count(text) > Display.errors.width
      return "  " + Style.bold.text(name, .errors) + (isLong ? "\n    " : TextWidth.blanks(column - Cells.count(name)))
        + Printable.line(text)
    }
    record("\nNext:\n" + rows.joined(separator: "\n"))
  }

  /// A message unchanged, for a program.
  package static func record(_ text: String) {
    (text + "\n").utf8Span.span.bytes.withUnsafeBytes { raw in
      do throws(Failure) { try write(raw, to: STDERR_FILENO) } catch {}
    }
  }

  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(Failure) {
    StatusLine.clear()
    try put(bytes, to: descriptor)
  }

  /// Writes `bytes`, and keeps the status line.
  package static func put(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(Failure) {
    var rest = bytes
    while !rest.isEmpty {
      let written = systemWrite(descriptor, rest.baseAddress, rest.count)
      if written >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
      } else if errno == EPIPE {
        throw .pipeClosed
      } else if errno != EINTR {
        guard descriptor <= STDERR_FILENO else { throw Failure(StoreError(errno: errno, "write the output", place: "output")) }
        throw .unwritable(errno, place: descriptor == STDOUT_FILENO ? "standard output" : "standard error")
      }
    }
  }
}

/// The library's notices, as lines `coffer: note: …` on standard error.
package struct LibraryNotices: LogHandler {
  package var logLevel: Logger.Level
  package var metadata: Logger.Metadata = [:]

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) { Output.message("coffer: note: \(Printable.line("\(event.message)"))") }

  /// Call once: `LoggingSystem` demands it.
  package static func bootstrap(quiet: Bool) {
    LoggingSystem.bootstrap { _ -> any LogHandler in
      quiet ? SwiftLogNoOpLogHandler() as any LogHandler : LibraryNotices(logLevel: .notice)
    }
  }
}
