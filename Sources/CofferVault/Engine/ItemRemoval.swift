internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import FoundationEssentials

/// A deletion that was made in another vault, at the `recorded` time of its clock, which counts here as of `moment`.
struct EarlierDeletion {
  let recorded: UInt64, moment: UInt64
  let commit: CommitID
}

struct ItemRemoval {
  let items: ItemTable
  private var view: VerifiedView { items.view }
  private var records: RecordSet { items.records }
  private var history: ItemHistory { items.history }

  /// Removes `name`, an item with its fields; false if there is nothing. If nothing is to be kept, an earlier kept deletion
  /// counts.
  ///
  /// - Parameters:
  ///   - date: until when it can be restored; nil also removes its history.
  ///   - deletion: that of the other vault, if it was made there.
  func remove(
    _ name: ItemName, keptUntil date: Date? = nil, as deletion: EarlierDeletion? = nil, _ change: inout Change
  ) throws(StoreError) -> Bool {
    try items.refuseHidden(name)
    let index = items.index(of: name)
    guard let id = try records.touch(items.bucket(of: index), change).record(at: index) else {
      guard date == nil, try forgetPast(of: name, at: index, &change) else { return false }
      change.events.append(items.entry(.pruned, index))
      return true
    }
    var until = date.map(Milliseconds.until)
    if until != nil, try items.endsWithSession(items.meta(index, id, of: name), name, &change) { until = nil }
    let fields = try name.field.isEmpty ? records.notes(of: index, in: .present, lenient: true, &change).map(\.index) : []
    let own: RecordCounts.Role = name.field.isEmpty ? .item : .field
    for (index, role) in [(index, own)] + fields.map({ ($0, .field) }) {
      if let until { try history.keepDeleted(index, until: until, as: deletion, &change) }
      _ = try records.drop(index, as: role, forGood: until == nil, &change)
      change.events.append(items.entry(.itemDeleted, index))
    }
    if until == nil {
      _ = try forgetPast(of: name, at: index, &change)
    } else {
      try history.dropExpired(beside: index, &change)
    }
    return true
  }

  private func forgetPast(of name: ItemName, at index: RecordIndex, _ change: inout Change) throws(StoreError) -> Bool {
    guard !name.field.isEmpty else { return try history.forget(index, &change) }
    return try history.forget(items.index(of: name.item), only: index, &change)
  }
}
