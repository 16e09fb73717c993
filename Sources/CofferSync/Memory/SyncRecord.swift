package import CofferPlatform
package import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials
package import SystemPackage

/// This machine's memory of one remote of a vault: the puts seen there, and their key. It lies as `sy-…` in the folder of
/// the pins, and is believed as they are: a writer there decides about rollbacks.
package struct SyncRecord: Hashable, Sendable {
  package let vault: VaultSalt
  /// As the user gave it, without a secret: at most ``longestAddress`` bytes.
  package let address: String
  package var key: EpochMark
  package var seen: VersionVector
  /// The vault's commit and the heads there at the end of the last sync: with both as they were, nothing is to be done.
  package var commit: CommitID
  package var heads: [HeadName]

  package static let longestAddress = 4096
  /// Heads of machines that put at once; more are looked at each time.
  private static let mostHeads = 64
  package static let largest = fixedBytes + longestAddress + VaultState.mostReplicas * 40 + mostHeads * 40
  private static let fixedBytes = 8 + 16 + 8 + 32 + 2 + 2 + 16 + 2 + 32
  private static let magic: StaticString = "COFFERY1"
  private static let part = "memory of a remote"
  private static let prefix = "sy-"

  package init(
    vault: VaultSalt, address: String, key: EpochMark, seen: VersionVector, commit: CommitID, heads: [HeadName]
  ) {
    (self.vault, self.address, self.key, self.seen, self.commit) = (vault, address, key, seen, commit)
    self.heads = heads.count > Self.mostHeads ? [] : heads
  }

  // MARK: Bytes

  package func encoded() -> [UInt8] {
    let count = Self.fixedBytes - 32 + address.utf8.count + seen.byteCount - 2 + heads.count * 40
    let content = ByteWriter.bytes(count) { out in
      out.write(Self.magic)
      out.write(vault)
      out.write(key.epoch)
      out.write(key.mark)
      out.write(short: address)
      seen.write(to: &out)
      out.write(commit)
      out.write(UInt16(truncatingIfNeeded: heads.count))
      for head in heads {
        out.write(head.generation)
        out.write(head.hash)
      }
    }
    return content + PlainHash.digest(content).bytes
  }

  /// - Throws: ``FormatError/damaged(_:_:)``.
  package init(decoding bytes: UnsafeRawBufferPointer) throws(FormatError) {
    guard (32...Self.largest).contains(bytes.count) else { throw .damaged(Self.part, "it has \(bytes.count) bytes") }
    let content = bytes.part(0..<bytes.count - 32)
    guard PlainHash.digest(content) == Digest32(bytes.part(content.count..<bytes.count)) else {
      throw .damaged(Self.part, "its checksum does not fit")
    }
    self = try FormatError.reading(content, of: Self.part) { (reader) throws(FormatError) in
      try reader.expect(Self.magic)
      let vault = try reader.block16(VaultSalt.self)
      let key = EpochMark(epoch: try reader.counter("epoch", atLeast: 1), mark: try reader.block32())
      let address = try reader.text(limit: Self.longestAddress, "address")
      let seen = try VersionVector(from: &reader)
      let commit = try reader.block16(CommitID.self)
      var heads: [HeadName] = []
      for _ in 0..<(try reader.number(UInt16.self)) {
        heads.append(HeadName(generation: try reader.counter("generation", atLeast: 1), hash: try reader.block32()))
      }
      return SyncRecord(
        vault: vault, address: address, key: key, seen: seen, commit: commit, heads: heads)
    }
  }

  // MARK: Files

  /// The memory of the remote at `address`; nil if there is none.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.denied` for a folder or file that others can change, `.damaged`, `.io`.
  package static func read(_ vault: VaultSalt, _ address: String, in pins: FilePath) throws(StoreError) -> SyncRecord? {
    guard let folder = try TrustedPath.privateFolder(pins) else { return nil }
    guard let found = try read(folder.appending(name(vault, address))) else { return nil }
    guard found.vault == vault, found.address == address else { throw damaged("it is of another remote", pins) }
    return found
  }

  /// The vault's remotes, by address.
  package static func all(of vault: VaultSalt, in pins: FilePath) throws(StoreError) -> [SyncRecord] {
    guard let folder = try TrustedPath.privateFolder(pins) else { return [] }
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: folder.string) } catch {
      throw StoreError(.io(EIO), "the folder of pins cannot be listed", place: folder.string, cure: "check it", underlying: error)
    }
    let all = try names.filter { $0.hasPrefix(prefix) }.map { (name) throws(StoreError) in try read(folder.appending(name)) }
    return all.compactMap(\.self).filter { $0.vault == vault }.sorted { $0.address < $1.address }
  }

  /// Atomic and durable. The caller holds the vault's turn to sync, so that no other one writes it.
  package func write(in pins: FilePath) throws(StoreError) {
    guard address.utf8.count <= Self.longestAddress, seen.marks.count <= VaultState.mostReplicas else {
      throw StoreError(
        .tooLarge(limit: VaultState.mostReplicas), "the remote's address or its \(seen.marks.count) machines are too many bytes",
        place: address, cure: "begin the remote anew from this vault")
    }
    let file = try TrustedPath.makePrivateFolder(pins).appending(Self.name(vault, address))
    let draft = try Draft(beside: file)
    try AtomicFile(file, draft: draft.path).replace(with: encoded().span.bytes, mode: 0o600)
  }

  /// Forgets the remote: its next sync is a first one.
  package func remove(in pins: FilePath) throws(StoreError) {
    guard let folder = try TrustedPath.privateFolder(pins) else { return }
    let file = folder.appending(Self.name(vault, address))
    let code = file.withPlatformString { unlink($0) == 0 ? 0 : errno }
    guard code == 0 || code == ENOENT else { throw StoreError(errno: code, "remove the memory of a remote", place: file) }
    try AtomicFile.synchronizeFolder(of: file, SystemCalls())
  }

  private static func read(_ file: FilePath) throws(StoreError) -> SyncRecord? {
    guard try TrustedPath.privateFile(file) != nil else { return nil }
    // Not absent: that would be a first sync, which refuses no older copy.
    guard let bytes = try PieceFolder.read(file, limit: largest) else { throw damaged("it is too large", file) }
    do throws(FormatError) {
      return try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in try SyncRecord(decoding: bytes) }
    } catch {
      guard case .damaged(_, let why) = error else { throw error.storeError(place: file.string) }
      throw damaged(why, file)
    }
  }

  private static func damaged(_ why: String, _ place: FilePath) -> StoreError {
    StoreError(
      .damaged, "this machine's memory of a remote is unreadable, so an older copy there would not be noticed: \(why)",
      place: place.string, cure: "check that the remote has the newest items, then forget it and sync as if for the first time")
  }

  /// An address may be too long for a file name.
  static func digits(_ vault: VaultSalt, _ address: String) -> String {
    Hex.text(PlainHash.digest(vault.bytes + address.utf8).bytes.prefix(16))
  }

  private static func name(_ vault: VaultSalt, _ address: String) -> String { prefix + digits(vault, address) }
}
