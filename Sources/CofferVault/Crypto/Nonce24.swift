internal import CCofferSodium
internal import CofferMemory

/// The 24-byte nonce of XChaCha20-Poly1305: long enough to be drawn at random without counting messages.
struct Nonce24: Equatable, Sendable {
  private let a, b, c: UInt64

  /// For a key that seals one plaintext only.
  static let zero = Nonce24(a: 0, b: 0, c: 0)

  static func random() -> Nonce24 {
    _ = Sodium.ready
    var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    randombytes_buf(&words, 24)
    return Nonce24(a: words.0, b: words.1, c: words.2)
  }

  private init(a: UInt64, b: UInt64, c: UInt64) {
    self.a = a
    self.b = b
    self.c = c
  }

  /// Nil unless there are 24 bytes.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 24 else { return nil }
    a = bytes.loadUnaligned(as: UInt64.self)
    b = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    c = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
  }

  @inline(__always)
  func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafePointer(to: self) { (here) throws(Failure) in
      try body(UnsafeRawBufferPointer(start: here, count: 24))
    }
  }
}
