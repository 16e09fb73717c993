package import CofferMemory

/// The key of one epoch of a vault. Nothing is sealed under it: it makes the ``Subkeys``, and slots seal it.
///
/// A rotation begins the next epoch with a new key: for a changed secret, a removed slot or a restore, and on request.
package struct VaultKey: ~Copyable, Sendable {
  static let count = 32
  let bytes: SecretBytes

  package static func random() throws(FormatError) -> VaultKey {
    VaultKey(bytes: try SecretBytes.fresh(count))
  }

  private init(bytes: consuming SecretBytes) { self.bytes = consume bytes }

  package init(opened bytes: consuming SecretBytes, part: String) throws(FormatError) {
    guard bytes.count == Self.count else { throw .damaged(part, "it holds no key of 32 bytes") }
    self.bytes = consume bytes
  }
}

/// The uses of a vault's key: to seal the header and the state, to compute a record's index and its id, to seal records, to
/// hash the set of records, and to chain the log. The name ends the derivation's label.
enum Subkey: Int, CaseIterable, Sendable {
  case hdr, sta, idx, rid, rec, set, log

  fileprivate var label: Label {
    switch self {
    case .hdr: Label("PV1 key hdr")
    case .sta: Label("PV1 key sta")
    case .idx: Label("PV1 key idx")
    case .rid: Label("PV1 key rid")
    case .rec: Label("PV1 key rec")
    case .set: Label("PV1 key set")
    case .log: Label("PV1 key log")
    }
  }
}

/// The seven keys that come from a ``VaultKey``, and the secret of its epoch, in one block of guarded memory. The vault's id
/// salts their derivation, and all their uses but a record's id.
package struct Subkeys: ~Copyable, Sendable {
  let vault: VaultSalt
  package let epochMark: EpochMark
  private let keys: SecretBytes

  private static let secretPlace = 32 * Subkey.allCases.count..<32 * Subkey.allCases.count + Lineage.secretBytes

  package init(of key: borrowing VaultKey, vault: VaultSalt, epoch: UInt64) throws(FormatError) {
    self.vault = vault
    let keys = try key.bytes.withUnsafeBytes { (key) throws(FormatError) in
      try SecretBytes(count: Self.secretPlace.upperBound, memory: FormatError.memory) { (out) throws(FormatError) in
        for use in Subkey.allCases {
          let at = 32 * use.rawValue
          KeyedHash.compute(key, use.label, salt: vault, into: out.part(at..<at + 32)) { _ in }
        }
        KeyedHash.compute(key, .epochSecret, salt: vault, into: out.part(Self.secretPlace)) { $0.update(epoch) }
      }
    }
    epochMark = keys.withUnsafeBytes { EpochMark(of: $0.part(Self.secretPlace), vault: vault, epoch: epoch) }
    self.keys = keys
  }

  /// Lends L of the key's epoch, which headers of later epochs seal.
  borrowing func withEpochSecret<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try keys.withUnsafeBytes { (all) throws(Failure) in try body(all.part(Self.secretPlace)) }
  }

  /// False in a forked child, where the keys read as zeros. Checked before each use of the vault.
  package var isIntact: Bool { keys.isIntact }

  @inline(__always)
  borrowing func withKey<Result: ~Copyable, Failure: Error>(
    _ use: Subkey, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try keys.withUnsafeBytes { (all) throws(Failure) in
      try body(all.part(32 * use.rawValue..<32 * use.rawValue + 32))
    }
  }
}

extension SecretBytes {
  static func fresh(_ count: Int) throws(FormatError) -> SecretBytes {
    do { return try SecretBytes.random(count) } catch { throw .memory(error) }
  }
}
