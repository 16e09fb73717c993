internal import ArgumentParser
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal

extension NameSpecification { static var clip: NameSpecification { [.long, .customShort("c")] } }

extension ArgumentHelp {
  static var clip: ArgumentHelp { "Copy it to the clipboard instead of printing it." }
  static var clearAfter: ArgumentHelp {
    ArgumentHelp(
      "Clear the clipboard after this many seconds if it still holds the value; 0: never. [default: 45]", valueName: "seconds")
  }
  static var clipboard: ArgumentHelp {
    ArgumentHelp(
      "Copy with wl-copy, xclip, xsel or osc52 (also COFFER_CLIPBOARD); else with the session's tool.", valueName: "tool")
  }
}

extension CompletionKind { static var clipboard: CompletionKind { .list(ClipboardTool.allCases.map(\.rawValue)) } }

struct ClipboardOptions: ParsableArguments {
  @Flag(name: .clip, help: .clip) var clip = false
  @Option(help: .clearAfter) var clearAfter: UInt64?
  @Option(name: .customLong("clipboard"), help: .clipboard, completion: .clipboard) var tool: String?

  static var none: ClipboardOptions {
    var options = ClipboardOptions()
    (options.clip, options.clearAfter, options.tool) = (false, nil, nil)
    return options
  }

  /// The valid seconds: up to a day.
  static let times: ClosedRange<UInt64> = 0...86_400
  static let standardTime = 45

  /// For the command's `validate()`, if it answers in JSON too.
  func check(json: Bool) throws {
    guard clip || clearAfter == nil && tool == nil else { throw ValidationError("--clear-after and --clipboard need --clip") }
    guard !clip || !json else { throw ValidationError("give --clip or --json, not both") }
    guard clearAfter.map(Self.times.contains) ?? true else {
      throw ValidationError("--clear-after takes 0 to \(Self.times.upperBound) seconds")
    }
    if let tool, ClipboardTool(rawValue: tool) == nil {
      throw ValidationError("--clipboard takes \(ClipboardTool.allCases.map(\.rawValue).joined(separator: ", "))")
    }
  }

  /// The clipboard, if requested: found before any question for secrets.
  func open() throws -> Clipboard? {
    guard clip else { return nil }
    let tool = try tool.flatMap(ClipboardTool.init) ?? Self.named() ?? ClipboardTool.ofSession()
    let seconds = clearAfter.map { Int(clamping: $0) }
    if tool == .osc52, let seconds, seconds > 0 {
      throw Failure.usage(
        "the terminal's clipboard cannot be read, so Coffer cannot check it before clearing it",
        try: "--clear-after 0, or another clipboard")
    }
    return Clipboard(tool: tool, seconds: tool == .osc52 ? 0 : seconds ?? Self.standardTime)
  }

  private static func named() throws -> ClipboardTool? {
    guard let name = ProcessEnvironment.value("COFFER_CLIPBOARD") else { return nil }
    guard let tool = ClipboardTool(rawValue: name) else {
      throw Failure.usage(
        "COFFER_CLIPBOARD names an unknown clipboard", try: ClipboardTool.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return tool
  }
}

struct Clipboard {
  let tool: ClipboardTool
  /// 0: until something else is copied.
  let seconds: Int

  /// Copies `value`, called `what` in messages.
  ///
  /// - Throws: `.refused` for a value that a clipboard would change.
  func copy(_ value: borrowing SecretBytes, _ what: String, _ context: Context) throws {
    let isText = value.withUnsafeBytes { UTF8Validity.isValid($0) && !$0.contains(0) && !$0.isEmpty }
    guard isText else {
      throw StoreError(.refused, "\(what) is empty or not text, and a clipboard holds only text", cure: "coffer get … > FILE")
    }
    // The keeper is started, and knows the value, before the copy: a value that cannot be cleared is not copied.
    let keeper = seconds > 0 ? try ClipboardKeeper(tool, seconds) : nil
    do { try keeper?.keep(value) } catch {
      keeper?.clearNow()
      throw error
    }
    // A signal that ends this process must end the tool too, in another session, and clear its clipboard.
    let ends = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    var signals = HeldSignals(ends)
    do {
      try tool.put(value, endsOn: ends)
      keeper?.begin()
      tell(what, context)
    } catch {
      keeper?.clearNow()
      let said = failure(error)
      guard let signal = signals.next() else { throw said }
      Output.message(said)
      signals.deliver(signal)
      throw said
    }
    if let signal = signals.next() { signals.deliver(signal) }
  }

  private func tell(_ what: String, _ context: Context) {
    guard tool != .osc52 else {
      return context.note(
        "sent \(what) to your terminal's clipboard (OSC 52); not every terminal supports this, and it will not be cleared")
    }
    let end = seconds == 0 ? "it will not be cleared" : "cleared in \(seconds) s"
    context.told("copied \(what) with \(tool.rawValue); \(end)")
  }

  private func failure(_ error: any Error) -> Failure {
    guard let cause = (error as? ClipboardTool.Unsure)?.cause else { return Failure.of(error) ?? Failure.said(.failed) }
    let rest = seconds > 0 ? "the clipboard is cleared now" : "it stays on the clipboard"
    let isInterrupted = cause.kind == .io(EINTR)
    var failure = Failure(
      isInterrupted ? .interrupted : cause.kind.exitStatus, kind: isInterrupted ? Failure.interrupted.kind : cause.kind.word,
      "\(cause.what); if \(isInterrupted ? tool.rawValue : "it") copied the value anyway, \(rest)", cure: nil)
    if !isInterrupted { failure.cure = Failure(cause).cure }
    return failure
  }

  func copy(_ text: String, _ what: String, _ context: Context) throws {
    let bytes = try text.utf8Span.span.bytes.withUnsafeBytes { raw in try SecretBytes(copying: raw) }
    try copy(bytes, what, context)
  }
}
