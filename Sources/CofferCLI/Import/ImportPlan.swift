internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

struct ImportPlan {
  private let source: ImportSource.Found
  private let report: ImportReport
  private let choice: OnDuplicate

  init(_ source: ImportSource.Found, _ report: ImportReport, _ choice: OnDuplicate) {
    (self.source, self.report, self.choice) = (source, report, choice)
  }

  var isEmpty: Bool { report.added.isEmpty && report.replaced.isEmpty }

  var text: String {
    let previous = source.items.count(where: \.isPrevious)
    let all = source.items.count - previous + source.unchanged.count
    let items = Self.items(source.items.lazy.filter { !$0.isPrevious }.map(\.name)) + Self.items(source.unchanged)
    let parts = [(all - items, "field"), (previous, "previous password")].filter { $0.0 > 0 }
    let title =
      "\(source.format.title), \(Printable.line(source.place)): \(Self.count(items, "item"))"
      + (parts.isEmpty ? "" : " with " + parts.map(Self.count).joined(separator: " and "))
    var rows = [("new", report.added), ("replacing", report.replaced), (choice.stays, report.kept)].map { word, names in
      (word, Self.items(names), "")
    }.filter { $0.1 > 0 }
    if !source.renamed.isEmpty { rows.append(("renamed", source.renamed.count, "to be unique and valid")) }
    for (isPart, word) in [(false, "left out"), (true, "without")] {
      let reasons = reasons(source.leftOut.filter { $0.isPart == isPart })
      rows += reasons.enumerated().map { ($0 == 0 ? word : "", $1.number, $1.reason) }
    }
    return title + "\n" + Self.lines(rows)
  }

  /// Each reason beside its number, on more lines if it is long.
  private static func lines(_ rows: [(name: String, number: Int, reason: String)]) -> String {
    let cells = rows.map { ($0.name, grouped($0.number), $0.reason) }
    let name = cells.reduce(0) { max($0, Cells.count($1.0)) } + 4
    let column = cells.reduce(0) { max($0, Cells.count($1.1)) } + 2 + name
    let padded = { (text: String, width: Int) in text + TextWidth.blanks(width - Cells.count(text)) }
    return cells.map { cell in
      let reason = TextWidth.wrap(cell.2, to: Display.errors.width - column)
      let line = padded(padded("  " + cell.0, name) + cell.1, column) + reason
      return line.replacing("\n", with: "\n" + TextWidth.blanks(column)).trimmedEnd
    }.joined(separator: "\n")
  }

  func total(isTrial: Bool) -> String {
    let (added, replaced, kept) = (Self.items(report.added), Self.items(report.replaced), Self.items(report.kept))
    let there = kept == 0 ? "" : kept == 1 ? ": the item exists already" : ": all \(grouped(kept)) items exist already"
    let counts = [false, true].map { isPart in
      source.leftOut.reduce(0) { $0 + ($1.isPart == isPart && $1.reason != LeftOut.otherCodes ? $1.count : 0) }
    }
    let left = [Self.count(counts[0], "entry", "entries"), Self.count(counts[1], "part")]
    let out = zip(counts, left).filter { $0.0 > 0 }.map(\.1).joined(separator: " and ")
    return
      (isEmpty
      ? "nothing to import" + there
      : (isTrial ? "would import " : "imported ") + Self.count(added + replaced, "item")
        + (replaced > 0 ? ", of which \(grouped(replaced)) replaced existing ones" : "")
        + (kept > 0 ? "; \(grouped(kept)) \(choice.stays)" : "")) + (out.isEmpty ? "" : "; \(out) left out")
  }

  /// The items that exist already, and each such field without its item.
  var taken: [ItemName] {
    let items = Set(report.kept.lazy.filter(\.field.isEmpty))
    return report.kept.filter { $0.field.isEmpty || !items.contains($0.item) }
  }

  /// A row for each item, and for a field whose item is not imported itself.
  var rows: [[String]] {
    let items = Set((source.items.map(\.name) + source.unchanged).lazy.filter(\.field.isEmpty))
    return [("added", report.added), ("replaced", report.replaced), ("kept", report.kept)].flatMap { word, names in
      names.filter { $0.field.isEmpty || !items.contains($0.item) }.map { name in
        [word, name.service, name.account] + (name.field.isEmpty ? [] : [name.field])
      }
    }
  }

  private func reasons(_ leftOut: [LeftOut]) -> [(reason: String, number: Int)] {
    var order: [String] = [], numbers: [String: Int] = [:]
    for part in leftOut {
      if numbers[part.reason] == nil { order.append(part.reason) }
      numbers[part.reason, default: 0] += part.count
    }
    return order.map { ($0, numbers[$0] ?? 0) }
  }

  private static func items(_ names: some Sequence<ItemName>) -> Int { names.reduce(0) { $0 + ($1.field.isEmpty ? 1 : 0) } }

  private static func count(_ number: Int, _ noun: String) -> String { count(number, noun, noun + "s") }
  private static func count(_ number: Int, _ one: String, _ many: String) -> String {
    "\(grouped(number)) \(number == 1 ? one : many)"
  }
}

extension ImportPlan {
  /// What a person has left to do.
  var advice: [String] {
    var advice: [String] = []
    switch source.format {
    case .pass, .gopass:
      let hosts = report.added.filter { $0.field.isEmpty && Self.host(of: $0) != nil }
      if let name = hosts.first, let host = Self.host(of: name) {
        let new = name.account.isEmpty ? host : "\(host)/\(name.account)"
        advice.append(
          "git does not find \(Self.count(hosts.count, "item")) below a folder; for example, "
            + "'\(CommandText.item("rename", name, new))' makes it the login of \(host)")
      }
    case .json, .bitwarden, .onePassword, .keepass, .chrome, .firefox:
      if source.place != "standard input" { advice.append("\(source.place) still holds the secrets in plain text; delete it") }
    case .env, .coffer, .netrc, .gitCredentials, .docker, .aws, .gh, .secretService: break
    }
    return advice
  }

  /// The name of a host that is a service's last folder.
  private static func host(of name: ItemName) -> String? {
    let parts = name.service.split(separator: "/")
    guard parts.count > 1, let host = parts.last, host.contains("."), host.first != ".", host.last != "." else { return nil }
    return String(host)
  }
}

extension ImportSource.Found {
  var remarks: [String] {
    leftOut.map { "left out: \(Printable.line($0.entry)) (\($0.reason)" + ($0.count > 1 ? ": \($0.count))" : ")") }
      + renamed.map(Printable.line)
  }
}
