internal import CofferStorage
internal import CofferVaultFormat

struct MergeRecord {
  let id: ItemID
  let name: ItemName
  let index: RecordIndex
  let created: UInt64, modified: UInt64, named: UInt64
  let history: UInt8
  let tellsNamed: Bool
  /// Why it is left out; nil if it is not.
  let exclusion: MergeReport.Reason?

  init(_ meta: RecordMeta, at index: RecordIndex, exclusion: MergeReport.Reason?) {
    id = meta.id
    name = meta.name
    self.index = index
    (created, modified, named) = (meta.created, meta.modified, meta.named)
    (history, tellsNamed) = (meta.history, meta.tellsNamed)
    self.exclusion = exclusion
  }

  var key: ItemName { name.key }
}

struct MergeSide {
  let items: ItemTable
  /// Whether it is the vault that changes.
  let isOurs: Bool
  /// The pairs of buckets that were read; nil for all.
  let pairs: [Int]?
  /// The earlier changes of the transaction.
  let change: Change
  private(set) var records: [MergeRecord] = []
  let deletions: MergeDeletions
  /// Items and fields that take no part, as if they were not there. Only their names are taken.
  private(set) var hidden: [MergeRecord] = []
  /// By the index of their item.
  private var fields: [RecordIndex: [MergeRecord]] = [:]

  /// Reads the descriptions of `pairs`, or all, and no value.
  ///
  /// - Parameter hides: whether records that are left out take no part.
  init(
    _ items: ItemTable, isOurs: Bool, pairs: [Int]?, leavingOut isLeftOut: (VaultItem) -> Bool, hides: Bool = false,
    _ change: inout Change
  ) throws(StoreError) {
    // A merge carries internal items.
    self.items = items.whole
    (self.isOurs, self.pairs) = (isOurs, pairs)
    deletions = try MergeDeletions(items.whole, isOurs: isOurs, pairs: pairs, leavingOut: isLeftOut, hides: hides, &change)
    self.change = change
    let view = items.view
    for bucket in pairs ?? Array(RecordTable.present.buckets) {
      guard view.tree.digests[bucket] != .zero || change.lists[bucket] != nil else { continue }
      for entry in try items.records.list(of: bucket, change).entries {
        let meta = try view.openMeta(entry.index, entry.id)
        guard meta.kind == .present else { continue }
        let record = MergeRecord(meta, at: entry.index, exclusion: Self.exclusion(meta, items.item(meta), isLeftOut))
        if meta.field.isEmpty {
          records.append(record)
        } else {
          fields[meta.address.item.index(view.keys), default: []].append(record)
        }
      }
    }
    records.sort { $0.name < $1.name }
    if hides { hide() }
  }

  private mutating func hide() {
    for item in records where item.exclusion != nil { hidden += [item] + (fields.removeValue(forKey: item.index) ?? []) }
    records.removeAll { $0.exclusion != nil }
    for (item, list) in fields {
      hidden += list.filter { $0.exclusion != nil }
      fields[item] = list.filter { $0.exclusion == nil }
    }
  }

  /// All rows that take no part.
  var hiddenRows: [MergeSource] {
    deletions.hidden + hidden.flatMap { (deletions.formers[$0.index] ?? []) + [source(of: $0)] }
  }

  func isHidden(_ name: ItemName) -> Bool { hidden.contains { $0.name == name } }

  func source(of record: MergeRecord) -> MergeSource {
    MergeSource(items: items, table: .present, index: record.index, isOurs: isOurs)
  }

  /// All rows of each record: present, previous and deleted ones.
  func rows() -> [ItemID: [MergeSource]] {
    var rows: [ItemID: [MergeSource]] = [:]
    for record in all { rows[record.id, default: []] += (deletions.formers[record.index] ?? []) + [source(of: record)] }
    for deletion in deletions.all { rows[deletion.id, default: []] += deletion.line.all }
    return rows
  }

  /// Items and fields.
  var all: [MergeRecord] { records + fields.values.joined() }

  func fields(of item: MergeRecord) -> [MergeRecord] { (fields[item.index] ?? []).sorted { $0.name < $1.name } }

  static func exclusion(
    _ meta: RecordMeta, _ item: VaultItem, _ isLeftOut: (VaultItem) -> Bool
  ) -> MergeReport.Reason? {
    if item.metadata.isSessionItem || isLeftOut(item) { return .login }
    if meta.valueCount == nil { return .withoutValue }
    return isSound(meta) ? nil : .unsoundName
  }

  private static func isSound(_ meta: RecordMeta) -> Bool {
    do throws(StoreError) {
      let item = try ItemName(service: meta.service, account: meta.account)
      if !meta.field.isEmpty { _ = try item.field(named: meta.field) }
      return !meta.attributes.contains { $0.name.isEmpty }
    } catch { return false }
  }
}

struct MergePair {
  var ours: MergeRecord?, theirs: MergeRecord?

  var isLeftOut: Bool { ours?.exclusion != nil || theirs?.exclusion != nil }

  var keys: [ItemName] { [ours, theirs].compactMap { $0?.key } }

  /// Matches by id, then the rest by name, but for those that are `apart`.
  static func match(_ ours: [MergeRecord], _ theirs: [MergeRecord], apart: Set<ItemID>) -> [MergePair] {
    var pairs = ours.map { MergePair(ours: $0) }
    let byID = match(theirs, to: &pairs, \.id) { _ in true }
    let byName = match(byID, to: &pairs, \.key) { !apart.contains($0) }
    return pairs + byName.map { MergePair(theirs: $0) }
  }

  private static func match<Key: Hashable>(
    _ theirs: [MergeRecord], to pairs: inout [MergePair], _ key: (MergeRecord) -> Key, _ isMatched: (ItemID) -> Bool
  ) -> [MergeRecord] {
    var free: [Key: Int] = [:]
    for (place, pair) in pairs.enumerated() where pair.theirs == nil {
      if let ours = pair.ours, free[key(ours)] == nil, isMatched(ours.id) { free[key(ours)] = place }
    }
    return theirs.filter { record in
      guard isMatched(record.id), let place = free.removeValue(forKey: key(record)) else { return true }
      pairs[place].theirs = record
      return false
    }
  }
}
