internal import CofferPlatform
internal import CofferStorage

/// The tables of one row.
extension VaultDatabase {
  /// Which of the two equal copies of the header.
  enum HeaderCopy {
    /// Row 1 of `header`.
    case first
    /// Row 2 of `header_copy`, for when the first is damaged.
    case second
  }

  /// Bytes in a header, at most.
  static let longestHeader = VaultHeader.largest
  /// Lends the header to `body`; nil when there is no such row.
  func withHeader<Result: ~Copyable>(
    _ copy: HeaderCopy, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    try statement(copy == .first ? .header : .headerCopy).first { row throws(StoreError) in
      try body(row.blob(0, 1...Self.longestHeader))
    }
  }

  /// Stores one copy of the header. A commit stores both.
  func putHeader(_ copy: HeaderCopy, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    try put(copy == .first ? .putHeader : .putHeaderCopy, bytes)
  }

  /// Lends the state to `body`; nil when there is no such row.
  func withState<Result: ~Copyable>(
    _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    try statement(.state).first { row throws(StoreError) in try body(row.blob(0, 1...VaultState.largest)) }
  }

  /// Stores the state.
  func putState(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    try put(.putState, bytes)
    writtenState = [UInt8](bytes)
  }

  private func put(_ query: Query, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    let statement = try statement(query)
    try statement.bind(lending: bytes, at: 1)
    try statement.execute()
  }
}
