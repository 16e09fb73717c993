internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage

/// Reads XML in place, one element after the other: a secret text goes straight to guarded memory.
///
/// The reader of property lists knows eleven elements, accepts what Foundation accepts, and makes strings. This one knows
/// none, is strict, and refuses every document type: without one there are only the language's five entities, and no
/// expansion.
///
/// Source: Extensible Markup Language 1.0, fifth edition.
struct XMLScanner {
  struct Tag {
    let name: String
    let attributes: [String: String]
    fileprivate let isEmpty: Bool
  }

  /// Most levels of elements: each is a call of the reader. KeePass nests groups as deep as folders.
  static let deepest = 200

  private let bytes: UnsafeRawBufferPointer
  private let place: String
  private var offset = 0
  private var depth = 0

  init(_ bytes: UnsafeRawBufferPointer, place: String) { (self.bytes, self.place) = (bytes, place) }

  func damaged(_ what: String) -> StoreError {
    let line = bytes[..<min(offset, bytes.count)].count { $0 == 0x0A } + 1
    let end = offset >= bytes.count ? ", where the file ends: it may have been cut" : ""
    return StoreError.damaged(line, what + end, place, cure: "export it again; nothing was imported")
  }

  // MARK: Elements

  /// Reads the root element, which has to be `name`; nothing may follow it.
  mutating func root(_ name: String, _ body: (inout XMLScanner, Tag) throws -> Void) throws {
    guard let tag = try nextTag(isText: false), tag.name == name else { throw damaged("the first element is not <\(name)>") }
    try element(tag, body)
    try skipBetween(isText: false)
    guard offset == bytes.count else { throw damaged("something follows the end of <\(name)>") }
  }

  /// Text between the children is white space.
  mutating func children(_ body: (inout XMLScanner, Tag) throws -> Void) throws {
    while let tag = try nextTag(isText: false) { try element(tag, body) }
  }

  /// The children `name`; others are skipped.
  mutating func children(_ name: String, _ body: (inout XMLScanner, Tag) throws -> Void) throws {
    try children { scanner, tag in if tag.name == name { try body(&scanner, tag) } else { try scanner.skipContent() } }
  }

  private mutating func element(_ tag: Tag, _ body: (inout XMLScanner, Tag) throws -> Void) throws {
    guard !tag.isEmpty else {
      // An empty element has neither children nor text; nor has an empty scanner.
      var nothing = XMLScanner(UnsafeRawBufferPointer(rebasing: bytes[0..<0]), place: place)
      nothing.isNothing = true
      return try body(&nothing, tag)
    }
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.deepest else { throw damaged("elements are nested more than \(Self.deepest) deep") }
    try body(&self, tag)
    try close(tag.name)
  }

  private var isNothing = false

  /// Nil before a closing tag.
  private mutating func nextTag(isText: Bool) throws(StoreError) -> Tag? {
    guard !isNothing else { return nil }
    try skipBetween(isText: isText)
    guard isNext("<") else { throw damaged("an element or the end of one is missing") }
    guard !isNext("</") else { return nil }
    offset += 1
    let name = try word()
    var attributes: [String: String] = [:]
    while true {
      skipSpace()
      if takes("/>") { return Tag(name: name, attributes: attributes, isEmpty: true) }
      if takes(">") { return Tag(name: name, attributes: attributes, isEmpty: false) }
      let attribute = try word()
      skipSpace()
      guard takes("=") else { throw damaged("an attribute has no value") }
      skipSpace()
      attributes[attribute] = try quoted()
    }
  }

  private mutating func close(_ name: String) throws(StoreError) {
    try skipBetween(isText: true)
    guard takes("</"), try word() == name else { throw damaged("<\(name)> is not closed") }
    skipSpace()
    guard takes(">") else { throw damaged("<\(name)> is not closed") }
  }

  /// With `isText` also text.
  private mutating func skipBetween(isText: Bool) throws(StoreError) {
    while offset < bytes.count {
      skipSpace()
      if takes("<?") {
        try skip(past: "?>")
      } else if takes("<!--") {
        try skip(past: "-->")
      } else if isNext("<![CDATA["), isText {
        try skip(past: "]]>")
      } else if isNext("<!") {
        throw damaged("it has a declaration, which no export has")
      } else if isText, offset < bytes.count, bytes[offset] != UInt8(ascii: "<") {
        offset += 1
      } else {
        return
      }
    }
  }

  /// Without recursion.
  mutating func skipContent() throws(StoreError) {
    guard !isNothing else { return }
    var open = 0
    while true {
      try skipBetween(isText: true)
      if isNext("</") {
        guard open > 0 else { return }
        open -= 1
        try skip(past: ">")
      } else if let tag = try nextTag(isText: true), !tag.isEmpty {
        open += 1
      }
    }
  }

  // MARK: Text

  /// For text that is no secret.
  mutating func text() throws(StoreError) -> String {
    var text: [UInt8] = []
    try content { text.append($0) }
    return String(decoding: text, as: UTF8.self)
  }

  /// In guarded memory; nil if empty.
  mutating func secret() throws -> SecretForm? {
    let start = offset
    let secret = try SecretBytes.written { (put) throws(StoreError) in
      offset = start
      try content(put)
    }
    return secret.count == 0 ? nil : SecretForm(secret)
  }

  private mutating func content(_ put: (UInt8) -> Void) throws(StoreError) {
    guard !isNothing else { return }
    while offset < bytes.count {
      if takes("<![CDATA[") {
        let start = offset
        try skip(past: "]]>")
        bytes[start..<offset - 3].forEach(put)
      } else if takes("<!--") {
        try skip(past: "-->")
      } else if isNext("<") {
        guard isNext("</") else { throw damaged("an element stands where a text should") }
        return
      } else {
        try character(put)
      }
    }
    throw damaged("a text has no end")
  }

  private mutating func character(_ put: (UInt8) -> Void) throws(StoreError) {
    guard takes("&") else {
      put(bytes[offset])
      offset += 1
      return
    }
    guard !takes("#") else {
      for byte in UTF8.encode(try numbered()) ?? UTF8.encodedReplacementCharacter { put(byte) }
      return
    }
    let entities: [(StaticString, Unicode.Scalar)] = [("lt;", "<"), ("gt;", ">"), ("amp;", "&"), ("quot;", "\""), ("apos;", "'")]
    for (name, byte) in entities where takes(name) { return put(UInt8(ascii: byte)) }
    throw damaged("an entity is not one of XML's five")
  }

  /// `65;` or `x41;`.
  private mutating func numbered() throws(StoreError) -> Unicode.Scalar {
    let radix = takes("x") ? 16 : 10
    var number = 0, digits = 0
    while offset < bytes.count, digits < 8, let digit = Character(Unicode.Scalar(bytes[offset])).hexDigitValue, digit < radix {
      number = number * radix + digit
      digits += 1
      offset += 1
    }
    guard digits > 0, takes(";"), number > 0, let scalar = UInt32(exactly: number).flatMap(Unicode.Scalar.init) else {
      throw damaged("the number of a character is not valid")
    }
    return scalar
  }

  private mutating func quoted() throws(StoreError) -> String {
    guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") || bytes[offset] == UInt8(ascii: "'") else {
      throw damaged("an attribute's value has no quotes")
    }
    let quote = bytes[offset]
    offset += 1
    var text: [UInt8] = []
    while offset < bytes.count, bytes[offset] != quote {
      guard bytes[offset] != UInt8(ascii: "<") else { break }
      try character { text.append($0) }
    }
    guard offset < bytes.count, bytes[offset] == quote else { throw damaged("an attribute's value has no end") }
    offset += 1
    return String(decoding: text, as: UTF8.self)
  }

  // MARK: Steps

  private mutating func word() throws(StoreError) -> String {
    let start = offset
    while offset < bytes.count, case let byte = bytes[offset], byte > 0x20, !"<>/='\"&".utf8.contains(byte) { offset += 1 }
    guard offset > start else { throw damaged("a name is missing") }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private mutating func skipSpace() {
    while offset < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[offset]) { offset += 1 }
  }

  private func isNext(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard bytes.count - offset >= count else { return false }
    for index in 0..<count where bytes[offset + index] != text.utf8Start[index] { return false }
    return true
  }

  private mutating func takes(_ text: StaticString) -> Bool {
    guard isNext(text) else { return false }
    offset += text.utf8CodeUnitCount
    return true
  }

  private mutating func skip(past text: StaticString) throws(StoreError) {
    while offset < bytes.count {
      if takes(text) { return }
      offset += 1
    }
    throw damaged("something has no end")
  }
}
