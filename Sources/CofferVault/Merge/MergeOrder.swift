internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// Which of two contents is the newer one. The answer is the same whichever vault asks.
extension OpenRecord {
  /// Whether both are one value with one description, whenever they were written.
  borrowing func isSame(as other: borrowing OpenRecord) -> Bool {
    MergeDescription(meta).isSame(as: MergeDescription(other.meta)) && valueOrder(other) == 0
  }

  /// Of two writes of one content, whether this is the earlier one; where they are of one time, the ids decide.
  borrowing func isEarlierWrite(than other: borrowing OpenRecord) -> Bool {
    if meta.isOfOneWrite(with: other.meta) { return meta.id < other.meta.id }
    return isBefore(other)
  }

  /// Whether this, a deleted content, is that of `other`, to which nothing has happened since its value was written. When a
  /// deleted content was last changed is not known any more; a content that was brought back since was changed then.
  borrowing func isDeletedValue(of other: borrowing OpenRecord) -> Bool {
    meta.written == other.meta.written && other.meta.modified == other.meta.written && isSame(as: other)
  }

  /// Whether both are one content, written once.
  borrowing func isSameWrite(as other: borrowing OpenRecord) -> Bool {
    meta.isOfOneWrite(with: other.meta) && valueOrder(other) == 0
  }

  /// Whether this comes before `other`: by the date of the value, then by the date of the version. Within one millisecond the
  /// bytes decide: value, then description.
  borrowing func isBefore(_ other: borrowing OpenRecord) -> Bool {
    if meta.written != other.meta.written { return meta.written < other.meta.written }
    if meta.modified != other.meta.modified { return meta.modified < other.meta.modified }
    let order = valueOrder(other)
    return order == 0 ? MergeDescription(meta).order(MergeDescription(other.meta)) < 0 : order < 0
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
  /// Whether both are of one content, so far as the value does not tell.
  func isOfOneWrite(with other: RecordMeta) -> Bool {
    written == other.written && modified == other.modified && MergeDescription(self).isSame(as: MergeDescription(other))
  }
}

/// The description of a value; times, names and ids take no part.
private struct MergeDescription {
  private let expires: UInt64
  private let valueCount: Int?
  private let texts: [String]

  init(_ meta: RecordMeta) {
    (expires, valueCount) = (meta.expires, meta.valueCount)
    texts = [meta.label, meta.contentType] + meta.describingAttributes.flatMap { [$0.name, $0.value] }
  }

  func isSame(as other: MergeDescription) -> Bool { valueCount == other.valueCount && order(other) == 0 }

  /// Byte by byte.
  func order(_ other: MergeDescription) -> Int {
    if expires != other.expires { return expires < other.expires ? -1 : 1 }
    for (left, right) in zip(texts, other.texts) {
      let order = left.byteOrder(right)
      if order != 0 { return order }
    }
    return texts.count - other.texts.count
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func order(_ other: UnsafeRawBufferPointer) -> Int {
    for (left, right) in zip(self, other) where left != right { return left < right ? -1 : 1 }
    return count - other.count
  }
}
