internal import CofferVaultFormat

/// The order of two versions by age. Both vaults get the same answer.
extension OpenRecord {
  borrowing func isSame(as other: borrowing OpenRecord) -> Bool {
    MergeDescription(meta).isSame(as: MergeDescription(other.meta)) && valueOrder(other) == 0
  }

  /// Whether this is the earlier of two writes of one content; with equal times, the ids decide.
  borrowing func isEarlierWrite(than other: borrowing OpenRecord) -> Bool {
    if meta.isOfOneWrite(with: other.meta) { return meta.id < other.meta.id }
    return isBefore(other)
  }

  /// Whether this deleted content is that of `other`, unchanged since its value was written. The last change of a deleted
  /// content is unknown; a restoration counts as a change.
  borrowing func isDeletedValue(of other: borrowing OpenRecord) -> Bool {
    meta.written == other.meta.written && other.meta.modified == other.meta.written && isSame(as: other)
  }

  borrowing func isSameWrite(as other: borrowing OpenRecord) -> Bool {
    meta.isOfOneWrite(with: other.meta) && valueOrder(other) == 0
  }

  /// Whether a line of versions needs only one of both. A deleted content tells when its value was written, not when it was
  /// last changed.
  borrowing func isSameVersion(as other: borrowing OpenRecord) -> Bool {
    meta.isOfOneVersion(with: other.meta) && valueOrder(other) == 0
  }

  /// Orders by the date of the value, then of the version. Within one millisecond the bytes decide: value, then description.
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
        // Reveals only the order, not the position of the difference.
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
  func isOfOneVersion(with other: RecordMeta) -> Bool {
    guard kind == .deleted || other.kind == .deleted else { return isOfOneWrite(with: other) }
    return written == other.written && MergeDescription(self).isSame(as: MergeDescription(other))
  }

  func isOfOneWrite(with other: RecordMeta) -> Bool {
    written == other.written && modified == other.modified && MergeDescription(self).isSame(as: MergeDescription(other))
  }
}

private struct MergeDescription {
  private let expires: UInt64
  private let valueCount: Int?
  private let texts: [String]

  init(_ meta: RecordMeta) {
    (expires, valueCount) = (meta.expires, meta.valueCount)
    texts = [meta.label, meta.contentType] + meta.describingAttributes.flatMap { [$0.name, $0.value] }
  }

  func isSame(as other: MergeDescription) -> Bool { valueCount == other.valueCount && order(other) == 0 }

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
