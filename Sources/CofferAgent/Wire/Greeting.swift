internal import CofferPlatform
internal import CofferStorage
internal import CofferVault

/// What a client says first: which vault it means.
struct Greeting: Sendable {
  /// The vault's path as the client has it; empty for whichever the agent holds, which only questions about the agent may do.
  var path: String
  /// The vault that must be found.
  var vault: VaultID?
  /// The oldest commit that the client accepts.
  var leastGeneration: UInt64?
}

extension FrameWriter {
  mutating func put(_ greeting: Greeting) throws(StoreError) {
    try put(greeting.path)
    try put(greeting.vault?.bytes ?? [])
    try put(greeting.leastGeneration ?? 0)
  }
}

extension FrameReader {
  mutating func greeting() throws(StoreError) -> Greeting {
    let path = try text()
    let bytes = try plainBytes(limit: 16)
    guard bytes.isEmpty || bytes.count == 16 else { throw Self.malformed("a vault's id has not 16 bytes") }
    let generation: UInt64 = try number()
    return Greeting(
      path: path, vault: bytes.isEmpty ? nil : VaultID(bytes: bytes), leastGeneration: generation == 0 ? nil : generation)
  }
}
