internal import CofferStorage

/// Reads XML property lists, and accepts the same ones as Foundation.
///
/// The document type says little about an element's content. The rest follows Foundation: white space, comments and
/// processing instructions between elements, ignored attributes and ignored content after the root.
///
/// Source: the document type <http://www.apple.com/DTDs/PropertyList-1.0.dtd>, and Foundation's reader.
struct XMLPropertyListReader {
  /// The memory outlives the reader.
  let bytes: UnsafeRawBufferPointer
  var position = 0

  /// Foundation's limit too. Each collection is a call here.
  static let deepest = 511

  enum Element: String, CaseIterable {
    case plist, array, dict, key, string, data, date, real, integer, `true`, `false`

    static let byName = Dictionary(uniqueKeysWithValues: allCases.map { (packed($0.rawValue.utf8), $0) })

    static func packed(_ name: some Collection<UInt8>) -> UInt64 { name.reduce(0) { $0 << 8 | UInt64($1) } }
  }

  struct Tag {
    let element: Element
    /// Whether it is its own closing tag, `<array/>`.
    let isEmpty: Bool
  }

  static func read(_ bytes: UnsafeRawBufferPointer) throws(PropertyList.Failure) -> PlainForm {
    var reader = XMLPropertyListReader(bytes: bytes)
    guard let tag = try reader.nextTag(isProlog: true) else { throw reader.damaged }
    guard tag.element == .plist else { return try reader.value(tag, depth: 0) }
    guard !tag.isEmpty, let inner = try reader.nextTag() else { throw reader.damaged }
    let value = try reader.value(inner, depth: 0)
    guard try reader.nextTag() == nil else { throw reader.damaged }
    try reader.close(.plist)
    return value
  }

  /// Names the place, never its text, which may be a value.
  var damaged: PropertyList.Failure {
    let line = bytes[..<min(position, bytes.count)].count { $0 == UInt8(ascii: "\n") } + 1
    return PropertyList.Failure(what: "the file is not a property list: its line \(line) is damaged or cut off")
  }

  private mutating func value(_ tag: Tag, depth: Int) throws(PropertyList.Failure) -> PlainForm {
    guard depth <= Self.deepest else { throw damaged }
    switch tag.element {
    case .array: return try tag.isEmpty ? .array([]) : array(depth + 1)
    case .dict: return try tag.isEmpty ? .dictionary([:]) : dictionary(depth + 1)
    case .string, .key: return .string(try tag.isEmpty ? "" : text(of: tag.element))
    case .true, .false:
      if !tag.isEmpty { try close(tag.element) }
      return .bool(tag.element == .true)
    case .integer, .real, .date, .data:
      guard !tag.isEmpty else { throw damaged }
      let scalar = try scalar(tag.element)
      try close(tag.element)
      return scalar
    case .plist: throw damaged
    }
  }

  private mutating func scalar(_ element: Element) throws(PropertyList.Failure) -> PlainForm {
    switch element {
    case .integer: try integer()
    case .real: .real(try real())
    case .date: .date(try date())
    default: .data(try data())
    }
  }

  private mutating func array(_ depth: Int) throws(PropertyList.Failure) -> PlainForm {
    var items: [PlainForm] = []
    while let tag = try nextTag() { items.append(try value(tag, depth: depth)) }
    try close(.array)
    return .array(items)
  }

  /// The last value of a repeated key counts.
  private mutating func dictionary(_ depth: Int) throws(PropertyList.Failure) -> PlainForm {
    var items: [String: PlainForm] = [:]
    while let tag = try nextTag() {
      guard tag.element == .key else { throw damaged }
      let key = try tag.isEmpty ? "" : text(of: .key)
      guard let next = try nextTag() else { throw damaged }
      items[key] = try value(next, depth: depth)
    }
    try close(.dict)
    return .dictionary(items)
  }

  private mutating func text(of element: Element) throws(PropertyList.Failure) -> String {
    let text = try text()
    try close(element)
    return text
  }
}
