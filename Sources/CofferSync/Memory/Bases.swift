internal import CofferPlatform
internal import CofferVault
internal import CofferVaultFormat
internal import CofferVaultRows
internal import SystemPackage

/// The content that this machine and each of the last heads agreed on, for all remotes of a vault. It lies as `sb-…` in the
/// folder of the pins, and is believed as they are.
///
/// The machine is the replica in the vault's pin; another copy of the vault in this home is another one. A restore, a repair or
/// an acceptance of another history gives the pin another replica, and so ends the bases: an old backup must not undo the
/// changes of other machines.
struct Bases {
  struct Base {
    let vector: VersionVector
    /// The commit that took the head over: the base counts once the vault's log has it. Nil for one that counts.
    var commit: CommitID?
    let content: MergeBase
  }

  /// A machine that was away for this many agreements of others is merged without a base.
  private static let most = 16
  /// 24 bytes each. A remote that is seldom reached, such as a stick, has an old one.
  private static let mostPuts = 1_024
  /// A million records with four versions of each.
  private static let largest = 1 << 30
  private static let magic: StaticString = "COFFERY2"
  private static let part = "memory of agreements"

  let vault: VaultSalt, machine: ReplicaID
  /// The newest first.
  private var list: [Base] = []
  /// This machine's last puts with all remotes, ascending, also those whose answer is lost.
  private var puts: [PinRecord.Mark] = []

  /// The puts of all machines that are in this vault.
  var known: VersionVector { list.first?.vector ?? VersionVector() }
  var newest: MergeBase? { list.first?.content }

  /// The newest base that a head with `vector` has all of.
  func base(of vector: VersionVector) -> MergeBase? { list.first { $0.vector.isCovered(by: vector) }?.content }

  /// The content of the head with just this vector.
  func content(at vector: VersionVector) -> MergeBase? { list.first { $0.vector == vector }?.content }

  /// No put of this machine has a generation twice, also if nothing of an earlier one lies anywhere.
  var lastPut: UInt64 { puts.last?.generation ?? 0 }

  /// Whether a vector's entry for this machine is none of its puts: a copy of its home has made that.
  /// Of one before all that are noted, nobody can tell.
  func isForeign(_ vector: VersionVector) -> Bool {
    guard let mark = vector.marks[machine], !puts.contains(mark) else { return false }
    return puts.count < Self.mostPuts || mark.generation >= puts[0].generation
  }

  /// Notes a put before it is made.
  mutating func note(put: PinRecord.Mark) { puts = (puts + [put]).suffix(Self.mostPuts) }

  mutating func note(_ content: MergeBase, _ vector: VersionVector, by commit: CommitID? = nil) {
    list.insert(Base(vector: vector, commit: commit, content: content), at: 0)
    if list.count > Self.most { list.removeLast() }
  }

  // MARK: Bytes

  private func encoded() -> [UInt8] {
    var newer: MergeBase?
    var content = ByteWriter.bytes(8 + 16 + 16 + 2 + puts.count * 24) { out in
      out.write(Self.magic)
      out.write(vault)
      out.write(machine)
      out.write(UInt16(truncatingIfNeeded: puts.count))
      for put in puts {
        out.write(put.generation)
        out.write(put.commit)
      }
    }
    for base in list {
      let bytes = base.content.encoded(after: newer)
      content += ByteWriter.bytes(base.vector.byteCount + 16 + 4) { out in
        base.vector.write(to: &out)
        out.write(base.commit ?? .zero)
        out.write(UInt32(truncatingIfNeeded: bytes.count))
      }
      content += bytes
      newer = base.content
    }
    return content + PlainHash.digest(content).bytes
  }

  private init(vault: VaultSalt, machine: ReplicaID) { (self.vault, self.machine) = (vault, machine) }

  private init(decoding bytes: [UInt8]) throws(FormatError) {
    self = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in
      guard bytes.count >= 32 else { throw .damaged(Self.part, "it has \(bytes.count) bytes") }
      let content = bytes.part(0..<bytes.count - 32)
      guard PlainHash.digest(content) == Digest32(bytes.part(content.count..<bytes.count)) else {
        throw .damaged(Self.part, "its checksum does not fit")
      }
      return try FormatError.reading(content, of: Self.part) { (reader) throws(FormatError) in try Bases(from: &reader) }
    }
  }

  private init(from reader: inout ByteReader) throws(FormatError) {
    try reader.expect(Self.magic)
    self.init(vault: try reader.block16(), machine: try reader.block16())
    for _ in 0..<(try reader.number(UInt16.self)) {
      puts.append(PinRecord.Mark(generation: try reader.counter("generation", atLeast: 1), commit: try reader.block16()))
    }
    var newer: MergeBase?
    while reader.remaining > 0 {
      let vector = try VersionVector(from: &reader)
      let commit = try reader.block16(CommitID.self)
      let content = try MergeBase(decoding: [UInt8](reader.prefixed(limit: Self.largest, "base")), after: newer)
      list.append(Base(vector: vector, commit: commit == .zero ? nil : commit, content: content))
      newer = content
    }
  }

  // MARK: Files

  /// None on a machine that has not synced `vault`, or whose pin has begun anew since.
  ///
  /// - Throws: `.incomplete` for a vault that is opened without pins, `.denied`, `.damaged`, `.io`.
  static func read(_ vault: VaultSalt, in pins: FilePath, for open: borrowing UnlockedVault) throws(StoreError) -> Bases {
    let machine = try HeadVault.replica(of: open)
    let file = pins.appending(name(machine))
    guard try TrustedPath.privateFolder(pins) != nil, try TrustedPath.privateFile(file) != nil,
      let bytes = try PieceFolder.read(file, limit: largest)
    else { return Bases(vault: vault, machine: machine) }
    var bases: Bases
    do throws(FormatError) { bases = try Bases(decoding: bytes) } catch {
      throw StoreError(
        .damaged, "the memory of agreements with other machines is unreadable", place: file.string,
        cure: "remove the file: the next sync then asks the clocks where two machines changed an item")
    }
    guard bases.vault == vault, bases.machine == machine else { return Bases(vault: vault, machine: machine) }
    let waiting = Set(bases.list.compactMap(\.commit))
    if !waiting.isEmpty {
      let made = try HeadVault.commits(of: open, among: waiting)
      bases.list.removeAll { $0.commit.map { !made.contains($0) } ?? false }
      for place in bases.list.indices { bases.list[place].commit = nil }
    }
    return bases
  }

  /// Atomic and durable.
  func write(in pins: FilePath) throws(StoreError) {
    let file = try TrustedPath.makePrivateFolder(pins).appending(Self.name(machine))
    let draft = try Draft(beside: file)
    try AtomicFile(file, draft: draft.path).replace(with: encoded().span.bytes, mode: 0o600)
  }

  private static func name(_ machine: ReplicaID) -> String { "sb-\(machine)" }
}
