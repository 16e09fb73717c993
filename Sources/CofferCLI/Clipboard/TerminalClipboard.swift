internal import Coffer
internal import CofferMemory
internal import CofferPlatform
internal import CofferTerminal

/// The clipboard of the terminal that the process was started from, by the escape sequence OSC 52: `ESC ] 52 ; c ; BASE64 BEL`.
///
/// Source: xterm, "Control Sequences", Operating System Commands.
enum TerminalClipboard {
  /// What fits into a sequence of 100 000 bytes, the least that a terminal with the sequence takes (hterm; others take more).
  static let largest = (100_000 - 8) / 4 * 3

  /// Whether there is a terminal that knows escape sequences.
  static var isThere: Bool {
    guard let kind = ProcessEnvironment.value("TERM"), kind != "dumb" else { return false }
    let descriptor = coffer_open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY, 0)
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
  }

  /// Hands `value` to the terminal. Whether that takes it, it does not tell.
  ///
  /// Inside tmux the sequence goes through to the terminal behind it: as its own, tmux would keep the value in a buffer that
  /// nobody clears.
  ///
  /// - Throws: `.tooLarge`, `.io` where there is no terminal.
  static func put(_ value: borrowing SecretBytes) throws {
    guard value.count <= largest else {
      throw StoreError(
        .tooLarge(limit: largest), "the value is over the \(largest) bytes that a terminal's clipboard takes",
        cure: "another clipboard, with --clipboard, or a file: coffer vault get … > FILE")
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
