internal import ArgumentParser
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal

struct DoctorCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "doctor", abstract: "Look for what weakens the protection, and say how to cure it.",
    discussion: """
      Permissions and owners, memory locking, pins, SQLite's side files without their vault, what interrupted commands left, the \
      agent, stale sockets, the file system, what the environment gives away, and secrets that lie among preferences, known by \
      their form or by how random they are. The vault's pages are looked at, and all of it where an agent holds it unlocked or \
      an option or the environment names a file that opens it. Nothing is changed or asked, and no value is shown. Exit status 0 \
      when nothing was found, notes aside, and 2 otherwise. --fix moves what git, docker, curl, aws, gh and preferences keep in \
      the clear into the vault, after a question for each. A file is rewritten only when the vault has given each value back, \
      and its old bytes are overwritten.
      """)

  static var idleOptions: Set<String> { [] }

  @Flag(help: "Move what lies in the clear into the vault, after a question for each; --yes moves all.") var fix = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions

  @OptionGroup var options: AnswerOptions

  /// Without --fix the vault is opened only if a file with its secret is named.
  var opening: UnlockingOptions? { fix || !unlocking.isEmpty ? unlocking : nil }

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    if fix { return try mend(context) }
    let checks = Checkup(context: context).checks
    let results = checks.map { (name: $0.name, findings: $0.run($0.name)) }
    let findings = results.flatMap(\.findings)
    if options.json {
      try Output.line(JSONText.encode(Answer(checks: results.map(\.name), findings: findings)))
    } else if Output.isTerminal {
      for line in Self.lines(results, quiet: context.quiet, .output) { try Output.line(line) }
    } else {
      for (name, findings) in results {
        if findings.isEmpty, !context.quiet { try Output.line("ok       \(name)") }
        for finding in findings { try Output.line(Self.text(finding)) }
      }
    }
    guard findings.allSatisfy({ $0.severity == .note }) else { throw Failure.said(.failed) }
  }

  /// The number of passed checks, and the findings of the others.
  private static func lines(_ results: [(name: String, findings: [Finding])], quiet: Bool, _ display: Display) -> [String] {
    let passed = results.count { $0.findings.isEmpty }
    let sign = Style.green.text(Sign.done.text(display), display)
    return (quiet || passed == 0 ? [] : ["\(sign) \(counted(passed, "check")) passed"])
      + results.flatMap(\.findings).flatMap { finding in
        let mark = mark(finding.severity, display)
        let place = finding.place.map { Style.dim.text("  \(Printable.line($0))", display) } ?? ""
        return [
          "\(mark) \(Style.bold.text(finding.check, display)): \(Printable.line(finding.what))\(place)",
          "  try: \(Printable.line(finding.cure))",
        ].map { TextWidth.message($0, to: display.width) }
      }
  }

  private static func mark(_ severity: Finding.Severity, _ display: Display) -> String {
    switch severity {
    case .note: Style.dim.text("i", display)
    case .warning: Style.yellow.text("!", display)
    case .problem: Style.red.text("!!", display)
    }
  }

  private func mend(_ context: Context) throws {
    let fix = DoctorFix(context)
    do { try fix.run() } catch {
      // Earlier moves are reported all the same.
      if !fix.rows.isEmpty { try tell(fix.rows, context) }
      throw error
    }
    try tell(fix.rows, context)
    guard fix.rows.allSatisfy({ $0.kept == nil }) else { throw Failure.said(.failed) }
  }

  private func tell(_ rows: [DoctorFix.Row], _ context: Context) throws {
    if options.json {
      try Output.line(JSONText.encode(rows))
    } else {
      try Table.show(
        rows.map { [$0.kept == nil ? "moved" : "kept", Printable.line($0.item), $0.kept ?? "", $0.place] },
        under: ["DONE", "ITEM", "WHY", "PLACE"])
      if rows.isEmpty { context.note("nothing lies in the clear that could move into the vault") }
    }
  }

  private static func text(_ finding: Finding) -> String {
    let word = finding.severity.rawValue
    let place = finding.place.map { " (\(Printable.line($0)))" } ?? ""
    return word + String(repeating: " ", count: 9 - word.count) + "\(finding.check): \(Printable.line(finding.what))\(place)\n"
      + "         try: \(Printable.line(finding.cure))"
  }

  private struct Answer: Encodable { let checks: [String], findings: [Finding] }
}
