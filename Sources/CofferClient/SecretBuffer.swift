/// A secret: bytes that are wiped when the last reference to them ends.
///
/// They are left out of core dumps, and zeroed in a forked child. If `RLIMIT_MEMLOCK` permits, they are locked against
/// swapping: see ``isLocked``. The bytes never change, and no description shows them.
public final class SecretBuffer: Sendable {
  /// The number of bytes.
  public let count: Int
  /// Whether the bytes cannot reach the swap.
  public let isLocked: Bool
  // Written only before the buffer is shared.
  private nonisolated(unsafe) let base: UnsafeMutableRawPointer

  private init(zeros count: Int) throws(ClientError) {
    var isLocked = false
    guard let base = coffer_map_secret(count, &isLocked) else {
      throw ClientError(WireError(code: 47, "no memory for a secret of \(count) bytes", cure: "free some memory"))
    }
    (self.count, self.base, self.isLocked) = (count, base, isLocked)
  }

  /// A copy of `bytes`. The caller must still wipe the original.
  ///
  /// - Throws: ``ClientError/Kind/memory``.
  public convenience init(copying bytes: UnsafeRawBufferPointer) throws(ClientError) {
    try self.init(zeros: bytes.count)
    if !bytes.isEmpty { lent.copyMemory(from: bytes) }
  }

  /// A copy of the bytes of `span`.
  ///
  /// - Throws: ``ClientError/Kind/memory``.
  public convenience init(copying span: RawSpan) throws(ClientError) {
    try self.init(zeros: span.byteCount)
    if count > 0 { span.withUnsafeBytes { lent.copyMemory(from: $0) } }
  }

  /// The UTF-8 of `text`. The bytes of `text` itself are not wiped.
  ///
  /// - Throws: ``ClientError/Kind/memory``.
  public convenience init(_ text: String) throws(ClientError) { try self.init(copying: text.utf8Span.span.bytes) }

  deinit { coffer_unmap_secret(base, count) }

  private var lent: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: base, count: count) }

  /// False in a forked child, where the kernel has zeroed the bytes.
  public var isIntact: Bool { coffer_secret_is_intact(base, count) }

  /// Lends the bytes as a span, which the compiler keeps from outliving `body`.
  public func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(lent).bytes)
  }

  /// Lends the bytes for the duration of `body`; the pointer must not outlive it.
  public func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(lent))
  }

  /// The secret as text, which is never wiped; nil if it is not UTF-8.
  public func text() -> String? { withUnsafeBytes { String(validating: $0, as: UTF8.self) } }
}

extension SecretBuffer: CustomStringConvertible, CustomReflectable {
  /// Shows neither the secret nor its length.
  public var description: String { "<secret>" }
  /// Empty, so that `dump` shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretBuffer: WireMemory {
  package typealias WireFailure = ClientError
  package static func zeros(_ count: Int) throws(ClientError) -> SecretBuffer { try SecretBuffer(zeros: count) }
  package func withUnsafeMutableBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(lent)
  }
}
