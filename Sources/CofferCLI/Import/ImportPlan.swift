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
    let (verb, done) = added == 0 && replaced > 0 ? ("replace", "replaced") : ("import", "imported")
    return
      (isEmpty
      ? "nothing to import" + there
      : (isTrial ? "would \(verb) " : "\(done) ") + Self.count(added + replaced, "item")
        + (added > 0 && replaced > 0 ? ": \(grouped(added)) new, \(grouped(replaced)) replaced" : "")
        + (kept > 0 ? "; \(grouped(kept)) \(choice.stays)" : "")) + (out.isEmpty ? "" : "; \(out) left out")
  }

  var taken: [ItemName] { Self.whole(report.kept) }

  /// The items among `names`, and each field without its item.
  static func whole(_ names: [ItemName]) -> [ItemName] {
    let items = Set(names.lazy.filter(\.field.isEmpty))
    return names.filter { $0.field.isEmpty || !items.contains($0.item) }
  }

  /// The number of `names` without a date, which `newer` takes for older.
  func undated(_ names: [ItemName]) -> Int {
    let dated = Set(source.items.lazy.filter { $0.modified != nil && !$0.isPrevious }.map(\.name))
    return names.count { !dated.contains($0) }
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
  private static func count(_ n: Int, _ one: String, _ many: String) -> String { "\(grouped(n)) \(n == 1 ? one : many)" }

  /// What a person has left to do.
  var advice: [String] {
    var advice: [String] = []
    switch source.format {
    case .pass, .gopass:
      let moves = report.added.compactMap { name in top(of: name).map { (old: name, new: $0) } }
      if let (old, new) = moves.first {
        let more = moves.count - 1
        advice.append(
          "git does not find logins in a folder; '\(CommandText.item("rename", old, new))' moves this one out"
            + (more == 0 ? "" : "; \(Self.count(more, "other item")) need\(more == 1 ? "s" : "") the same"))
      }
    case .json, .bitwarden, .onePassword, .keepass, .chrome, .firefox:
      if source.place != "standard input" { advice.append("\(source.place) still holds the secrets in plain text; delete it") }
    case .env, .coffer, .netrc, .gitCredentials, .docker, .aws, .gh, .secretService: break
    }
    return advice
  }

  /// The name that git finds, for an entry in a folder: `web/github.com/ada`, or `web/github.com` with its user if that is known.
  private func top(of name: ItemName) -> String? {
    guard name.field.isEmpty else { return nil }
    let parts = name.service.split(separator: "/").map(String.init)
    if parts.count > 1, let host = parts.last, Self.isHost(host) {
      return name.account.isEmpty ? host : "\(host)/\(name.account)"
    }
    guard Self.isHost(name.account), !parts.contains(where: Self.isHost) else { return nil }
    let user = source.items.first { $0.name == name && !$0.isPrevious }?.form.metadata.attributes["user"] ?? ""
    return user.isEmpty || user.contains("/") ? name.account : "\(name.account)/\(user)"
  }

  private static func isHost(_ text: String) -> Bool {
    text.contains(".") && text.first != "." && text.last != "." && !text.contains("@")
  }
}

extension ImportSource.Found {
  var remarks: [String] {
    leftOut.map { "left out: \(Printable.line($0.entry)) (\($0.reason)" + ($0.count > 1 ? ": \($0.count))" : ")") }
      + renamed.map(Printable.line)
  }
}
