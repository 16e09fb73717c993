internal import Coffer
internal import CofferMemory
internal import CofferPlatform
internal import CofferTerminal

/// The clipboard of the process's terminal, by the escape sequence OSC 52: `ESC ] 52 ; c ; BASE64 BEL`.
///
/// Source: xterm, "Control Sequences", Operating System Commands.
enum TerminalClipboard {
  /// The content of a 100 000-byte sequence, the smallest limit of terminals (hterm).
  static let largest = (100_000 - 8) / 4 * 3

  static var isThere: Bool {
    guard let kind = ProcessEnvironment.value("TERM"), kind != "dumb" else { return false }
    let descriptor = coffer_open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY, 0)
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
  }

  /// Sends `value` to the terminal, which does not tell whether it takes it.
  ///
  /// Inside tmux the sequence passes through to the outer terminal: otherwise tmux would keep the value in a buffer that is
  /// never cleared.
  static func put(_ value: borrowing SecretBytes) throws {
    guard value.count <= largest else {
      throw StoreError(
        .tooLarge(limit: largest), "a terminal's clipboard takes at most \(largest) bytes",
        cure: "another --clipboard, or a file: coffer get … > FILE")
    }
    let descriptor = coffer_open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY, 0)
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the terminal for its clipboard", place: "/dev/tty") }
    defer { close(descriptor) }
    let isInTmux = ProcessEnvironment.value("TMUX") != nil
    let sequence = try value.withUnsafeBytes { raw in
      try SecretBytes.written { (write) throws(StoreError) in
        for byte in (isInTmux ? "\u{1B}Ptmux;\u{1B}\u{1B}]52;c;" : "\u{1B}]52;c;").utf8 { write(byte) }
        SecretBase64.encode(raw, write)
        for byte in (isInTmux ? "\u{7}\u{1B}\\" : "\u{7}").utf8 { write(byte) }
      }
    }
    try sequence.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
  }
}
