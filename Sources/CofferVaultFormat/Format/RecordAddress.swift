/// The kind of a record's content. The numbers are the format's.
package enum RecordKind: UInt8, Sendable {
  case present = 0
  case former = 1
  /// The version at its deletion, kept for restoring.
  case deleted = 2
  /// This or a higher number is a kind of a later version of the format.
  case later = 3

  package var table: RecordTable { self == .present ? .present : .old }
}

/// Previous versions have their own table and buckets, so reads of current ones do not pay for them.
package enum RecordTable: Int, CaseIterable, Sendable {
  case present, old

  package var buckets: Range<Int> { rawValue * Self.width..<(rawValue + 1) * Self.width }

  package init(ofBucket bucket: Int) { self = bucket < Self.width ? .present : .old }

  @inline(__always)
  package func bucket(of index: RecordIndex) -> Int { index.leadingBits + (self == .present ? 0 : Self.width) }

  /// Buckets of one table, told apart by ten bits.
  private static let width = 1024
}

/// The address of a record; a row's index is a keyed hash of it.
package struct RecordAddress {
  let kind: RecordKind
  let service: String, account: String
  /// Empty for the item itself.
  let field: String
  /// The version's revision; 0 for the current version, whose place never changes.
  let revision: UInt64

  package init(kind: RecordKind, service: String, account: String, field: String, revision: UInt64) {
    (self.kind, self.service, self.account, self.field, self.revision) = (kind, service, account, field, revision)
  }

  package var present: RecordAddress {
    RecordAddress(kind: .present, service: service, account: account, field: field, revision: 0)
  }

  package var item: RecordAddress { RecordAddress(kind: .present, service: service, account: account, field: "", revision: 0) }

  package func index(_ keys: borrowing Subkeys) -> RecordIndex {
    Self.index(kind, service, account, field, revision, keys)
  }

  /// Takes parts instead of an address, because a listing computes one index per item. All records of an item are in one
  /// bucket of their table.
  @inline(__always)
  package static func index(
    _ kind: RecordKind, _ service: String, _ account: String, _ field: String, _ revision: UInt64, _ keys: borrowing Subkeys
  ) -> RecordIndex {
    let own = hash(kind, service, account, field, revision, keys)
    guard kind != .present || !field.isEmpty else { return own }
    return own.inBucket(of: hash(.present, service, account, "", 0, keys))
  }

  /// Names are hashed byte by byte, never normalized.
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
