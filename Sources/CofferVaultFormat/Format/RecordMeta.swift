internal import CofferStorage

/// The description of an item, sealed apart from the value, so a listing opens no value.
package struct RecordMeta: Hashable, Sendable {
  // The limits keep a listing of many items in memory, and a line of it on a screen.
  package static let longestName = StoredName.longest
  static let longestLabel = 1024
  /// Shorter than a name, because a field is one of several of an item and not an address.
  package static let longestField = 256
  /// Most previous versions of one record.
  package static let longestHistory: UInt8 = 100
  /// Most current fields of one item.
  package static let mostFields = 64
  /// The longest registered media types have some 80 bytes.
  static let longestContentType = 256
  static let mostAttributes = 64
  static let longestAttributeName = 256
  static let longestAttribute = 4096
  /// Of all fields but the deletion, before padding: whatever can be stored can be deleted.
  static let largest = 64 * 1024
  static let version: UInt8 = 1

  /// Names are compared and ordered by their bytes, unlike `String`.
  package struct Attribute: Hashable, Sendable {
    package let name: String
    package let value: String

    package init(name: String, value: String) {
      (self.name, self.value) = (name, value)
    }
  }

  package private(set) var kind = RecordKind.present
  /// Counts the writes under this name, from 1.
  package var revision: UInt64
  /// Identifies the record under every name and in every vault it came to.
  package var id: ItemID
  package var service: String
  package var account: String
  /// Empty for the item itself.
  package var field: String
  package var label: String
  package var contentType: String
  /// Milliseconds since 1970.
  package var created: UInt64
  /// When this content was written, or a deleted record deleted.
  package var modified: UInt64
  /// When the value was new, in milliseconds since 1970.
  package var written: UInt64
  /// When the value expires, in milliseconds since 1970; 0 for never.
  package var expires: UInt64
  /// Only 0, no condition beyond an open vault, is defined; a reader must not ignore an unknown condition.
  var access: UInt8 = 0
  /// The number of previous versions to keep.
  package var history: UInt8
  /// Bytes of the value; nil without one. Sealed here, because a value removed from its row leaves no other trace.
  package var valueCount: Int?
  /// Ascending by the bytes of the names.
  package private(set) var attributes: [Attribute]
  /// Set for a deleted record.
  package private(set) var deletion: Deletion?

  package struct Deletion: Hashable, Sendable {
    /// The deleting commit: what was deleted together comes back together.
    package let commit: CommitID
    /// When any writer may remove it, in milliseconds since 1970; 0 for never.
    package let until: UInt64

    package init(commit: CommitID, until: UInt64) {
      (self.commit, self.until) = (commit, until)
    }
  }

  /// - Parameter written: when the value was new; nil for `modified`.
  package init(
    revision: UInt64, id: ItemID = .random(), service: String, account: String, field: String = "", label: String = "",
    contentType: String = "", created: UInt64, modified: UInt64, written: UInt64? = nil, expires: UInt64 = 0, history: UInt8 = 0,
    valueCount: Int? = nil, attributes: [Attribute] = []
  ) {
    self.revision = revision
    self.id = id
    self.written = written ?? modified
    self.service = service
    self.account = account
    self.field = field
    self.label = label
    self.contentType = contentType
    self.created = created
    self.modified = modified
    self.expires = expires
    self.history = history
    self.valueCount = valueCount
    self.attributes = []
    setAttributes(attributes)
  }

  package mutating func setAttributes(_ attributes: [Attribute]) {
    self.attributes = attributes.sorted { $0.name.byteOrder($1.name) < 0 }
  }

  /// For a current or previous version.
  package mutating func become(_ kind: RecordKind) {
    precondition(kind != .deleted, "a deletion says more")
    self.kind = kind
    deletion = nil
  }

  package mutating func become(deletedAt moment: UInt64, _ deletion: Deletion) {
    kind = .deleted
    modified = moment
    self.deletion = deletion
  }

  /// Whether it describes an item's current version.
  package var isItem: Bool { kind == .present && field.isEmpty }

  package var firstKept: UInt64 { revision - min(revision - 1, UInt64(history)) }

  package func index(_ keys: borrowing Subkeys) -> RecordIndex {
    RecordAddress.index(kind, service, account, field, kind == .present ? 0 : revision, keys)
  }

  package var address: RecordAddress {
    RecordAddress(
      kind: kind, service: service, account: account, field: field, revision: kind == .present ? 0 : revision)
  }

  /// The length that stands for no value.
  private static let noValue = UInt32.max

  private static let fixedBytes = 1 + 1 + 8 + 16 + 5 * 2 + 4 * 8 + 1 + 1 + 4 + 1 + 2
  private static let deletionBytes = 16 + 8

  static let longest = largest + deletionBytes + VaultFormat.longestExtension

  var encodedCount: Int { limitedCount + deletionCount }

  /// The bytes that ``largest`` limits.
  var limitedCount: Int {
    attributes.reduce(
      Self.fixedBytes + service.utf8.count + account.utf8.count + field.utf8.count + label.utf8.count + contentType.utf8.count
    ) { $0 + 4 + $1.name.utf8.count + $1.value.utf8.count }
  }

  private var deletionCount: Int { deletion == nil ? 0 : Self.deletionBytes }

  func write(to out: inout ByteWriter) {
    out.write(Self.version)
    out.write(kind.rawValue)
    out.write(revision)
    out.write(id)
    for text in [service, account, field, label, contentType] { out.write(short: text) }
    for time in [created, modified, written, expires] { out.write(time) }
    out.write(access)
    out.write(history)
    out.write(valueCount.map { UInt32(truncatingIfNeeded: $0) } ?? Self.noValue)
    out.write(UInt8(truncatingIfNeeded: attributes.count))
    for attribute in attributes {
      out.write(short: attribute.name)
      out.write(short: attribute.value)
    }
    if let deletion {
      out.write(deletion.commit)
      out.write(deletion.until)
    }
    out.writeNoExtension()
  }
}

extension RecordMeta {
  package static let part = "record"

  /// - Parameter admitsLater: whether the vault is of a later version, which may have other kinds of records.
  package init(decoding bytes: UnsafeRawBufferPointer, admitsLater: Bool = false) throws(FormatError) {
    if admitsLater, bytes.count >= 2, bytes[0] == Self.version, bytes[1] >= RecordKind.later.rawValue {
      self = .later
      return
    }
    var added = 0
    self = try FormatError.reading(bytes, of: Self.part) { (reader) throws(FormatError) in
      try RecordMeta(from: &reader, extension: &added)
    }
    guard bytes.count - deletionCount - added <= Self.largest else {
      throw .damaged(Self.part, "its description has \(bytes.count) bytes")
    }
  }

  /// The empty description of a record of a later version's kind.
  private static let later: RecordMeta = {
    var meta = RecordMeta(revision: 1, id: .zero, service: "", account: "", created: 0, modified: 0)
    meta.kind = .later
    return meta
  }()

  private init(from reader: inout ByteReader, extension added: inout Int) throws(FormatError) {
    let version: UInt8 = try reader.number()
    guard version == Self.version else { throw reader.damaged("its description has the unknown version \(version)") }
    let number: UInt8 = try reader.number()
    guard let kind = RecordKind(rawValue: number), kind != .later else {
      throw reader.damaged("it is of the unknown kind \(number)")
    }
    self.kind = kind
    revision = try reader.counter("revision", atLeast: 1)
    id = try reader.block16()
    service = try reader.text(limit: Self.longestName, "service")
    account = try reader.text(limit: Self.longestName, "account")
    field = try reader.text(limit: Self.longestField, "field")
    label = try reader.text(limit: Self.longestLabel, "label")
    contentType = try reader.text(limit: Self.longestContentType, "content type")
    created = try reader.counter("time")
    modified = try reader.counter("time")
    written = try reader.counter("time")
    expires = try reader.counter("expiry")
    access = try reader.number()
    guard access == 0 else { throw reader.damaged("its condition of access \(access) is unknown") }
    history = try reader.number()
    guard history <= Self.longestHistory else { throw reader.damaged("it keeps \(history) previous versions") }
    valueCount = try Self.valueCount(from: &reader)
    attributes = try Self.attributes(from: &reader)
    deletion = try kind == .deleted ? Deletion(commit: reader.block16(), until: reader.counter("time")) : nil
    added = try reader.extend()
  }

  private static func valueCount(from reader: inout ByteReader) throws(FormatError) -> Int? {
    let count: UInt32 = try reader.number()
    guard count != noValue else { return nil }
    guard count <= RecordLimits.largestValue else { throw reader.damaged("it declares a value of \(count) bytes") }
    return Int(count)
  }

  private static func attributes(from reader: inout ByteReader) throws(FormatError) -> [Attribute] {
    let count = Int(try reader.number(UInt8.self))
    guard count <= mostAttributes else { throw reader.damaged("it has \(count) attributes") }
    var attributes: [Attribute] = []
    for _ in 0..<count {
      let attribute = Attribute(
        name: try reader.text(limit: longestAttributeName, "attribute name"),
        value: try reader.text(limit: longestAttribute, "attribute"))
      if let last = attributes.last, last.name.byteOrder(attribute.name) >= 0 {
        throw reader.damaged("its attributes are not in order")
      }
      attributes.append(attribute)
    }
    return attributes
  }
}
