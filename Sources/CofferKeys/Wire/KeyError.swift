internal import CofferMemory
internal import CofferPlatform

extension StoreError {
  /// A key or algorithm that Coffer does not use.
  static func unusable(_ what: String) -> StoreError {
    StoreError(.unsupported, what, cure: "use an Ed25519, ECDSA or RSA key, with SHA-2")
  }

  /// For allocations of guarded memory, and parts that throw ``StoreError`` themselves.
  static func guarding<Made: ~Copyable>(_ body: () throws -> Made) throws(StoreError) -> Made {
    do { return try body() } catch let error as StoreError { throw error } catch {
      throw StoreError(
        .memory, "guarded memory ran out", cure: "free memory, or raise the process's limit (ulimit -v)", underlying: error)
    }
  }
}

extension [UInt8] {
  /// Lends the bytes to `body`.
  package func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try body(bytes) }
  }

  /// Reads all of the bytes.
  package func read<Result: ~Copyable>(
    _ body: (inout SSHReader) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try withBytes { (raw) throws(StoreError) in try SSHReader.read(raw, body) }
  }
}

/// The public bytes that `decode` finds in a text; nil without any.
func decoded(
  _ text: some StringProtocol, _ decode: (borrowing SecretBytes) throws -> SecretBytes?
) throws(StoreError) -> [UInt8]? {
  try StoreError.guarding {
    let text = try Array(text.utf8).withBytes { (raw) throws(SecretMemoryError) in try SecretBytes(copying: raw) }
    guard let bytes = try decode(text) else { return nil }
    return bytes.withUnsafeBytes { Array($0) }
  }
}

extension UnsafeRawBufferPointer {
  /// Lends the address to libsodium; false without any byte.
  func withAddress(_ body: (UnsafePointer<UInt8>) -> Bool) -> Bool { bindMemory(to: UInt8.self).baseAddress.map(body) ?? false }
}

extension SecretBytes {
  /// Reads all of the bytes.
  package borrowing func read<Result: ~Copyable>(
    _ body: (inout SSHReader) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try withUnsafeBytes { (raw) throws(StoreError) in try SSHReader.read(raw, body) }
  }

  func withAddress(_ body: (UnsafePointer<UInt8>) -> Bool) -> Bool { withUnsafeBytes { $0.withAddress(body) } }

  mutating func withMutableAddress(_ body: (UnsafeMutablePointer<UInt8>) -> Bool) -> Bool {
    withUnsafeMutableBytes { $0.bindMemory(to: UInt8.self).baseAddress.map(body) ?? false }
  }
}
