extension PlainForm {
  /// A strict order of forms, for sets: by kind, then by value, with text and data byte by byte.
  func isOrdered(before other: PlainForm) -> Bool { order(other) < 0 }

  private func order(_ other: PlainForm) -> Int {
    switch (self, other) {
    case (.bool(let a), .bool(let b)): Self.order(a ? 1 : 0, b ? 1 : 0)
    case (.integer(let a), .integer(let b)): Self.order(a, b)
    case (.unsigned(let a), .unsigned(let b)): Self.order(a, b)
    case (.real(let a), .real(let b)): Self.order(a, b)
    case (.date(let a), .date(let b)): Self.order(a, b)
    case (.string(let a), .string(let b)), (.argument(let a), .argument(let b)): a.byteOrder(b)
    case (.data(let a), .data(let b)): a.lexicographicallyPrecedes(b) ? -1 : a == b ? 0 : 1
    case (.array(let a), .array(let b)): Self.order(a, b)
    case (.dictionary(let a), .dictionary(let b)): Self.order(Self.members(a), Self.members(b))
    default: rank - other.rank
    }
  }

  private static func order<Value: Comparable>(_ a: Value, _ b: Value) -> Int { a < b ? -1 : a == b ? 0 : 1 }

  // A NaN is ordered by its bits.
  private static func order(_ a: Double, _ b: Double) -> Int {
    a.isTotallyOrdered(belowOrEqualTo: b) ? (b.isTotallyOrdered(belowOrEqualTo: a) ? 0 : -1) : 1
  }

  private static func order(_ a: [PlainForm], _ b: [PlainForm]) -> Int {
    for (x, y) in zip(a, b) {
      let order = x.order(y)
      if order != 0 { return order }
    }
    return a.count - b.count
  }

  private static func members(_ forms: [String: PlainForm]) -> [PlainForm] {
    forms.sorted { $0.key.byteOrder($1.key) < 0 }.flatMap { [.string($0.key), $0.value] }
  }

  private var rank: Int {
    switch self {
    case .bool: 0
    case .integer: 1
    case .unsigned: 2
    case .real: 3
    case .string: 4
    case .date: 5
    case .data: 6
    case .array: 7
    case .dictionary: 8
    case .argument: 9
    }
  }
}
