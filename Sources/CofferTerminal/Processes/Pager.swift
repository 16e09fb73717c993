internal import Coffer
internal import CofferPlatform

package enum Pager {
  /// git's options for less: quit if all fits, pass colors on, leave the text on the screen. Source: git-config(1).
  private static let usual = "less", usualOptions = "FRX"

  /// Without the pager if the terminal has room.
  package static func show(_ text: String) throws {
    let display = Display.output
    guard display.isTerminal, !display.isDumb, let height = display.height, text.utf8.count(where: { $0 == 0x0A }) + 1 >= height,
      let (name, pager) = named, try run(pager, name, text + "\n")
    else { return try Output.line(text) }
  }

  /// Nil if the user wants none.
  private static var named: (variable: String, pager: String)? {
    // An empty variable asks for none.
    for name in ["COFFER_PAGER", "PAGER"] {
      guard let word = ProcessEnvironment.word(name)?.text else { continue }
      return word.isEmpty || word == "cat" ? nil : (name, word)
    }
    return ("PAGER", usual)
  }

  /// - Returns: false if there is no such program.
  /// - Throws: `.io` if it failed: it may not have shown everything.
  private static func run(_ pager: String, _ variable: String, _ text: String) throws -> Bool {
    // Control-C belongs to the pager, which returns to its prompt.
    var signals = HeldSignals([SIGINT, SIGQUIT])
    let pipe = try Pipe()
    let child = try start(pager, pipe.reading)
    pipe.closeReading()
    do throws(Failure) {
      try text.utf8Span.span.bytes.withUnsafeBytes { (raw) throws(Failure) in try Output.put(raw, to: pipe.writing) }
    } catch { guard error.isQuiet else { throw error } }  // Who has seen enough reads no more.
    pipe.closeWriting()
    let end = try Ending(of: child)
    while signals.next() != nil {}
    guard end != .exited(ExitStatus.commandNotFound.rawValue) else { return false }
    guard isReaders(end) else {
      let how = if case .killed(let signal) = end { "signal \(signal)" } else { "status \(end.status)" }
      throw StoreError(
        .io(EIO), "the pager '\(Printable.line(pager))' of \(variable) ended with \(how), and may not have shown the answer",
        cure: "\(variable)=cat, which prints it at once, or another pager")
    }
    return true
  }

  /// Whether the reader ended the pager. A shell reports a signal as a status.
  private static func isReaders(_ end: Ending) -> Bool { [0, 128 + SIGINT, 128 + SIGPIPE].contains(end.status) }

  private static func start(_ pager: String, _ input: Int32) throws -> pid_t {
    var environment = ChildEnvironment()
    if ProcessEnvironment.word("LESS") == nil { try environment.set("LESS", usualOptions) }
    return try Child("/bin/sh", ["/bin/sh", "-c", ByteWord(pager)], .inherited(environment), [0: .descriptor(input)])
      .start { StoreError(errno: $0, "start the pager", place: "/bin/sh") }
  }
}

extension Table {
  package func show() throws { try Pager.show(text(.output)) }

  /// `table` at a terminal, `rows` with tabs elsewhere.
  package static func show(
    _ table: @autoclosure () throws -> Table, elsewhere rows: @autoclosure () throws -> [[String]]
  ) throws {
    if Output.isTerminal { return try table().show() }
    let rows = try rows()
    if !rows.isEmpty { try Output.line(Columns.tabs(rows)) }
  }

  /// Rows that begin with a word for an outcome, under `titles` at a terminal, only aligned elsewhere.
  package static func show(_ rows: [[String]], under titles: [String], footer: String = "") throws {
    guard Output.isTerminal else { return rows.isEmpty ? () : try Output.line(Columns.align(rows)) }
    if !rows.isEmpty || !footer.isEmpty { try Table(rows, under: titles, footer: footer).show() }
  }
}

extension Sheet {
  /// Prints rows that begin with a name, wrapped on a terminal.
  package static func show(_ rows: [[String]]) throws {
    guard Output.isTerminal else { return try Output.line(Columns.align(rows)) }
    try Pager.show(text(rows.map { ($0[0], $0.dropFirst().map(Printable.line).joined(separator: "  ")) }, .output))
  }
}
