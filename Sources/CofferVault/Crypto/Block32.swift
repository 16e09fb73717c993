internal import CCofferSodium
internal import CofferMemory

/// 32 public bytes: a digest or a public key, in line as ``Block16``.
struct Block32<Role>: Hashable, Sendable {
  private let words: Words

  private struct Words: Hashable, Sendable { let a, b, c, d: UInt64 }

  /// All zeros.
  static var zero: Self { Self(Words(a: 0, b: 0, c: 0, d: 0)) }

  private init(_ words: Words) { self.words = words }

  /// Nil unless there are 32 bytes.
  @inline(__always)
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 32 else { return nil }
    words = Words(
      a: bytes.loadUnaligned(as: UInt64.self),
      b: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
      c: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
      d: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
  }

  init?(_ bytes: [UInt8]) {
    guard let block = bytes.span.bytes.withUnsafeBytes({ Self($0) }) else { return nil }
    self = block
  }

  /// The block that `fill` writes.
  @inline(__always)
  init(filling fill: (UnsafeMutableRawBufferPointer) -> Void) {
    self = .zero
    withUnsafeMutablePointer(to: &self) { fill(UnsafeMutableRawBufferPointer(start: $0, count: 32)) }
  }

  @inline(__always)
  func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafePointer(to: self) { (here) throws(Failure) in
      try body(UnsafeRawBufferPointer(start: here, count: 32))
    }
  }

  var bytes: [UInt8] { withBytes { [UInt8]($0) } }
}

extension Block32: CustomStringConvertible {
  var description: String { Hex.text(bytes) }
}

enum DigestRole {}
enum PublicKeyRole {}

/// A BLAKE2b digest of 32 bytes: of a bucket, of a header, of the log.
typealias Digest32 = Block32<DigestRole>
/// An X25519 public key.
typealias PublicKey32 = Block32<PublicKeyRole>
