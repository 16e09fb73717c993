import CofferPlatform
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferSync
@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct SyncRecordTests {
  private let home: TestFolder
  private var pins: FilePath { home.path.appending("pins") }
  private let vault = VaultSalt([UInt8](repeating: 1, count: 16)) ?? .zero
  init() throws { home = try TestFolder("memory") }

  private func record(_ address: String = "git@host:ada/vault.git", machines: Int = 3, heads: Int = 1) -> SyncRecord {
    let replicas = (0..<machines).map { number in
      VaultState.Replica(
        id: ReplicaID([UInt8(number)] + [UInt8](repeating: 2, count: 15)) ?? .zero, generation: UInt64(number + 1),
        commit: .random())
    }
    let mark = KeyMark([UInt8](repeating: 3, count: 32)) ?? .zero
    let state = CommittedState(generation: 7, digest: PlainHash.digest([7]))
    var record = SyncRecord(
      vault: vault, address: address, key: EpochMark(epoch: 4, mark: mark), seen: VersionVector(replicas), state: state,
      synced: 1_700_000_000_000)
    record.heads = (0..<heads).map { HeadName(generation: 3, hash: PlainHash.digest([UInt8($0)])) }
    for replica in replicas.dropFirst() { (record.times[replica.id], record.names[replica.id]) = (replica.generation, "lap") }
    record.isAutomatic = heads > 0
    record.items = 214
    return record
  }

  private func files() throws -> [FilePath] {
    try FileManager.default.contentsOfDirectory(atPath: pins.string).map { pins.appending($0) }
  }

  private func kind(_ body: () throws(StoreError) -> Void) -> StoreError.Kind? {
    do throws(StoreError) {
      try body()
      return nil
    } catch {
      #expect(!error.cure.isEmpty)
      return error.kind
    }
  }

  @Test func `a remote is remembered in a private file, each in its own, and forgotten`() throws {
    #expect(try SyncRecord.read(vault, "a", in: pins) == nil)
    #expect(try SyncRecord.all(of: vault, in: pins).isEmpty)
    let (first, second) = (record(), record("/media/stick", machines: 0))
    for record in [first, second] {
      try record.write(in: pins)
      #expect(try SyncRecord.read(vault, record.address, in: pins) == record)
    }
    #expect(try SyncRecord.read(vault, "other", in: pins) == nil)
    #expect(try SyncRecord.read(.zero, first.address, in: pins) == nil)
    #expect(try SyncRecord.all(of: vault, in: pins) == [second, first])
    #expect(try SyncRecord.all(of: .zero, in: pins).isEmpty)
    let files = try files()
    #expect(files.count == 2)
    for file in files {
      #expect(file.lastComponent?.string.hasPrefix("sy-") == true)
      #expect(try Stat(file).permissions == FilePermissions(rawValue: 0o600))
    }
    #expect(try Stat(pins).permissions == FilePermissions(rawValue: 0o700))
    var later = first
    later.seen.note(PinRecord.Mark(generation: 9, commit: .random()), of: .zero)
    try later.write(in: pins)
    #expect(try SyncRecord.read(vault, first.address, in: pins) == later)
    #expect(try SyncRecord.remove(vault, first.address, in: pins))
    #expect(try !SyncRecord.remove(vault, first.address, in: pins))
    #expect(try SyncRecord.all(of: vault, in: pins) == [second])
  }

  @Test func `the largest record is read, and a larger one is not written`() throws {
    let address = String(repeating: "a", count: SyncRecord.longestAddress)
    var largest = record(address, machines: 255, heads: 64)
    for machine in largest.seen.marks.keys { largest.names[machine] = String(repeating: "n", count: 255) }
    #expect(largest.encoded().count == SyncRecord.largest)
    try largest.write(in: pins)
    #expect(try SyncRecord.read(vault, address, in: pins) == largest)
    for record in [record(address + "a"), record(machines: 256)] {
      #expect(kind { () throws(StoreError) in try record.write(in: pins) } == .refused)
    }
  }

  @Test func `a record with any changed, missing or added byte is damaged`() throws {
    let record = record()
    try record.write(in: pins)
    let file = try #require(try files().first)
    let bytes = record.encoded()
    var wrong = bytes.indices.map { at in
      var wrong = bytes
      wrong[at] ^= 1 << (at % 8)
      return wrong
    }
    wrong += [bytes + [0], bytes.dropLast(), [], Array(bytes.prefix(31)), [UInt8](repeating: 0, count: 100_000)]
    for (number, content) in wrong.enumerated() {
      try Data(content).write(to: URL(filePath: file.string))
      let read = kind { () throws(StoreError) in _ = try SyncRecord.read(vault, record.address, in: pins) }
      #expect(read == .damaged, "\(number)")
    }
    // The whole record of another remote, under this one's name.
    try Data(self.record("other").encoded()).write(to: URL(filePath: file.string))
    #expect(kind { () throws(StoreError) in _ = try SyncRecord.read(vault, record.address, in: pins) } == .damaged)
  }

  @Test func `a record or a folder that others can change is refused`() throws {
    let record = record()
    try record.write(in: pins)
    let file = try #require(try files().first)
    func refused() -> StoreError.Kind? {
      kind { () throws(StoreError) in _ = try SyncRecord.read(vault, record.address, in: pins) }
    }
    chmod(file.string, 0o640)
    #expect(refused() == .denied)
    chmod(file.string, 0o600)
    chmod(pins.string, 0o770)
    #expect(refused() == .denied)
    #expect(kind { () throws(StoreError) in try record.write(in: pins) } == .denied)
    chmod(pins.string, 0o700)
    #expect(refused() == nil)
    try FileManager.default.moveItem(atPath: file.string, toPath: file.string + ".moved")
    try FileManager.default.createSymbolicLink(atPath: file.string, withDestinationPath: file.string + ".moved")
    #expect(refused() == .denied)
  }

  @Test func `marks that no machine can have are damaged, whoever computed the checksum`() throws {
    func decoded(_ content: [UInt8]) -> Bool {
      let bytes = content + PlainHash.digest(content).bytes
      do throws(FormatError) {
        _ = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in try SyncRecord(decoding: bytes) }
        return true
      } catch { return false }
    }
    let content = Array(record("a", machines: 2).encoded().dropLast(32))
    #expect(decoded(content))
    // Behind them are their times, their names and a head.
    let first = content.count - 80 - 58 - 7
    func changed(_ at: Int, _ bytes: [UInt8]) -> [UInt8] {
      var changed = content
      changed.replaceSubrange(at..<at + bytes.count, with: bytes)
      return changed
    }
    #expect(!decoded(changed(first, Array(content[first + 40..<first + 56]))), "a machine twice")
    #expect(!decoded(changed(first + 16, [UInt8](repeating: 0, count: 8))), "generation 0")
    #expect(!decoded(changed(first + 16, [UInt8](repeating: 255, count: 8))))
    #expect(!decoded(changed(24, [UInt8](repeating: 0, count: 8))), "epoch 0")
    #expect(!decoded(changed(first - 2, [3, 0])), "more machines than there are")
    #expect(!decoded(changed(first - 2, [255, 255])))
    #expect(!decoded(changed(66, [255])), "an address that is no text")
    #expect(!decoded(changed(67, [2])), "a flag that is none")
    #expect(!decoded(changed(content.count - 42, [65])), "more heads than a memory has")
    #expect(!decoded(content + [0]))
  }
}
