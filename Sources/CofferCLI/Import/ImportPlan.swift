internal import Coffer
internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

struct ImportPlan {
  private let source: ImportSource.Found
  private let report: ImportReport

  init(_ source: ImportSource.Found, _ report: ImportReport) {
    self.source = source
    self.report = report
  }

  var text: String {
    let former = source.items.count(where: \.isFormer)
    let items = source.items.count { $0.name.field.isEmpty } - former
    let parts = [(source.items.count - items - former, "field"), (former, "former password")].filter { $0.0 > 0 }
    let title =
      "\(source.format.title), \(Printable.line(source.place)): \(Self.count(items, "item"))"
      + (parts.isEmpty ? "" : " with " + parts.map(Self.count).joined(separator: " and "))
    var rows = [("new", report.added), ("replacing", report.replaced), ("kept as is", report.kept)].map { word, names in
      ["  \(word)", grouped(Self.items(names))]
    }.filter { $0[1] != "0" }
    if !source.renamed.isEmpty { rows.append(["  renamed", grouped(source.renamed.count), "to be distinct and sound"]) }
    for (index, (reason, number)) in leftOut.enumerated() {
      rows.append([index == 0 ? "  left out" : "", grouped(number), reason])
    }
    return title + "\n" + Columns.align(rows, for: .errors)
  }

  func total(isTrial: Bool) -> String {
    let (added, replaced, kept) = (Self.items(report.added), Self.items(report.replaced), Self.items(report.kept))
    let left = source.leftOut.reduce(0) { $0 + $1.count }
    return (isTrial ? "would import " : "imported ") + Self.count(added + replaced, "item")
      + (replaced > 0 ? ", of which \(grouped(replaced)) replaced one that was there" : "")
      + (kept > 0 ? "; \(grouped(kept)) kept as is" : "") + (left > 0 ? "; \(grouped(left)) left out" : "")
  }

  /// A row for each item, and for a field whose item is not imported itself.
  var rows: [[String]] {
    let items = Set(source.items.lazy.map(\.name).filter(\.field.isEmpty))
    return [("added", report.added), ("replaced", report.replaced), ("kept", report.kept)].flatMap { word, names in
      names.filter { $0.field.isEmpty || !items.contains($0.item) }.map { name in
        [word, name.service, name.account] + (name.field.isEmpty ? [] : [name.field])
      }
    }
  }

  private static func items(_ names: [ItemName]) -> Int { names.count { $0.field.isEmpty } }

  /// In the order of the reasons.
  private var leftOut: [(reason: String, number: Int)] {
    var order: [String] = [], numbers: [String: Int] = [:]
    for part in source.leftOut {
      if numbers[part.reason] == nil { order.append(part.reason) }
      numbers[part.reason, default: 0] += part.count
    }
    return order.map { ($0, numbers[$0] ?? 0) }
  }

  private static func count(_ number: Int, _ noun: String) -> String { "\(grouped(number)) \(noun)" + (number == 1 ? "" : "s") }
}

extension ImportSource.Found {
  var remarks: [String] {
    leftOut.map { "left out: \(Printable.line($0.entry)) (\($0.reason)" + ($0.count > 1 ? ": \($0.count))" : ")") }
      + renamed.map(Printable.line)
  }
}
