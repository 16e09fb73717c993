internal import CCofferSodium
internal import CofferPlatform

/// Bytes that must not leak: a key, a passphrase, a plaintext.
///
/// They live in libsodium's guarded memory (locked against swapping if the system allows, out of core dumps, zeroed in a
/// forked child) and are wiped when the value's life ends. The type moves and never copies by itself: ``duplicate()``
/// and the parts of it are copies that a caller asks for. It has no description, no mirror and no conversion to `String`,
/// `Data` or an array, so printing it does not compile.
///
/// Source: libsodium documentation, "Secure memory".
public struct SecretBytes: ~Copyable, Sendable {
  /// The number of bytes.
  public private(set) var count: Int
  // The block is owned by this value alone and changes only through `mutating` access, so sending it is safe.
  private nonisolated(unsafe) let block: SecretArena.Block

  /// `count` zero bytes.
  ///
  /// - Throws: ``SecretMemoryError/exhausted(bytes:)``.
  public init(zeros count: Int) throws(SecretMemoryError) {
    self.count = count
    block = try SecretArena.shared.take(count)
  }

  /// `count` bytes that `fill` writes in place, so that no copy exists outside guarded memory.
  ///
  /// - Throws: errors of `fill`, or ``SecretMemoryError`` through `memory`.
  public init<Failure: Error>(
    count: Int, memory: (SecretMemoryError) -> Failure,
    fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    let made: SecretBytes
    do { made = try SecretBytes(zeros: count) } catch { throw memory(error) }
    try fill(UnsafeMutableRawBufferPointer(start: made.block.start, count: count))
    self = made
  }

  /// A copy of `bytes`. The caller still has to wipe the original.
  ///
  /// - Throws: ``SecretMemoryError/exhausted(bytes:)``.
  public init(copying bytes: UnsafeRawBufferPointer) throws(SecretMemoryError) {
    try self.init(zeros: bytes.count)
    if let source = bytes.baseAddress, bytes.count > 0 { memcpy(block.start, source, bytes.count) }
  }

  /// `count` bytes from the system's random source (`randombytes_buf`).
  ///
  /// - Throws: ``SecretMemoryError/exhausted(bytes:)``.
  public static func random(_ count: Int) throws(SecretMemoryError) -> SecretBytes {
    let made = try SecretBytes(zeros: count)
    randombytes_buf(made.block.start, count)
    return made
  }

  deinit { SecretArena.shared.give(block) }

  /// False in a forked child, where the kernel has zeroed the bytes. Check it before using a key.
  public var isIntact: Bool { block.isIntact }

  // Inlined into callers: unspecialized, lending a key costs more than hashing with it.
  @usableFromInline var lent: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: block.start, count: count) }

  /// Lends the bytes for the duration of `body`; the pointer must not outlive it.
  @inlinable
  public borrowing func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(lent)
  }

  /// Lends the bytes as a span, which the compiler keeps from outliving `body`.
  public borrowing func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: block.start, count: count).bytes)
  }

  /// Lends the bytes for writing in place.
  public mutating func withUnsafeMutableBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeMutableRawBufferPointer(start: block.start, count: count))
  }

  /// A second copy, also in guarded memory.
  ///
  /// - Throws: ``SecretMemoryError/exhausted(bytes:)``.
  public borrowing func duplicate() throws(SecretMemoryError) -> SecretBytes {
    try withUnsafeBytes { (bytes) throws(SecretMemoryError) in try SecretBytes(copying: bytes) }
  }

  /// The first `count` bytes, in their own block.
  ///
  /// - Throws: ``SecretMemoryError/exhausted(bytes:)``.
  public borrowing func prefix(_ count: Int) throws(SecretMemoryError) -> SecretBytes {
    try withUnsafeBytes { (bytes) throws(SecretMemoryError) in
      try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[..<min(count, bytes.count)]))
    }
  }

  package borrowing func suffix(_ count: Int) throws(SecretMemoryError) -> SecretBytes {
    try withUnsafeBytes { (bytes) throws(SecretMemoryError) in
      try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[max(0, bytes.count - count)...]))
    }
  }

  /// Wipes and drops all but the first `count` bytes. The block keeps its size.
  package mutating func truncate(to count: Int) {
    precondition(count >= 0 && count <= self.count, "a part is not longer than the whole")
    sodium_memzero(block.start + count, self.count - count)
    self.count = count
  }

  /// Whether both hold the same bytes, in constant time (`sodium_memcmp`); lengths are not secret.
  public borrowing func isEqual(to other: borrowing SecretBytes) -> Bool {
    guard count == other.count else { return false }
    return count == 0 || sodium_memcmp(block.start, other.block.start, count) == 0
  }
}
