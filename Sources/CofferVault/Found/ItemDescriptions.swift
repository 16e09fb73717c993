internal import CofferMemory
package import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

/// The descriptions of many items, by name, in guarded memory, encoded as they are sealed. An item is decoded on request, so
/// a reader of few items holds little more than those.
///
/// A snapshot of one moment. Copies share the memory.
package struct ItemDescriptions: Sendable {
  struct Place: Sendable {
    let page: UInt32
    let offset: UInt32
    let count: UInt32
  }

  private var pages: [DescriptionPage?]
  private var order: [Place]
  private let place: String

  /// No items yet. `place` is the vault's place, for errors.
  package init(place: String) { self.init(pages: [], order: [], place: place) }

  init(pages: [DescriptionPage?], order: [Place], place: String) {
    self.pages = pages
    self.order = order
    self.place = place
  }

  package var count: Int { order.count }
  package var isEmpty: Bool { order.isEmpty }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for an invalid description.
  package subscript(position: Int) -> VaultItem {
    get throws(StoreError) {
      try VaultItem(meta(at: position))
    }
  }

  func meta(at position: Int) throws(StoreError) -> RecordMeta {
    try withDescription(at: position) { (raw) throws(StoreError) in
      do throws(FormatError) { return try RecordMeta(decoding: raw) } catch { throw error.storeError(place: place) }
    }
  }

  package func items() throws(StoreError) -> [VaultItem] {
    var items: [VaultItem] = []
    items.reserveCapacity(count)
    for position in order.indices { items.append(try self[position]) }
    return items
  }

  package func withDescription<Result>(
    at position: Int, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try with(order[position], body)
  }

  private func with<Result, Failure: Error>(
    _ place: Place, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let page = pages[Int(place.page)] else { preconditionFailure("a description lies in a page that is held") }
    return try page.with(place, body)
  }

  /// Appends an item encoded by another process, such as an agent.
  package mutating func append(_ raw: UnsafeRawBufferPointer) throws(StoreError) {
    let last = pages.last.flatMap { $0 }
    if let last, let place = last.append(raw, page: pages.count - 1) { return order.append(place) }
    let page = try DescriptionPage(capacity: max(raw.count, DescriptionPage.usual))
    pages.append(page)
    if let place = page.append(raw, page: pages.count - 1) { order.append(place) }
  }

  mutating func sort() { order = sorted(order) }

  func sorted(_ places: [Place]) -> [Place] { places.sorted { isBefore($0, $1) } }

  func isBefore(_ left: Place, _ right: Place) -> Bool {
    with(left) { left in
      let left = DescriptionParts(left)
      return with(right) { right in
        left.nameOrder(DescriptionParts(right)) < 0
      }
    }
  }

  package func find(_ query: ItemQuery) -> ItemDescriptions {
    let matcher = ItemMatcher(query)
    // An item with the mark may belong to any service.
    let service = query.besides == nil ? query.service : nil
    let range = service.map { places(ofServicesFrom: $0, whole: true) } ?? order[...]
    guard query != ItemQuery(service: query.service) else {
      return ItemDescriptions(pages: pages, order: Array(range), place: place)
    }
    return ItemDescriptions(
      pages: pages, order: range.filter { with($0) { matcher.matches(DescriptionParts($0)) } }, place: place)
  }

  /// The distinct services that begin with `prefix`, by name, or the accounts of `service` that do.
  package func names(of service: String?, prefix: String) -> [String] {
    guard let service else { return services(from: prefix) }
    return places(ofServicesFrom: service, whole: true).compactMap { place in
      with(place) { raw in
        let account = DescriptionParts(raw).account
        return Self.begins(account, prefix) ? String(decoding: account, as: UTF8.self) : nil
      }
    }
  }

  private func services(from prefix: String) -> [String] {
    var names: [String] = []
    for place in places(ofServicesFrom: prefix, whole: false) {
      with(place) { raw in
        let service = DescriptionParts(raw).service
        if let last = names.last, service.elementsEqual(last.utf8) { return }
        names.append(String(decoding: service, as: UTF8.self))
      }
    }
    return names
  }

  /// The places of the items whose service begins with `prefix`, or equals it if `whole`.
  private func places(ofServicesFrom prefix: String, whole: Bool) -> ArraySlice<Place> {
    let start = partition { service in Self.order(service, prefix) >= 0 }
    let end = partition { service in
      Self.order(service, prefix) > 0 && (whole || !Self.begins(service, prefix))
    }
    return order[start..<end]
  }

  /// The first position past the wanted service, by binary search.
  private func partition(_ isPast: (UnsafeRawBufferPointer) -> Bool) -> Int {
    var (low, high) = (0, order.count)
    while low < high {
      let middle = (low + high) / 2
      if with(order[middle], { isPast(DescriptionParts($0).service) }) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  private static func order(_ raw: UnsafeRawBufferPointer, _ text: String) -> Int {
    text.utf8Span.span.bytes.withUnsafeBytes { DescriptionParts.order(raw, $0) }
  }

  private static func begins(_ raw: UnsafeRawBufferPointer, _ prefix: String) -> Bool { raw.starts(with: prefix.utf8) }
}

/// Consecutive descriptions in one block of guarded memory.
final class DescriptionPage: @unchecked Sendable {
  // Written only by the thread that makes it, before any other has it.
  private var bytes: SecretBytes
  private var used = 0
  private(set) var places: [ItemDescriptions.Place] = []

  /// The largest block that is cut from a slab: see ``SecretBytes``.
  static let usual = 16 * 1024

  init(capacity: Int) throws(StoreError) {
    do throws(SecretMemoryError) { bytes = try SecretBytes(zeros: capacity) } catch { throw StoreError(memory: error) }
  }

  /// In bytes of guarded memory.
  var size: Int { bytes.count }

  /// Nil if it does not fit.
  func append(_ raw: UnsafeRawBufferPointer, page: Int) -> ItemDescriptions.Place? {
    guard used + raw.count <= bytes.count else { return nil }
    let start = used
    bytes.withUnsafeMutableBytes { buffer in
      UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + raw.count]).copyMemory(from: raw)
    }
    used += raw.count
    let place = ItemDescriptions.Place(page: UInt32(page), offset: UInt32(start), count: UInt32(raw.count))
    places.append(place)
    return place
  }

  func grow(by count: Int) throws(StoreError) {
    guard used + count > bytes.count else { return }
    do throws(SecretMemoryError) {
      var larger = try SecretBytes(zeros: max(used + count, 2 * bytes.count))
      bytes.withUnsafeBytes { old in
        larger.withUnsafeMutableBytes { new in UnsafeMutableRawBufferPointer(rebasing: new[..<old.count]).copyMemory(from: old) }
      }
      bytes = larger
    } catch { throw StoreError(memory: error) }
  }

  func with<Result, Failure: Error>(
    _ place: ItemDescriptions.Place, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withUnsafeBytes { (raw) throws(Failure) in
      try body(UnsafeRawBufferPointer(rebasing: raw[Int(place.offset)..<Int(place.offset + place.count)]))
    }
  }
}
