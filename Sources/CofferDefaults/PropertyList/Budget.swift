internal import CofferPlatform
internal import CofferStorage

/// Weight limits, because every process that opens a domain reads it whole, and each fold rewrites it.
enum Budget {
  /// 1 MiB of content in one value (``PlainForm/byteCount``). One changed value rewrites the whole list.
  static let value = 1 << 20
  /// 16 MiB in all, or about 200 000 numbers. Reading the list (9 µs per key, measured) may happen under the lock, and must
  /// end before others stop waiting (``FileLock/patience``, 5 s).
  static let domain = 16 << 20
  /// XML needs at most five bytes per byte (`&amp;`), so a list within ``domain`` fits.
  static let file = 5 * domain
  /// The property-list parser stops at 512 nested collections, and code here recurses.
  static let depth = 32
  /// Tags and indentation in XML, a table slot in memory.
  static let perElement = 32

  @inline(__always)
  static func check(
    weight: Int, before: Int, changing name: String?, in place: @autoclosure () -> String
  ) throws(StoreError) {
    guard weight > domain, weight > before else { return }
    throw StoreError(
      .tooLarge(limit: domain), "the domain would have \(weight) bytes, over its limit of \(domain)", key: name, place: place(),
      cure: "remove values that are not preferences, or keep them in files; nothing was changed")
  }

  @inline(__always)
  static func weight(of form: PlainForm?, under name: String) -> Int {
    guard let form else { return 0 }
    return name.utf8.count + weight(of: form)
  }

  static func weight(of form: PlainForm) -> Int {
    switch form {
    case .array(let items): perElement + items.reduce(0) { $0 + weight(of: $1) }
    case .dictionary(let items):
      perElement + items.reduce(0) { $0 + perElement + $1.key.utf8.count + weight(of: $1.value) }
    default: perElement + form.byteCount
    }
  }
}
