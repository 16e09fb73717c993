internal import FoundationEssentials

/// How the text of an XML file is written down.
///
/// Source: XML 1.0, appendix F, of which there is what property lists have: a byte order mark, or the name in the declaration.
enum XMLEncoding {
  private static let marks: [(bytes: [UInt8], encoding: String.Encoding)] = [
    ([0xEF, 0xBB, 0xBF], .utf8), ([0x00, 0x00, 0xFE, 0xFF], .utf32BigEndian), ([0xFF, 0xFE, 0x00, 0x00], .utf32LittleEndian),
    ([0xFE, 0xFF], .utf16BigEndian), ([0xFF, 0xFE], .utf16LittleEndian),
  ]
  private static let names: [String: String.Encoding] = [
    "utf-8": .utf8, "utf8": .utf8, "us-ascii": .utf8, "ascii": .utf8, "iso-8859-1": .isoLatin1, "latin1": .isoLatin1,
  ]

  /// `data` as UTF-8 without a mark.
  static func utf8(_ data: Data) throws(PropertyList.Failure) -> Data {
    for (mark, encoding) in marks where data.starts(with: mark) { return try utf8(data.dropFirst(mark.count), from: encoding) }
    guard let name = declaredName(data) else { return data }
    guard let encoding = names[name.lowercased()] else {
      throw PropertyList.Failure(what: "the property list is in another encoding than UTF-8, UTF-16 with its mark, or Latin 1")
    }
    return try utf8(data, from: encoding)
  }

  private static func utf8(_ data: Data, from encoding: String.Encoding) throws(PropertyList.Failure) -> Data {
    guard encoding != .utf8 else { return data }
    guard let text = String(bytes: data, encoding: encoding) else {
      throw PropertyList.Failure(what: "the property list is not in the encoding that it says")
    }
    return Data(text.utf8)
  }

  /// Bytes in which the declaration must have ended: it has three attributes of one word each.
  private static let longestDeclaration = 256

  /// The name after `encoding=` in `<?xml … ?>`.
  private static func declaredName(_ data: Data) -> String? {
    guard data.starts(with: "<?xml".utf8) else { return nil }
    let declaration = String(decoding: data.prefix(longestDeclaration), as: UTF8.self).prefix { $0 != ">" }
    guard let start = declaration.firstRange(of: "encoding=")?.upperBound, let quote = declaration[start...].first,
      quote == "\"" || quote == "'"
    else { return nil }
    return String(declaration[start...].dropFirst().prefix { $0 != quote })
  }
}
