internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// An item's description, as lines for an editor: `label: text`, `type: text`, `expires: date`, `attribute: name=value`.
///
/// A backslash, a newline and, in a name, an equals sign are escaped with a backslash. Attributes of the library are not
/// shown and stay.
enum DescriptionForm {
  /// - Throws: a usage failure that names the wrong line; the errors of ``Editor``.
  static func edit(_ item: VaultItem, _ context: Context) throws -> ItemMetadata {
    let text = text(of: item)
    let form = try text.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let edited = try Editor.edit(form, limit: 1 << 20, places: context.places)
    guard let lines = edited.withUnsafeBytes({ PlainBytes.text($0) }) else {
      throw Failure.usage("the form is no longer UTF-8", try: "an editor set to UTF-8; nothing was changed")
    }
    return try lines.hasSameBytes(as: text) ? item.metadata : read(lines, of: item)
  }

  static func text(of item: VaultItem) -> String {
    let metadata = item.metadata
    var lines = [
      "# Description of \(Printable.line(item.name.description)). Lines that begin with # are ignored; a removed line clears "
        + "its property.",
      "# expires: 30d, 12h, 2026-12-31 or never. attribute: name=value, a line each.",
      "label: \(escaped(metadata.label))", "type: \(escaped(metadata.contentType))",
      "expires: \(metadata.expires.map(Moment.text) ?? "never")",
    ]
    lines += metadata.freeAttributes.sorted { $0.key < $1.key }.map { name, value in
      "attribute: \(escaped(name, and: "="))=\(escaped(value))"
    }
    return lines.joined(separator: "\n") + "\n"
  }

  static func read(_ text: String, of item: VaultItem) throws -> ItemMetadata {
    var metadata = ItemMetadata(attributes: item.metadata.ownAttributes)
    // By scalars: a carriage return and the newline behind it are one character.
    for (number, line) in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let line = Substring(line.last == "\r" ? line.dropLast() : line)
      guard !line.hasPrefix("#"), !line.allSatisfy(\.isWhitespace) else { continue }
      do throws(Failure) { try take(line, of: item, into: &metadata) } catch {
        throw Failure.usage(
          "line \(number + 1) of the form: \(error.what)", try: "\(error.cure ?? "the form"); nothing was changed")
      }
    }
    return metadata
  }

  private static func take(_ line: Substring, of item: VaultItem, into metadata: inout ItemMetadata) throws(Failure) {
    guard let colon = line.unicodeScalars.firstIndex(of: ":") else {
      throw .usage("it is not 'name: text'", try: "label, type, expires or attribute")
    }
    var value = line[line.unicodeScalars.index(after: colon)...]
    if value.unicodeScalars.first == " " { value = value[value.unicodeScalars.index(after: value.startIndex)...] }
    switch line[..<colon] {
    case "label": metadata.label = unescaped(value)
    case "type": metadata.contentType = unescaped(value)
    case "expires":
      // An expiry in the past may be there already.
      let unchanged = item.metadata.expires.map { Moment.text($0) == value } ?? false
      metadata.expires = unchanged ? item.metadata.expires : value.isEmpty ? nil : try expiry(String(value), of: item)
    case "attribute": try takeAttribute(value, into: &metadata)
    default: throw .usage("it is neither label nor type, expires or attribute", try: "one of these")
    }
  }

  private static func expiry(_ text: String, of item: VaultItem) throws(Failure) -> Date? {
    switch try Expiry(text) {
    case .at(let date): date
    case .never: nil
    case .keep: item.metadata.expires
    }
  }

  private static func takeAttribute(_ text: Substring, into metadata: inout ItemMetadata) throws(Failure) {
    var (equals, isEscaped) = (String.Index?.none, false)
    for index in text.unicodeScalars.indices where equals == nil {
      let scalar = text.unicodeScalars[index]
      if scalar == "=", !isEscaped { equals = index }
      isEscaped = scalar == "\\" && !isEscaped
    }
    guard let equals, equals != text.startIndex else {
      throw .usage("an attribute is not name=value", try: "attribute: env=production")
    }
    let name = unescaped(text[..<equals])
    try Attributes.checkFree(name)
    let value = unescaped(text[text.unicodeScalars.index(after: equals)...])
    guard metadata.attributes.updateValue(value, forKey: name) == nil else {
      throw .usage("the attribute '\(name)' is given twice", try: "one line for each name")
    }
  }

  /// By scalars, as they are read: a backslash with a combining mark is another character.
  private static func escaped(_ text: String, and special: Unicode.Scalar? = nil) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result.append(contentsOf: "\\n".unicodeScalars)
      case "\r": result.append(contentsOf: "\\r".unicodeScalars)
      case "\\", special: result.append(contentsOf: ["\\", scalar])
      default: result.append(scalar)
      }
    }
    return String(result)
  }

  private static func unescaped(_ text: Substring) -> String {
    var (result, isEscaped) = (String.UnicodeScalarView(), false)
    for scalar in text.unicodeScalars {
      if !isEscaped, scalar == "\\" {
        isEscaped = true
        continue
      }
      result.append(!isEscaped ? scalar : scalar == "n" ? "\n" : scalar == "r" ? "\r" : scalar)
      isEscaped = false
    }
    return String(result)
  }
}
