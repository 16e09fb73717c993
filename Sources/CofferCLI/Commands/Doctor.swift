internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

struct DoctorCommand: AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor", abstract: "Find weaknesses in the protection, and show how to fix them.",
    discussion: """
      Checks permissions and owners, memory locking, pins, SQLite's side files without their vault, leftovers of interrupted \
      commands, the agent, stale sockets, the file system, leaks through the environment, and secrets among preferences, \
      recognized by form or randomness. It checks the vault's pages, and all of the vault if an agent holds it unlocked or an \
      option or the environment names a file that opens it. Without --fix nothing is changed or asked. No value is shown. Exits \
      with 0 if nothing was found, notes aside, and otherwise with 2. --fix covers git, docker, curl, aws, gh and preferences. \
      It rewrites a file only after reading each value back from the vault, and overwrites the old bytes. --keys compares a \
      program's declared keys (StorageRouter.schema, as JSON) with the stored ones. It reports secrets in the plain store, \
      values of another type, values without a declared key or under a previous name, and preferences in the vault.
      """)

  @Flag(help: "Show every finding with its cure, and each plain-text secret.") var all = false
  @Flag(help: "Move plain-text secrets into the vault, asking for each; --yes moves all.") var fix = false
  @Option(help: ArgumentHelp("Only compare this schema's keys with the stored ones; - is standard input.", valueName: "file"))
  var keys: String?
  @Flag(help: "With --keys: only the plain store; needs no vault.") var plain = false
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  /// Without --fix and --keys the vault is opened only if a file with its secret is named.
  var opening: UnlockingOptions? { fix || keys != nil || !unlocking.isEmpty ? unlocking : nil }

  func validate() throws {
    guard keys != nil || !(plain || router.domain != nil) else { throw ValidationError("--plain and --domain need --keys") }
    guard keys == nil || !(fix || all) else { throw ValidationError("--keys excludes --fix and --all") }
  }

  private var report: SchemaReport? { keys.map { SchemaReport(schema: $0, plain: plain, router: router) } }

  func claimInput(_ context: Context) throws { try report?.claimInput(context) }

  func perform(_ context: Context) throws {
    if let report { return try report.perform(context) }
    try context.checkIsNoMirror()
    if fix { return try mend(context) }
    let checks = Checkup(context: context).checks
    let results = checks.map { (name: $0.name, findings: $0.run($0.name)) }
    let findings = results.flatMap(\.findings)
    if options.json {
      try Output.line(JSONText.encode(Answer(checks: results.map(\.name), findings: findings)))
    } else if Output.isTerminal {
      for line in lines(results, quiet: context.quiet, .output) { try Output.line(line) }
    } else {
      for (name, findings) in results {
        if findings.isEmpty, !context.quiet { try Output.line("ok       \(name)") }
        for finding in findings { try Output.line(Self.text(finding)) }
      }
    }
    guard findings.allSatisfy({ $0.severity == .note }) else { throw Failure.said(.failed) }
  }

  private func lines(_ results: [(name: String, findings: [Finding])], quiet: Bool, _ display: Display) -> [String] {
    let passed = results.count { $0.findings.isEmpty }
    let sign = Style.green.text(Sign.done.text(display), display)
    let findings = results.flatMap(\.findings)
    let secrets = all ? [] : findings.filter { $0.secrets != nil }
    let first = [
      quiet || passed == 0 ? "" : "\(sign) \(counted(passed, "check")) passed",
      Self.secrets(secrets.compactMap(\.secrets), display),
    ].filter { !$0.isEmpty }
    let line = first.joined(separator: "   ")
    let lines = Cells.count(styled: line[...]) <= display.width ? [line] : first.map { TextWidth.message($0, to: display.width) }
    return lines.filter { !$0.isEmpty }
      + (secrets.isEmpty ? [] : [Self.files(secrets, display)])
      + findings.filter { all || $0.secrets == nil }.flatMap { finding in
        let mark = Self.mark(finding.severity, display)
        let place = finding.place.map { Style.dim.text("  \(Printable.line($0))", display) } ?? ""
        return [
          "\(mark) \(Style.bold.text(finding.check, display)): \(Printable.line(finding.what))\(place)",
          "  try: \(Printable.line(finding.cure))",
        ].map { TextWidth.message($0, to: display.width) }
      }
  }

  private static func secrets(_ secrets: [PlainSecrets], _ display: Display) -> String {
    let count = secrets.reduce(0) { $0 + $1.count }
    guard count > 0 else { return "" }
    let movable = secrets.filter(\.canMove).reduce(0) { $0 + $1.count }
    let moved = movable < count ? "\(movable) of them" : count == 1 ? "it" : "them"
    return "\(mark(.warning, display)) \(counted(count, "secret")) in plain text"
      + (movable == 0 ? "" : ": coffer doctor --fix moves \(moved)")
  }

  private static func files(_ findings: [Finding], _ display: Display) -> String {
    var order: [String] = [], files: [String: [PlainSecrets]] = [:]
    for finding in findings {
      guard let place = finding.place, let secrets = finding.secrets else { continue }
      if files[place] == nil { order.append(place) }
      files[place, default: []].append(secrets)
    }
    let rows = order.map { place in
      let secrets = files[place] ?? []
      let words = "\(counted(secrets.reduce(0) { $0 + $1.count }, secrets[0].noun)) (\(secrets[0].owner))"
      let byHand = secrets.allSatisfy(\.canMove) ? "" : "by hand: coffer doctor --all"
      return ["  " + VaultPlace(place).short, words, byHand]
    }
    return Columns.wrap(rows, for: display)
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
      if rows.isEmpty { context.note("there are no plain-text secrets to move into the vault") }
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
