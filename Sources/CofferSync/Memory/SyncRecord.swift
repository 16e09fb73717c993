package import CofferPlatform
package import CofferVault
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
  /// The times of puts in ``seen``, by their writers' clocks; none of a put whose head was never here.
  package var times: [ReplicaID: UInt64] = [:]
  /// The names of the machines in ``seen``, for people: each at most ``longestName`` bytes.
  package var names: [ReplicaID: String] = [:]
  /// The vault at the end of the last sync.
  package var state: CommittedState
  /// The head there that equals it, then the others. With the vault as it was and no other head there, nothing is to be done.
  package var heads: [HeadName] = [] {
    didSet { if heads.count > Self.mostHeads { heads = [] } }
  }
  /// The time of the last sync, in milliseconds since 1970.
  package var synced: UInt64
  /// The number of items in the head that equals the vault.
  package var items: UInt64 = 0
  /// Whether the agent syncs unasked.
  package var isAutomatic = false

  package static let longestAddress = 4096
  /// Heads of machines that put at once; more are looked at each time.
  private static let mostHeads = 64
  /// A machine with a longer name is shown by its id.
  private static let longestName = 255
  package static let largest =
    fixedBytes + longestAddress + VaultState.mostReplicas * (48 + 2 + longestName) + mostHeads * 40
  private static let fixedBytes = 8 + 16 + 8 + 32 + 2 + 1 + 8 + 8 + 8 + 32 + 2 + 2 + 32
  private static let magic: StaticString = "COFFERY1"
  private static let part = "memory of a remote"
  private static let prefix = "sy-"

  package init(
    vault: VaultSalt, address: String, key: EpochMark, seen: VersionVector, state: CommittedState, synced: UInt64
  ) {
    (self.vault, self.address, self.key, self.seen) = (vault, address, key, seen)
    (self.state, self.synced) = (state, synced)
  }

  /// Whether nothing has changed since the last sync. Another machine may have removed heads that the first one dominates.
  func isOf(_ state: CommittedState, _ found: [HeadName]) -> Bool {
    guard state == self.state, let newest = heads.first, found.contains(newest) else { return false }
    return Set(found).isSubset(of: heads)
  }

  // MARK: Bytes

  package func encoded() -> [UInt8] {
    let titles: [String] = seen.replicas.map { replica in
      let name = names[replica.id] ?? ""
      return name.utf8.count > Self.longestName ? "" : name
    }
    var count = Self.fixedBytes - 32 + address.utf8.count + seen.byteCount - 2 + seen.marks.count * 8 + heads.count * 40
    for title in titles { count += 2 + title.utf8.count }
    let content = ByteWriter.bytes(count) { out in
      out.write(Self.magic)
      out.write(vault)
      out.write(key.epoch)
      out.write(key.mark)
      out.write(short: address)
      out.write(UInt8(isAutomatic ? 1 : 0))
      out.write(synced)
      out.write(items)
      out.write(state.generation)
      out.write(state.digest)
      seen.write(to: &out)
      for replica in seen.replicas { out.write(times[replica.id] ?? 0) }
      for title in titles { out.write(short: title) }
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
    self = try FormatError.reading(content, of: Self.part) { (reader) throws(FormatError) in try SyncRecord(from: &reader) }
  }

  private init(from reader: inout ByteReader) throws(FormatError) {
    try reader.expect(Self.magic)
    vault = try reader.block16()
    key = EpochMark(epoch: try reader.counter("epoch", atLeast: 1), mark: try reader.block32())
    address = try reader.text(limit: Self.longestAddress, "address")
    let flags: UInt8 = try reader.number()
    guard flags <= 1 else { throw reader.damaged("it has the flags \(flags)") }
    isAutomatic = flags == 1
    synced = try reader.counter("time")
    items = try reader.counter("count of items")
    state = CommittedState(generation: try reader.counter("generation", atLeast: 1), digest: try reader.block32())
    seen = try VersionVector(from: &reader)
    for replica in seen.replicas {
      let time = try reader.counter("time")
      if time > 0 { times[replica.id] = time }
    }
    for replica in seen.replicas {
      let name = try reader.text(limit: Self.longestName, "name")
      if !name.isEmpty { names[replica.id] = name }
    }
    let count: UInt16 = try reader.number()
    guard count <= Self.mostHeads else { throw reader.damaged("it names \(count) heads") }
    for _ in 0..<count {
      heads.append(HeadName(generation: try reader.counter("generation", atLeast: 1), hash: try reader.block32()))
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
    let files = names.filter { $0.hasPrefix(prefix) && !$0.hasSuffix(lockEnd) }
    let all = try files.map { (name) throws(StoreError) in try read(folder.appending(name)) }
    return all.compactMap(\.self).filter { $0.vault == vault }.sorted { $0.address < $1.address }
  }

  /// Atomic and durable. The caller holds the vault's turn to sync, so that no other one writes it.
  package func write(in pins: FilePath) throws(StoreError) {
    guard address.utf8.count <= Self.longestAddress, seen.marks.count <= VaultState.mostReplicas else {
      throw StoreError(
        .refused, "the remote's address or its \(seen.marks.count) machines are too many bytes",
        place: address, cure: "begin the remote anew from this vault")
    }
    let file = try TrustedPath.makePrivateFolder(pins).appending(Self.name(vault, address))
    let draft = try Draft(beside: file)
    try AtomicFile(file, draft: draft.path).replace(with: encoded().span.bytes, mode: 0o600)
  }

  /// Forgets a remote, also one whose memory is unreadable: its next sync is a first one.
  ///
  /// - Returns: whether it was remembered.
  package static func remove(_ vault: VaultSalt, _ address: String, in pins: FilePath) throws(StoreError) -> Bool {
    guard let folder = try TrustedPath.privateFolder(pins) else { return false }
    let file = folder.appending(name(vault, address))
    let code = file.withPlatformString { unlink($0) == 0 ? 0 : errno }
    guard code == 0 || code == ENOENT else { throw StoreError(errno: code, "remove the memory of a remote", place: file) }
    try AtomicFile.synchronizeFolder(of: file, SystemCalls())
    return code == 0
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
  static func digits(of address: String, _ vault: VaultSalt? = nil) -> String {
    Hex.text(PlainHash.digest((vault?.bytes ?? []) + address.utf8).bytes.prefix(16))
  }

  private static let lockEnd = ".lock"

  /// The name of the file that two syncs of a vault lock by turns.
  static func lockName(_ vault: VaultID) -> String { "\(prefix)\(vault)\(lockEnd)" }

  private static func name(_ vault: VaultSalt, _ address: String) -> String { prefix + digits(of: address, vault) }
}
