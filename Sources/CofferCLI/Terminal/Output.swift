internal import Coffer

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Data to standard output, messages to standard error. Buffers nothing, so that no secret stays behind in a buffer.
enum Output {
  static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  static func write(_ text: String) throws(Failure) { try write(text.utf8Span.span.bytes) }

  static func line(_ text: String) throws(Failure) { try write(text + "\n") }

  static func write(_ bytes: RawSpan) throws(Failure) {
    try bytes.withUnsafeBytes { (raw) throws(Failure) in try write(raw, to: STDOUT_FILENO) }
  }

  /// The bytes of a secret, straight from guarded memory.
  static func write(_ bytes: borrowing SecretBytes) throws(Failure) {
    try bytes.withUnsafeBytes { (raw) throws(Failure) in try write(raw, to: STDOUT_FILENO) }
  }

  /// A message. Where standard error is gone there is nobody left to tell.
  static func message(_ text: String) {
    (text + "\n").utf8Span.span.bytes.withUnsafeBytes { raw in
      do throws(Failure) { try write(raw, to: STDERR_FILENO) } catch {}
    }
  }

  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(Failure) {
    var rest = bytes
    while !rest.isEmpty {
      #if canImport(Darwin)
        let written = Darwin.write(descriptor, rest.baseAddress, rest.count)
      #elseif canImport(Musl)
        let written = Musl.write(descriptor, rest.baseAddress, rest.count)
      #else
        let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
      #endif
      if written >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
      } else if errno == EPIPE {
        throw .pipeClosed
      } else if errno != EINTR {
        throw Failure(
          StoreError(errno: errno, "write the output", place: descriptor == STDOUT_FILENO ? "standard output" : "output"))
      }
    }
  }
}

/// Text from a vault or a file on its way to a terminal.
enum Printable {
  /// `text` with control characters spelled out: a label must not move the cursor or forge a line.
  static func text(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\n" }) else { return text }
    return text.unicodeScalars.map { scalar in
      guard scalar.properties.generalCategory == .control, scalar != "\n" else { return String(scalar) }
      return "\\u{\(String(scalar.value, radix: 16))}"
    }.joined()
  }

  /// Like ``text(_:)``, on one line.
  static func line(_ text: String) -> String {
    Self.text(text).split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\\n")
  }
}

extension String {
  var trimmedEnd: String {
    var text = self[...]
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
  }
}
