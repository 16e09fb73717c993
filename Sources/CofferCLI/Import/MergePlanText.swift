internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

/// For a person, and as a program's answer.
struct MergePlanText {
  let report: MergeReport

  /// Whether the remarks fit on a screen.
  var isShort: Bool { remarks.count <= 12 }

  var text: String {
    let (here, there) = (conflicts(.this), conflicts(.other))
    let rows: [(String, Int, String)] = [
      ("new", report.added.count, ""), ("newer there", report.updated.count, ""),
      ("in conflict", here, "this vault's stays"), ("in conflict", there, "the other vault's is taken"),
      ("renamed", report.renamed.count, ""), ("deleted there", report.deleted.count, ""),
      ("kept as is", report.kept.count, "newer here, or deleted"), ("the same", report.same, ""),
      ("with more versions", report.joined.count, "previous or deleted values of the other vault are added"),
      ("aligned", report.aligned, "the same, but written later there: its times and id are taken"),
    ]
    let shown = rows.filter { $0.1 > 0 }.map { ["  \($0.0)", grouped($0.1), $0.2] }
    let left = leftOut.map { ["  left out", grouped($0.number), $0.reason] }
    return Columns.align(shown + left, for: .errors)
  }

  /// The changes in one line; empty without any that a list has.
  var counts: String {
    let counts: [(Int, String)] = [
      (report.added.count, "new"), (report.updated.count, "newer there"), (report.conflicts.count, "in conflict"),
      (report.renamed.count, "renamed"), (report.deleted.count, "deleted"), (report.aligned, "aligned"),
      (report.joined.count, "with more versions"), (report.leftOut.count, "left out"),
    ]
    return counts.filter { $0.0 > 0 }.map { "\(grouped($0.0)) \($0.1)" }.joined(separator: ", ")
  }

  func total(isTrial: Bool) -> String {
    let counts = counts
    guard !report.isEmpty else { return "nothing to merge" + (counts.isEmpty ? "" : ": " + counts) }
    // Of the items that no list has, such as the key of a log of uses.
    return (isTrial ? "would merge: " : "merged: ") + (counts.isEmpty ? "Coffer's own items" : counts)
  }

  var rows: [[String]] {
    let names =
      [("added", report.added), ("updated", report.updated), ("conflict", report.conflicts.map(\.name))]
      + [("renamed", report.renamed.map(\.to)), ("deleted", report.deleted), ("versions", report.joined)]
    return names.flatMap { word, names in
      names.map { [word, $0.service, $0.account] + ($0.field.isEmpty ? [] : [$0.field]) }
    }
  }

  /// Beside the rows: the place of a losing value, previous names, and omitted items.
  var remarks: [String] {
    report.conflicts.map(Self.remark)
      + report.renamed.map { "'\(Printable.line($0.from.description))' becomes '\(Printable.line($0.to.description))'" }
      + report.undated.map(Self.remark) + leftOutEntries.map { "left out: \(Printable.line($0.entry)) (\($0.reason))" }
  }

  private static func remark(_ conflict: MergeReport.Conflict) -> String {
    let winner = conflict.winner == .this ? "this vault's value stays" : "the other vault's value is taken"
    let kept = conflict.kept.map { "; \(CommandText.item("revert", conflict.name, String($0))) brings the other one back" }
    return "'\(Printable.line(conflict.name.description))' was changed in both: \(winner)\(kept ?? "")"
  }

  private static func remark(_ undated: MergeReport.Renamed) -> String {
    let (from, to) = (Printable.line(undated.from.description), Printable.line(undated.to.description))
    return "kept the name '\(to)': nothing shows that '\(from)' is newer"
  }

  private func conflicts(_ winner: MergeReport.Conflict.Winner) -> Int { report.conflicts.count { $0.winner == winner } }

  private var leftOutEntries: [LeftOut] { report.leftOut.map { LeftOut($0.name.description, $0.reason.words) } }

  private var leftOut: [(reason: String, number: Int)] {
    MergeReport.Reason.allCases.map { reason in (reason.words, report.leftOut.count { $0.reason == reason }) }.filter { $0.1 > 0 }
  }

  var answer: Answer { Answer(report, leftOutEntries) }

  struct Answer: Encodable {
    let added: [Name], updated: [Name], conflicts: [Conflict], renamed: [Renamed], deleted: [Name], kept: [Name], same: Int
    let undated: [Renamed]?, aligned: Int?, joined: [Name]?, leftOut: [LeftOut]?

    struct Name: Encodable {
      let service: String, account: String, field: String?

      init(_ name: ItemName) { (service, account, field) = (name.service, name.account, name.field.isEmpty ? nil : name.field) }
    }
    struct Conflict: Encodable { let service: String, account: String, field: String?, winner: String, keptRevision: UInt64? }
    struct Renamed: Encodable { let from: Name, to: Name }

    init(_ report: MergeReport, _ leftOut: [LeftOut]) {
      (added, updated) = (report.added.map(Name.init), report.updated.map(Name.init))
      (deleted, kept, same) = (report.deleted.map(Name.init), report.kept.map(Name.init), report.same)
      conflicts = report.conflicts.map { conflict in
        let name = Name(conflict.name)
        return Conflict(
          service: name.service, account: name.account, field: name.field, winner: conflict.winner.rawValue,
          keptRevision: conflict.kept)
      }
      renamed = report.renamed.map { Renamed(from: Name($0.from), to: Name($0.to)) }
      undated = report.undated.isEmpty ? nil : report.undated.map { Renamed(from: Name($0.from), to: Name($0.to)) }
      aligned = report.aligned == 0 ? nil : report.aligned
      joined = report.joined.isEmpty ? nil : report.joined.map(Name.init)
      self.leftOut = leftOut.isEmpty ? nil : leftOut
    }
  }
}

extension MergeReport.Reason {
  fileprivate var words: String {
    switch self {
    case .login: "a login or session value"
    case .withoutValue: "without a value: another program wrote it"
    case .unsoundName: "with an invalid name"
    case .noRoom: LeftOut.tooMany
    }
  }
}
