internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage

/// Which of two contents is the newer one. The answer is the same whichever vault asks.
extension OpenRecord {
  /// Whether both are one value with one description, whenever they were written.
  borrowing func isSame(as other: borrowing OpenRecord) -> Bool {
    meta.describes(like: other.meta) && valueOrder(other) == 0
  }

  /// Whether both are one content, written once.
  borrowing func isSameWrite(as other: borrowing OpenRecord) -> Bool {
    meta.isOfOneWrite(with: other.meta) && valueOrder(other) == 0
  }

  /// Whether this comes before `other`: by when the value was new, then by when the content was written. Of what was written in one millisecond,
  /// the bytes decide: value, then description.
  borrowing func isBefore(_ other: borrowing OpenRecord) -> Bool {
    if meta.written != other.meta.written { return meta.written < other.meta.written }
    if meta.modified != other.meta.modified { return meta.modified < other.meta.modified }
    let order = valueOrder(other)
    return order == 0 ? meta.descriptionOrder(other.meta) < 0 : order < 0
  }

  private borrowing func valueOrder(_ other: borrowing OpenRecord) -> Int {
    switch value {
    case .some(let own):
      switch other.value {
      case .some(let value):
        // Nothing is told of where they differ but which one stays.
        guard !own.isEqual(to: value) else { return 0 }
        return own.withUnsafeBytes { own in value.withUnsafeBytes { own.order($0) } }
      case .none: return 1
      }
    case .none:
      switch other.value {
      case .some: return -1
      case .none: return 0
      }
    }
  }
}

extension RecordMeta {
  /// Whether both say the same of their values.
  func describes(like other: RecordMeta) -> Bool { valueCount == other.valueCount && descriptionOrder(other) == 0 }

  /// Whether both are of one content, so far as the value does not tell.
  func isOfOneWrite(with other: RecordMeta) -> Bool {
    written == other.written && modified == other.modified && describes(like: other)
  }

  /// Byte by byte; times, names and ids take no part.
  fileprivate func descriptionOrder(_ other: RecordMeta) -> Int {
    if expires != other.expires { return expires < other.expires ? -1 : 1 }
    let (own, others) = (descriptionTexts, other.descriptionTexts)
    for (left, right) in zip(own, others) {
      let order = left.byteOrder(right)
      if order != 0 { return order }
    }
    return own.count - others.count
  }

  private var descriptionTexts: [String] { [label, contentType] + describingAttributes.flatMap { [$0.name, $0.value] } }
}

extension UnsafeRawBufferPointer {
  fileprivate func order(_ other: UnsafeRawBufferPointer) -> Int {
    for (left, right) in zip(self, other) where left != right { return left < right ? -1 : 1 }
    return count - other.count
  }
}
