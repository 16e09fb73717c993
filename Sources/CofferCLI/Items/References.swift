internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

/// `coffer://service/account[/field]`: names a secret, a secret field or an attribute of an item, in a place for no secret.
///
/// Each part is percent-encoded, so that a service may be a URL: `coffer://https%3A%2F%2Fexample.com/ada`. Without an
/// account it means the service's only item; `coffer://service/` means the item with the empty account. Source: RFC 3986,
/// section 2.1.
struct Reference: Hashable, CustomStringConvertible {
  static let scheme = "coffer://"

  let service: String
  /// Nil for the only item of the service.
  let account: String?
  let attribute: String?

  static func isMeant(by text: String) -> Bool { text.utf8.starts(with: scheme.utf8) }

  init(service: String, account: String?, attribute: String? = nil) {
    (self.service, self.account, self.attribute) = (service, account, attribute)
  }

  /// - Throws: a usage failure that names the defect of `text`, which is no secret.
  init(_ text: String) throws(Failure) {
    guard Self.isMeant(by: text) else { throw .usage("a reference begins with \(Self.scheme)", try: "coffer://service/account") }
    let parts = Self.parts(of: text)
    guard parts.count <= 3 else {
      throw Self.malformed(text, "has more parts than service, account and attribute", "%2F for a slash within a part")
    }
    let decoded = try parts.map { (part) throws(Failure) in try Self.decode(part, of: text) }
    guard let service = decoded.first, !service.isEmpty else {
      throw Self.malformed(text, "names no service", "coffer://service/account")
    }
    guard decoded.count < 3 || decoded.last?.isEmpty == false else {
      throw Self.malformed(text, "names no attribute after its last slash", "coffer://service/account without the slash")
    }
    self.service = service
    account = decoded.count > 1 ? decoded[1] : nil
    attribute = decoded.count > 2 ? decoded[2] : nil
  }

  /// Split by bytes: a slash and a combining mark after it are one character.
  static func parts(of text: String) -> [Substring.UTF8View] {
    text.utf8.dropFirst(scheme.utf8.count).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
  }

  /// Compares bytes, as for the names of items.
  static func == (left: Reference, right: Reference) -> Bool { left.description.hasSameBytes(as: right.description) }

  /// The encoded form is ASCII, in which equal text has equal bytes.
  func hash(into hasher: inout Hasher) { hasher.combine(description) }

  var description: String {
    Self.scheme + [service, account, attribute].compactMap { $0.map(Self.encode) }.joined(separator: "/")
  }

  // MARK: Percent-encoding

  private static func decode(_ part: Substring.UTF8View, of text: String) throws(Failure) -> String {
    for byte in part {
      switch byte {
      case UInt8(ascii: "?"), UInt8(ascii: "#"):
        throw malformed(text, "has a ? or # that is not encoded", "%3F for a question mark, %23 for a hash sign")
      case 0...0x20, 0x7F: throw malformed(text, "contains a space or a control character", "%20 for a space")
      default: break
      }
    }
    guard let bytes = PercentEncoding.decode(part) else {
      throw malformed(text, "has a % without two hexadecimal digits after it", "%25 for a percent sign")
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
      throw malformed(text, "is not UTF-8 once decoded", "the bytes of the text's UTF-8, each as %XX")
    }
    return decoded
  }

  /// An @ stays as it is: accounts are often addresses.
  private static func encode(_ part: String) -> String { PercentEncoding.encode(part, keeping: "@") }

  private static func malformed(_ text: String, _ what: String, _ cure: String) -> Failure {
    .usage("the reference '\(text)' \(what)", try: cure)
  }
}

/// All are read before any is used.
struct References {
  private var values: [Reference: SecretForm] = [:]

  /// Without any the vault is not touched.
  init(_ references: [Reference], _ context: Context) throws {
    guard !references.isEmpty else { return }
    let searched = try SearchedVaults(context)
    for reference in references where values[reference] == nil {
      func found(_ items: VaultItems) throws -> VaultItem? {
        try items.itemIfAny(service: reference.service, account: reference.account)
      }
      func value(_ items: VaultItems) throws -> SecretForm { try Self.value(of: reference, reportedIn: items) }
      values[reference] = try searched.search(for: reference.description, takingParts: false, found, value)
    }
  }

  /// Errors name the reference.
  private static func value(of reference: Reference, reportedIn items: VaultItems) throws -> SecretForm {
    do { return try value(of: reference, in: items) } catch let error as StoreError {
      var cure = error.kind == .ambiguous ? "name the account after the service: coffer://service/account" : error.commandCure
      // The account of a service with a slash seems to be an attribute.
      if error.kind == .notFound, let account = reference.account, let attribute = reference.attribute,
        let meant = try items.item(ItemName(service: "\(reference.service)/\(account)", account: attribute))?.name
      {
        cure = "did you mean \(Reference(service: meant.service, account: meant.account))?"
      }
      throw StoreError(
        error.kind, error.what, key: reference.description, place: error.place, cure: cure, underlying: error.underlying,
        remedy: error.remedy)
    }
  }

  subscript(_ reference: Reference) -> SecretForm {
    // Only a fault in this program asks for an uncollected reference; no text of a user leads here.
    guard let value = values[reference] else { preconditionFailure("a reference was not collected") }
    return value
  }

  static func value(of reference: Reference, in items: VaultItems) throws -> SecretForm {
    guard let attribute = reference.attribute else {
      return try items.value(service: reference.service, account: reference.account)
    }
    let item = try items.item(service: reference.service, account: reference.account)
    switch try ItemPart(ifAny: attribute, of: item, in: items) {
    case .secret(let secret): return secret
    case .text(let text): return try text.utf8Span.span.bytes.withUnsafeBytes { raw in SecretForm(try SecretBytes(copying: raw)) }
    case nil:
      throw StoreError(
        .notFound, "the item has nothing named '\(attribute)'",
        cure: "coffer show lists its parts; omit the last part for the value")
    }
  }
}

/// A text in which `{{ coffer://service/account }}` stands for a secret. Other double braces may belong to other programs
/// and stay.
struct Template {
  /// Bytes: a template that multiplies a large value must not fill the memory.
  static let largestResult = 16 << 20

  private enum Piece {
    case text(Range<Int>)
    case reference(Reference)
  }
  private var pieces: [Piece] = []

  var references: [Reference] {
    pieces.compactMap { piece in if case .reference(let reference) = piece { reference } else { nil } }
  }

  /// - Throws: a usage failure that names the line of an invalid reference.
  init(_ template: borrowing SecretBytes, place: String) throws {
    let found = try template.withUnsafeBytes { raw in try Self.pieces(of: raw, place) }
    pieces = found
  }

  private static func pieces(of raw: UnsafeRawBufferPointer, _ place: String) throws -> [Piece] {
    var pieces: [Piece] = []
    var (start, at) = (0, 0)
    while at + 1 < raw.count {
      guard raw[at] == UInt8(ascii: "{"), raw[at + 1] == UInt8(ascii: "{"), let inside = inside(raw, from: at + 2) else {
        at += 1
        continue
      }
      // Counted for an error alone: a template may have many references.
      var line: Int { raw[..<at].count { $0 == 0x0A } + 1 }
      guard let end = inside.end, let text = PlainBytes.text(UnsafeRawBufferPointer(rebasing: raw[inside.start..<end.text]))
      else {
        throw Failure.usage(
          "line \(line): a reference has no '}}' after it (\(place))", try: "{{ coffer://service/account }}; nothing was written")
      }
      pieces.append(.text(start..<at))
      do throws(Failure) { pieces.append(.reference(try Reference(text))) } catch {
        throw Failure.usage("line \(line): \(error.what) (\(place))", try: "\(error.cure ?? "another"); nothing was written")
      }
      (start, at) = (end.braces, end.braces)
    }
    pieces.append(.text(start..<raw.count))
    return pieces
  }

  /// Its end may be missing; nil if there is no reference.
  private static func inside(_ raw: UnsafeRawBufferPointer, from opening: Int) -> (start: Int, end: (text: Int, braces: Int)?)? {
    var start = opening
    while start < raw.count, raw[start] == 0x20 || raw[start] == 0x09 { start += 1 }
    guard raw[start...].starts(with: Reference.scheme.utf8) else { return nil }
    var end = start
    while end + 1 < raw.count, raw[end] != 0x0A {
      if raw[end] == UInt8(ascii: "}"), raw[end + 1] == UInt8(ascii: "}") {
        var text = end
        while text > start, raw[text - 1] == 0x20 || raw[text - 1] == 0x09 { text -= 1 }
        return (start, (text, end + 2))
      }
      end += 1
    }
    return (start, nil)
  }

  func filled(_ template: borrowing SecretBytes, with values: References) throws -> SecretBytes {
    let size = pieces.reduce(0) { size, piece in
      switch piece {
      case .text(let range): size + range.count
      case .reference(let reference): size + values[reference].bytes.count
      }
    }
    guard size <= Self.largestResult else {
      throw StoreError(
        .tooLarge(limit: Self.largestResult), "the result is larger than \(Self.largestResult) bytes", cure: "several templates")
    }
    var result = try SecretBytes(zeros: size)
    template.withUnsafeBytes { raw in result.withUnsafeMutableBytes { write(raw, values, to: $0) } }
    return result
  }

  private func write(_ raw: UnsafeRawBufferPointer, _ values: References, to out: UnsafeMutableRawBufferPointer) {
    var at = 0
    func put(_ bytes: UnsafeRawBufferPointer) {
      UnsafeMutableRawBufferPointer(rebasing: out[at..<at + bytes.count]).copyMemory(from: bytes)
      at += bytes.count
    }
    for piece in pieces {
      switch piece {
      case .text(let range): put(UnsafeRawBufferPointer(rebasing: raw[range]))
      case .reference(let reference): values[reference].bytes.withUnsafeBytes(put)
      }
    }
  }
}
