/// The kind of content in a record of an item or a field. The number is the format's.
package enum RecordKind: UInt8, Sendable {
  /// The content that it has.
  case present = 0
  /// A content that it had.
  case former = 1
  /// The content that it had when it was deleted, kept so that it can be brought back.
  case deleted = 2
  /// Something that a later version of the format has: it, or a higher number.
  case later = 3

  /// The table that its rows are in.
  package var table: RecordTable { self == .present ? .present : .old }
}

/// One of the two tables of records. Previous versions have a table and buckets of their own, so that reads of current ones do
/// not pay for them.
package enum RecordTable: Int, CaseIterable, Sendable {
  case present, old

  /// The buckets of its records.
  package var buckets: Range<Int> { rawValue * Self.width..<(rawValue + 1) * Self.width }

  /// The table of the records in `bucket`.
  package init(ofBucket bucket: Int) { self = bucket < Self.width ? .present : .old }

  /// The bucket of the record at `index`.
  @inline(__always)
  package func bucket(of index: RecordIndex) -> Int { index.leadingBits + (self == .present ? 0 : Self.width) }

  /// Buckets of one table: as many as ten bits tell apart.
  private static let width = 1024
}

/// Where a record stands: a row's index is a keyed hash of it.
package struct RecordAddress {
  let kind: RecordKind
  let service: String, account: String
  /// Empty for the item itself.
  let field: String
  /// Of the content; 0 for the present one, whose place is the same for all of them.
  let revision: UInt64

  package init(kind: RecordKind, service: String, account: String, field: String, revision: UInt64) {
    (self.kind, self.service, self.account, self.field, self.revision) = (kind, service, account, field, revision)
  }

  /// Where the present content of the same name stands.
  package var present: RecordAddress {
    RecordAddress(kind: .present, service: service, account: account, field: field, revision: 0)
  }

  /// Where the present content of the item stands that this is of, or of whose field.
  package var item: RecordAddress { RecordAddress(kind: .present, service: service, account: account, field: "", revision: 0) }

  package func index(_ keys: borrowing Subkeys) -> RecordIndex {
    Self.index(kind, service, account, field, revision, keys)
  }

  /// Where the record of an address stands whose parts are lent: a listing computes one for each item. All records of an item are
  /// in one bucket of their table.
  @inline(__always)
  package static func index(
    _ kind: RecordKind, _ service: String, _ account: String, _ field: String, _ revision: UInt64, _ keys: borrowing Subkeys
  ) -> RecordIndex {
    let own = hash(kind, service, account, field, revision, keys)
    guard kind != .present || !field.isEmpty else { return own }
    return own.inBucket(of: hash(.present, service, account, "", 0, keys))
  }

  /// Names are taken byte by byte, never normalized.
  @inline(__always)
  private static func hash(
    _ kind: RecordKind, _ service: String, _ account: String, _ field: String, _ revision: UInt64, _ keys: borrowing Subkeys
  ) -> RecordIndex {
    let vault = keys.vault
    return keys.withKey(.idx) { key in
      KeyedHash.block(key, .index, salt: vault) { hash in
        hash.update(kind.rawValue)
        hash.update(prefixed: service)
        hash.update(prefixed: account)
        hash.update(prefixed: field)
        hash.update(revision)
      }
    }
  }
}
