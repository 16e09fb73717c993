internal import CofferStorage
internal import FoundationEssentials

/// Foundation's reader and writer would bring all of Foundation, and 34 MB of Unicode's data, into every program. They take
/// 30 µs to write a key, and crash at a damaged byte that turns a value into a set. The tests compare both, even on damaged
/// input.
enum PropertyList {
  /// The encoding found is kept.
  enum Encoding: Sendable { case xml, binary }

  struct Failure: Error { let what: String }

  /// XML writes a keyed archive's reference as a dictionary with this key and a number.
  static let referenceKey = "CF$UID"

  static func decode(_ data: Data) throws(Failure) -> (values: [String: PlainForm], encoding: Encoding) {
    let isBinary = BinaryPropertyListReader.isBinary(data)
    guard case .dictionary(let values) = try isBinary ? value(binary: data) : value(xml: data) else {
      throw Failure(what: "the property list is not a dictionary")
    }
    return (values, isBinary ? .binary : .xml)
  }

  /// The root of an XML list need not be a dictionary.
  static func value(xml data: Data) throws(Failure) -> PlainForm {
    let text = try XMLEncoding.utf8(data)
    // Nearly any text parses as the old-style format: such a file is torn or foreign.
    guard text.first(where: { !XMLPropertyListReader.isSpace($0) }) == UInt8(ascii: "<") else {
      throw Failure(what: "the file is neither an XML nor a binary property list")
    }
    return try text.bytes.withUnsafeBytes { (bytes) throws(Failure) in try XMLPropertyListReader.read(bytes) }
  }

  private static func value(binary data: Data) throws(Failure) -> PlainForm {
    try data.bytes.withUnsafeBytes { (bytes) throws(Failure) in try BinaryPropertyListReader.read(bytes) }
  }

  static func encode(_ values: [String: PlainForm], as encoding: Encoding) -> Data {
    switch encoding {
    case .xml: XMLPropertyList.encode(values)
    case .binary: BinaryPropertyListWriter.encode(values)
    }
  }
}
