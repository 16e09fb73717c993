internal import FoundationEssentials

/// Refusals and reads of the current minute, each as its last one, with the number of equal ones that have no row yet.
struct UsesRepeats {
  private var counts: [UseRow: UseRow] = [:], began = Duration.zero, refusals = 0

  static let minute = Duration.seconds(60)
  /// Different refusals that have rows of their own in a minute: a program that makes them up must not push all others out.
  private static let mostRefusals = 16
  /// About 1 MiB of memory. More are written before their minute is over.
  private static let most = 1024

  func areDue(_ now: Duration) -> Bool { now - began >= Self.minute || counts.count >= Self.most }

  /// One for each that was repeated, in the order of time.
  var rows: [UseRow] { counts.values.filter { $0.count > 0 }.sorted { $0.time < $1.time } }

  mutating func forget(_ row: UseRow) { counts[row.repeated]?.count = 0 }

  /// Counts a refusal or a read unless it gets a row of its own now; any other row does.
  mutating func isFirst(_ row: UseRow, _ now: Duration) -> Bool {
    guard row.kind == .refused || row.kind == .read else { return true }
    if counts.isEmpty { began = now }
    let isNew = counts[row.repeated] == nil, isOther = isNew && row.kind == .refused && refusals == Self.mostRefusals
    let isFirst = isNew && !isOther
    if isFirst, row.kind == .refused { refusals += 1 }
    // All refusals beyond the most share a row.
    var last = isOther ? .own(.refused, "others") : row
    last.count = (counts[last.repeated]?.count ?? 0) + (isFirst ? 0 : 1)
    counts[last.repeated] = last
    return isFirst
  }
}
