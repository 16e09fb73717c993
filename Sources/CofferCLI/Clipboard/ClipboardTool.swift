internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

enum ClipboardTool: String, CaseIterable, ExpressibleByArgument {
  /// Of wl-clipboard, for Wayland.
  case wlCopy = "wl-copy"
  /// For X11.
  case xclip, xsel
  /// The terminal's own escape sequence, which reaches the clipboard of the person at the terminal, from another machine
  /// too.
  case osc52

  /// The tool of this session.
  ///
  /// Over ssh any display is another machine's: the person sits at the terminal.
  static func ofSession() throws -> ClipboardTool {
    let isRemote = ["SSH_CONNECTION", "SSH_TTY"].contains { ProcessEnvironment.value($0) != nil }
    let hasWayland = ProcessEnvironment.value("WAYLAND_DISPLAY") != nil
    let hasX = ProcessEnvironment.value("DISPLAY") != nil
    guard !isRemote, hasWayland || hasX else {
      guard TerminalClipboard.isThere else {
        throw StoreError(
          .notFound, "there is no clipboard: WAYLAND_DISPLAY and DISPLAY are not set, and there is no terminal",
          cure: "--clipboard xclip, xsel, wl-copy or osc52, if one of them works")
      }
      return .osc52
    }
    // Wayland sessions usually have an X11 display as well, and one clipboard for both.
    let candidates = (hasWayland ? [wlCopy] : []) + (hasX ? [xclip, xsel] : [])
    guard let tool = candidates.first(where: \.isInstalled) else {
      throw StoreError(
        .notFound, "no clipboard program is installed: \(candidates.map(\.rawValue).joined(separator: ", "))",
        cure: "install \(hasWayland ? "wl-clipboard" : "xclip"), or use --clipboard osc52 if your terminal supports it")
    }
    return tool
  }

  private var isInstalled: Bool { ProgramPath.find(rawValue) != nil }

  /// Copies `value` to the clipboard; the middle button's selection stays.
  ///
  /// - Parameter signals: those that end the tool: see ``BoundedCommand``.
  /// - Throws: ``Unsure`` if the value may be there all the same.
  func put(_ value: borrowing SecretBytes, endsOn signals: [Int32]) throws {
    switch self {
    // Without a type wl-copy guesses one by the bytes.
    case .wlCopy: try run(["wl-copy", "--type", "text/plain"] + (try marksSecrets() ? ["--sensitive"] : []), value, signals)
    case .xclip: try run(["xclip", "-selection", "clipboard", "-in"], value, signals)
    case .xsel: try run(["xsel", "--clipboard", "--input"], value, signals)
    case .osc52: try TerminalClipboard.put(value)
    }
  }

  /// The clipboard's text; nil if it has other content.
  ///
  /// - Throws: `.io` if its owner, or the tool, does not answer.
  func content() throws -> SecretBytes? {
    let words: [String], kinds: [String]
    switch self {
    case .wlCopy: (words, kinds) = (["wl-paste", "--no-newline"], ["wl-paste", "--list-types"])
    case .xclip:
      words = ["xclip", "-selection", "clipboard", "-out"]
      kinds = words + ["-target", "TARGETS"]
    case .xsel: (words, kinds) = (["xsel", "--clipboard", "--output"], [])
    case .osc52: return nil
    }
    let answer = try start(words, SecretBytes(zeros: 0), limit: VaultItem.largestValue)
    if answer.status == 0 { return try answer.output.duplicate() }
    if !kinds.isEmpty {
      let told = try start(kinds, SecretBytes(zeros: 0), limit: 1 << 16)
      let list = told.output.withUnsafeBytes { PlainBytes.text($0) }?.lowercased()
      if told.status == 0, let list, !list.isEmpty, !list.contains("text"), !list.contains("string") { return nil }
    }
    throw StoreError(.io(EIO), "\(words[0]) failed with status \(answer.status)", cure: BoundedCommand.cure(words[0]))
  }

  func clear() throws {
    switch self {
    case .wlCopy: try run(["wl-copy", "--clear"], SecretBytes(zeros: 0))
    case .xclip: try run(["xclip", "-selection", "clipboard", "-in"], SecretBytes(zeros: 0))
    case .xsel: try run(["xsel", "--clipboard", "--clear"], SecretBytes(zeros: 0))
    case .osc52: break
    }
  }

  /// The tool failed after it got the value, and may have copied it.
  struct Unsure: Error { let cause: StoreError }

  private func run(_ words: [String], _ value: borrowing SecretBytes, _ signals: [Int32] = []) throws {
    let status: Int32
    do { status = try start(words, value, endsOn: signals).status } catch let error as StoreError
      where error.kind != .notFound
    { throw Unsure(cause: error) }
    guard status == 0 else {
      throw Unsure(cause: StoreError(.io(EIO), "\(words[0]) failed with status \(status)", cure: BoundedCommand.cure(words[0])))
    }
  }

  private func start(
    _ words: [String], _ value: borrowing SecretBytes, limit: Int? = nil, endsOn signals: [Int32] = []
  ) throws -> BoundedCommand {
    do { return try BoundedCommand.run(words, input: value, limit: limit, endsOn: signals) } catch let failure as Failure
      where failure.status == .commandNotFound
    {
      throw StoreError(
        .notFound, "\(words[0]) is not installed",
        cure: "install \(self == .wlCopy ? "wl-clipboard" : rawValue), or choose another with --clipboard")
    }
  }

  /// Whether wl-copy can mark a password for clipboard histories, by the type x-kde-passwordManagerHint: 2.1 of Debian 12
  /// cannot. xclip and xsel offer one type alone.
  private func marksSecrets() throws -> Bool {
    let help = try start(["wl-copy", "--help"], SecretBytes(zeros: 0), limit: 1 << 16)
    return help.output.withUnsafeBytes { PlainBytes.text($0) }?.contains("--sensitive") == true
  }
}
