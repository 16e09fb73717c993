/// The number of records in a vault, as in its state, and changes by commits.
package struct RecordCounts: Hashable, Sendable {
  /// All, including previous and deleted versions.
  package var records: UInt64 = 0
  /// Current items.
  package var items: UInt64 = 0
  /// Current fields of items. With none, an item's fields need no search.
  package var fields: UInt64 = 0

  package static let none = RecordCounts()

  package init() {}

  package mutating func add(_ meta: RecordMeta) {
    records += 1
    if meta.isItem { items += 1 } else if meta.kind == .present { fields += 1 }
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    records = try reader.counter("count")
    items = try reader.counter("count of items")
    fields = try reader.counter("count of fields")
    guard items <= records, fields <= records - items else { throw reader.damaged("its counts do not add up") }
  }

  /// The records added by a commit minus the removed ones.
  package struct Change: Sendable {
    private var records = 0, items = 0, fields = 0

    package init() {}

    var isEmpty: Bool { (records, items, fields) == (0, 0, 0) }
    package var addsFields: Bool { fields > 0 }

    /// Counts an added record, or with `sign` −1 a removed one.
    package mutating func count(_ role: Role, _ sign: Int = 1) {
      records += sign
      switch role {
      case .item: items += sign
      case .field: fields += sign
      case .past: break
      }
    }

    static let bytes = 12

    func write(to out: inout ByteWriter) {
      for count in [records, items, fields] { out.write(Int32(truncatingIfNeeded: count)) }
    }

    init(changeFrom reader: inout ByteReader) throws(FormatError) {
      records = Int(Int32(bitPattern: try reader.number(UInt32.self)))
      items = Int(Int32(bitPattern: try reader.number(UInt32.self)))
      fields = Int(Int32(bitPattern: try reader.number(UInt32.self)))
    }

    package func applied(to counts: RecordCounts) -> RecordCounts {
      var next = counts
      next.records = Self.sum(counts.records, records)
      next.items = Self.sum(counts.items, items)
      next.fields = Self.sum(counts.fields, fields)
      return next
    }

    private static func sum(_ count: UInt64, _ change: Int) -> UInt64 {
      min(FileCounter.most, UInt64(clamping: Int64(clamping: count) + Int64(change)))
    }
  }

  package enum Role {
    case item, field
    /// A previous or deleted version.
    case past
  }
}

extension RecordMeta {
  package var role: RecordCounts.Role { isItem ? .item : kind == .present ? .field : .past }
}
