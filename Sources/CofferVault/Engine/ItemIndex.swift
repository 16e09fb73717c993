internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

/// The cached descriptions of an open vault's items. Those of a bucket are valid until its verified digest changes. Wiped
/// with the open vault.
struct ItemIndex {
  private var pages = [DescriptionPage?](repeating: nil, count: DigestTree.buckets)
  private var digests = [Digest32](repeating: .zero, count: DigestTree.buckets)
  /// The buckets reread since the order was made.
  private var changed: Set<Int> = []
  private var order: [ItemDescriptions.Place] = []
  private var size = 0
  private(set) var isTooLarge = false

  /// The limit of guarded memory, for some 300 000 items. A larger vault has no index.
  private static let mostBytes = 64 << 20

  /// Reads the changes of at most `most` buckets; true once the index is complete. Called within a read transaction.
  mutating func update(_ items: ItemTable, most: Int = .max) throws(StoreError) -> Bool {
    let tree = items.view.tree
    let changed = RecordTable.present.buckets.filter { digests[$0] != tree.digests[$0] }
    let now = changed.prefix(most)
    // A server is asked for all of them at once.
    try items.view.scanning(.present, .metadata, in: now.filter { tree.digests[$0] != .zero }) { () throws(StoreError) in
      for bucket in now where !isTooLarge {
        try read(bucket, items)
        if size > Self.mostBytes {
          self = ItemIndex()
          isTooLarge = true
        }
      }
    }
    return isTooLarge || now.count == changed.count
  }

  private mutating func read(_ bucket: Int, _ items: ItemTable) throws(StoreError) {
    let digest = items.view.tree.digests[bucket]
    let page = try digest == .zero ? nil : items.page(of: bucket)
    size += (page?.size ?? 0) - (pages[bucket]?.size ?? 0)
    pages[bucket] = page
    digests[bucket] = digest
    changed.insert(bucket)
  }

  /// Call ``update(_:most:)`` first.
  mutating func descriptions(place: String) -> ItemDescriptions {
    let all = ItemDescriptions(pages: pages, order: [], place: place)
    if !changed.isEmpty {
      let new = all.sorted(changed.flatMap { pages[$0]?.places ?? [] })
      let kept = order.filter { !changed.contains(Int($0.page)) }
      order = Self.merged(kept, new) { all.isBefore($0, $1) }
      changed = []
    }
    return ItemDescriptions(pages: pages, order: order, place: place)
  }

  /// Searches for each new place, because usually few are new.
  private static func merged(
    _ kept: [ItemDescriptions.Place], _ new: [ItemDescriptions.Place],
    _ isBefore: (ItemDescriptions.Place, ItemDescriptions.Place) -> Bool
  ) -> [ItemDescriptions.Place] {
    guard !kept.isEmpty else { return new }
    var all: [ItemDescriptions.Place] = []
    all.reserveCapacity(kept.count + new.count)
    var from = 0
    for place in new {
      var (low, high) = (from, kept.count)
      while low < high {
        let middle = (low + high) / 2
        if isBefore(kept[middle], place) { low = middle + 1 } else { high = middle }
      }
      all.append(contentsOf: kept[from..<low])
      all.append(place)
      from = low
    }
    all.append(contentsOf: kept[from...])
    return all
  }
}

extension ItemTable {
  /// In most vaults a bucket has an item or two.
  private static let firstPage = 512

  func page(of bucket: Int) throws(StoreError) -> DescriptionPage {
    let page = try DescriptionPage(capacity: Self.firstPage)
    try forEachDescription(in: bucket) { (raw) throws(StoreError) in
      try page.grow(by: raw.count)
      _ = page.append(raw, page: bucket)
    }
    return page
  }

  /// In no order.
  func forEachDescription(
    in bucket: Int, ofFields: Bool = false, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    for entry in try view.list(of: bucket).entries {
      try view.withRow(entry.index, entry.id, .metadata) { (row) throws(StoreError) in
        try row.withDescription(place: view.place.description, keys: view.keys) { (meta, raw) throws(StoreError) in
          if meta.kind == .present, meta.field.isEmpty != ofFields, !hides(meta.service) { try body(raw) }
        }
      }
    }
  }

  func find(_ query: ItemQuery) throws(StoreError) -> ItemDescriptions {
    var found = ItemDescriptions(place: view.place.description)
    try forEach(query) { (raw) throws(StoreError) in try found.append(raw) }
    found.sort()
    return found
  }

  func count(_ query: ItemQuery) throws(StoreError) -> Int {
    var count = 0
    try forEach(query) { _ in count += 1 }
    return count
  }

  private func forEach(
    _ query: ItemQuery, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard !query.ofFields || view.state.counts.fields > 0 else { return }
    let matcher = ItemMatcher(query)
    // Each row is read once, in the order of the file.
    try view.database.working(.scanning) { () throws(StoreError) in
      let buckets = view.tree.filled(.present)
      try view.scanning(.present, .metadata, in: buckets) { () throws(StoreError) in
        for bucket in buckets {
          try forEachDescription(in: bucket, ofFields: query.ofFields) { (raw) throws(StoreError) in
            if matcher.matches(DescriptionParts(raw)) { try body(raw) }
          }
        }
      }
    }
  }
}

extension OpenVault {
  func find(_ query: ItemQuery) throws(StoreError) -> ItemDescriptions {
    // The index has no fields.
    guard !query.ofFields, let all = try indexed() else { return try items.find(query) }
    return all.find(query)
  }

  /// Reads no values.
  func sessionItems(service: String) throws(StoreError) -> [String: RecordVersion] {
    var marked: [String: RecordVersion] = [:]
    for item in try find(ItemQuery(service: service)).items() where item.metadata.isSessionItem {
      marked[item.name.account] = try items.version(of: item.name)
    }
    return marked
  }

  func indexed() throws(StoreError) -> ItemDescriptions? {
    guard try prepareIndex(), index?.isTooLarge == false else { return nil }
    return index?.descriptions(place: view.place.description)
  }

  /// True once the index is complete, or if there is none.
  func prepareIndex(most: Int = .max) throws(StoreError) -> Bool {
    guard options.keepsIndex, index?.isTooLarge != true else { return true }
    // Taken out during the read, so an error drops the index: the vault may prove to be another one.
    var held = index.take() ?? ItemIndex()
    let isDone = try held.update(items, most: most)
    index = held
    return isDone
  }
}
