internal import Coffer
internal import CofferVault

/// What an import does, in lines for a person.
struct ImportPlan {
  private let source: ImportSource.Found
  private let report: ImportReport

  init(_ source: ImportSource.Found, _ report: ImportReport) {
    self.source = source
    self.report = report
  }

  /// What is about to happen: where the items come from, and what becomes of them.
  var lines: [String] {
    let items = source.items.count { $0.name.field.isEmpty }
    let fields = source.items.count - items
    let place = Printable.line(source.place)
    return ["\(source.format.title), \(place): \(Self.count(items, "item"))" + (fields > 0 ? " with \(Self.count(fields, "field"))" : "")]
      + ["  " + counts.map { "\($1) \($0)" }.joined(separator: ", ")]
      + (source.renamed.isEmpty ? [] : ["  \(Self.count(source.renamed.count, "name")) changed, to be distinct and sound"])
      + leftOut.map { "  left out: \($0)" }
  }

  /// What was done, in one line.
  func total(isTrial: Bool) -> String {
    let parts = counts.map { "\($1) \($0)" }.joined(separator: ", ")
    let left = source.leftOut.isEmpty ? "" : "; \(source.leftOut.reduce(0) { $0 + $1.count }) left out"
    return (isTrial ? "would import " : "imported ") + (parts.isEmpty ? "nothing" : parts) + left
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

  private var counts: [(String, Int)] {
    [("added", report.added), ("replaced", report.replaced), ("kept as they are", report.kept)].map { word, names in
      (word, names.count { $0.field.isEmpty })
    }.filter { $0.1 > 0 }
  }

  /// How many are left out for each reason, in the order in which the reasons appear.
  private var leftOut: [String] {
    var order: [String] = [], numbers: [String: Int] = [:]
    for part in source.leftOut {
      if numbers[part.reason] == nil { order.append(part.reason) }
      numbers[part.reason, default: 0] += part.count
    }
    return order.map { "\(numbers[$0] ?? 0) \($0)" }
  }

  private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)" + (number == 1 ? "" : "s") }
}

extension ImportSource.Found {
  /// What is told where nothing is counted: each thing that is left out, and each name that is changed.
  var remarks: [String] {
    leftOut.map { "left out: \(Printable.line($0.entry)) (\($0.reason)" + ($0.count > 1 ? ": \($0.count))" : ")") } + renamed.map(Printable.line)
  }
}
