internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials

extension ItemTable {
  /// Removes `name` within a write transaction, an item with its fields; false when there is nothing.
  ///
  /// - Parameters:
  ///   - date: until when it can be brought back; nil where all that is known of its past goes as well.
  ///   - moment: when it was deleted, where that was in another vault.
  func remove(
    _ name: ItemName, keptUntil date: Date? = nil, at moment: UInt64? = nil, _ change: inout Change
  ) throws(StoreError) -> Bool {
    let index = index(of: name)
    guard let id = try records.touch(bucket(of: index), change).record(at: index) else { return false }
    var until = date.map { $0 == .distantFuture ? 0 : Milliseconds.count($0) }
    if until != nil, try endsWithSession(meta(index, id, of: name), name, &change) { until = nil }
    let fields = try name.field.isEmpty ? records.notes(of: index, in: .present, lenient: true, &change).map(\.index) : []
    let own: RecordCounts.Role = name.field.isEmpty ? .item : .field
    for (index, role) in [(index, own)] + fields.map({ ($0, .field) }) {
      if let until { try history.keepDeleted(index, until: until, at: moment ?? view.now, &change) }
      _ = try records.drop(index, as: role, &change)
      change.events.append(entry(.itemDeleted, index))
    }
    if until == nil {
      try history.forget(name.field.isEmpty ? index : self.index(of: name.item), only: name.field.isEmpty ? nil : index, &change)
    } else {
      try history.dropExpired(beside: index, &change)
    }
    return true
  }

  /// Whether a record, or the item whose field it is, ends with a session: nothing of it is kept.
  func endsWithSession(
    _ meta: RecordMeta, _ name: ItemName, _ change: inout Change
  ) throws(StoreError) -> Bool {
    guard !meta.itemMetadata.isSessionItem else { return true }
    guard !name.field.isEmpty else { return false }
    let item = index(of: name.item)
    guard let id = try records.touch(bucket(of: item), change).record(at: item) else { return false }
    return try self.meta(item, id, of: name.item).itemMetadata.isSessionItem
  }
}
