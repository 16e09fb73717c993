package import CofferClient
package import CofferMemory
package import CofferPlatform
internal import SystemPackage

/// Messages in guarded memory, read and written with the errors of stores.
package typealias FrameReader = WireReader<StoreError>
package typealias FrameWriter = WireWriter<SecretBytes>
typealias Frame = WireFrame<SecretBytes>

extension SecretBytes: WireMemory {
  package typealias WireFailure = StoreError
  package static func zeros(_ count: Int) throws(StoreError) -> SecretBytes {
    do throws(SecretMemoryError) { return try SecretBytes(zeros: count) } catch { throw StoreError(memory: error) }
  }

  /// A copy within guarded memory.
  package static func copy(of raw: UnsafeRawBufferPointer) throws(StoreError) -> SecretBytes {
    do throws(SecretMemoryError) { return try SecretBytes(copying: raw) } catch { throw StoreError(memory: error) }
  }
}

extension StoreError: WireFailure {
  package static func system(_ code: Int32, _ doing: String, place: String) -> StoreError {
    StoreError(errno: code, doing, place: FilePath(place))
  }
}

extension LocalSocket {
  /// Receives into guarded memory.
  func receive(begins patience: Duration, whole: Duration) throws(TransportFailure) -> Arrival<SecretBytes> {
    try receive(into: SecretBytes.self, begins: patience, whole: whole)
  }
}

extension FrameWriter {
  /// A length and the secret, copied within guarded memory.
  mutating func put(_ secret: borrowing SecretBytes) throws(StoreError) {
    try secret.withUnsafeBytes { (raw) throws(StoreError) in try put(prefixed: raw) }
  }
}

extension FrameReader {
  /// A secret, copied within guarded memory.
  mutating func secret() throws(StoreError) -> SecretBytes {
    try withPrefixed { (raw) throws(StoreError) in try .copy(of: raw) }
  }
}
