internal import CofferStorage

/// What a value and a domain may weigh. A domain is read whole by every process that opens it and rewritten whole at each
/// fold, so it is no place for documents.
enum Budget {
  /// Bytes of content in one value (``PlainForm/byteCount``): 1 MiB, about 1 ms of every later rewrite of the list.
  static let value = 1 << 20
  /// Weight of all values of a domain: 16 MiB, about a second to parse as XML (23 ms for 10 000 small keys, measured).
  static let domain = 16 << 20
  /// Bytes of a property list that is read. XML needs at most five bytes for one (`&amp;`), so a list within ``domain`` fits.
  static let file = 5 * domain
  /// Nested collections: the property-list parser stops at 512, and code here descends by recursion.
  static let depth = 32
  /// What a value weighs beyond its content: tags and indentation in XML, a table slot in memory.
  static let perElement = 32

  /// The weight of `form` under `name` within ``domain``.
  @inline(__always)
  static func weight(of form: PlainForm, under name: String) -> Int { name.utf8.count + weight(of: form) }

  static func weight(of form: PlainForm) -> Int {
    switch form {
    case .array(let items): perElement + items.reduce(0) { $0 + weight(of: $1) }
    case .dictionary(let items):
      perElement + items.reduce(0) { $0 + perElement + $1.key.utf8.count + weight(of: $1.value) }
    default: perElement + form.byteCount
    }
  }
}
