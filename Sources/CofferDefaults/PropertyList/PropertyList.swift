internal import CofferStorage
internal import FoundationEssentials

/// The bytes of a property list and the values in them.
///
/// Foundation has a reader and a writer, which would bring all of it, and 34 MB of Unicode's data, into every program, take 30 µs
/// to write a key, and end the process at a damaged byte that makes a value a set. These read and write the same: the tests hold
/// them against Foundation's, with damage too.
enum PropertyList {
  /// How a list is written down. The one found is kept.
  enum Encoding: Sendable { case xml, binary }

  /// Why bytes are no list of ours: a clause for an error.
  struct Failure: Error { let what: String }

  /// What XML has for a reference inside of a keyed archive: a dictionary with this key and a number.
  static let referenceKey = "CF$UID"

  /// The values in `data`.
  static func decode(_ data: Data) throws(Failure) -> (values: [String: PlainForm], encoding: Encoding) {
    let isBinary = BinaryPropertyListReader.isBinary(data)
    guard case .dictionary(let values) = try isBinary ? value(binary: data) : value(xml: data) else {
      throw Failure(what: "the property list is not a dictionary")
    }
    return (values, isBinary ? .binary : .xml)
  }

  /// The value at the root of an XML list, which need not be a dictionary.
  static func value(xml data: Data) throws(Failure) -> PlainForm {
    let text = try XMLEncoding.utf8(data)
    // The old-style format is text that nearly anything parses as: a torn or foreign file, not preferences.
    guard text.first(where: { !XMLPropertyListReader.isSpace($0) }) == UInt8(ascii: "<") else {
      throw Failure(what: "the file is neither an XML nor a binary property list")
    }
    return try text.bytes.withUnsafeBytes { (bytes) throws(Failure) in try XMLPropertyListReader.read(bytes) }
  }

  private static func value(binary data: Data) throws(Failure) -> PlainForm {
    try data.bytes.withUnsafeBytes { (bytes) throws(Failure) in try BinaryPropertyListReader.read(bytes) }
  }

  /// The list of `values` as bytes.
  static func encode(_ values: [String: PlainForm], as encoding: Encoding) -> Data {
    switch encoding {
    case .xml: XMLPropertyList.encode(values)
    case .binary: BinaryPropertyListWriter.encode(values)
    }
  }
}
