import CofferTestSupport
import CCofferSQLite
import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultRows

@Suite(.tags(.slow), .defaultRun) struct SideFileTests {
  let fixture: VaultFixture
  let bystander: String
  init() throws {
    fixture = try VaultFixture()
    try fixture.create().close()
    bystander = fixture.folder.appending("bystander").string
    try fixture.write([1, 2, 3], to: bystander)
  }

  /// A journal that names `file` as its super-journal: name, length, checksum and magic at its end (file format, 3).
  private func journal(naming file: String) -> [UInt8] {
    let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    var bytes = magic + [UInt8].repeating(0, count: 504)
    bytes[23] = 1  // The database had one page.
    bytes[26] = 16  // Its pages have 4096 bytes, sectors 512.
    bytes[22] = 2
    let name = [UInt8](file.utf8)
    bytes += [0x40, 0, 0, 1].map { UInt8($0) } + name
    bytes += withUnsafeBytes(of: UInt32(name.count).bigEndian) { [UInt8]($0) }
    let sum = name.reduce(UInt32(0)) { $0 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1))) }
    return bytes + withUnsafeBytes(of: sum.bigEndian) { [UInt8]($0) } + magic
  }

  @Test func `a journal cannot make coffer delete the file that it names`() throws {
    try fixture.write(journal(naming: bystander), to: fixture.side("-journal"))
    #expect(fixture.openingError()?.kind == .tampered)
    #expect(fixture.openingError(.init(access: .readOnly))?.kind == .tampered)
    #expect(fixture.exists(bystander))
    #expect(fixture.exists(fixture.side("-journal")))
  }

  /// The attack works without the check, which validates the test above.
  @Test func `SQLite alone deletes it`() throws {
    try fixture.write(journal(naming: bystander), to: fixture.side("-journal"))
    var handle: OpaquePointer?
    defer { sqlite3_close(handle) }
    #expect(sqlite3_open(fixture.vault.string, &handle) == SQLITE_OK)
    _ = sqlite3_exec(handle, "SELECT * FROM state", nil, nil, nil)
    #expect(!fixture.exists(bystander))
  }

  @Test func `with a rollback journal the named file survives too even while open`() throws {
    try fixture.attack("PRAGMA journal_mode=DELETE")
    let vault = try fixture.open()
    try fixture.write(journal(naming: bystander), to: fixture.side("-journal"))
    expectError(.tampered) { () throws(StoreError) in
      _ = try vault.read { () throws(StoreError) in try vault.withState { $0[0] } }
    }
    #expect(fixture.openingError()?.kind == .tampered)
    #expect(fixture.exists(bystander))
  }

  @Test func `a vault with a log has no journal`() throws {
    try fixture.write([UInt8].repeating(1, count: 600), to: fixture.side("-journal"))
    #expect(fixture.openingError()?.kind == .tampered)
  }

  @Test(arguments: [0, 10, 28, 600]) func `a journal that says nothing is harmless`(zeros: Int) throws {
    try fixture.write([UInt8].repeating(0, count: zeros), to: fixture.side("-journal"))
    #expect(try fixture.open().withState { $0[0] } == 2)
  }

  @Test(arguments: SideFiles.suffixes) func `a side file that others can reach is refused`(suffix: String) throws {
    let side = fixture.side(suffix)
    try fixture.write([], to: side, mode: 0o644)
    #expect(fixture.openingError()?.kind == .denied)
    #expect(unlink(side) == 0 && symlink(bystander, side) == 0)
    #expect(fixture.openingError()?.kind == .denied)
    #expect(unlink(side) == 0 && link(bystander, side) == 0)
    #expect(fixture.openingError()?.kind == .denied)
    #expect(unlink(side) == 0 && mkfifo(side, 0o600) == 0)
    #expect(fixture.openingError()?.kind == .denied)
    #expect(FileManager.default.contents(atPath: bystander) == Data([1, 2, 3]))
  }

  @Test func `a log of garbage is passed over`() throws {
    try fixture.write([UInt8].repeating(0x5A, count: 9000), to: fixture.side("-wal"))
    #expect(try fixture.open().withState { $0[0] } == 2)
  }

  @Test func `a side file that goes while it is looked at is not there`() throws {
    // SQLite removes them at its last close, between the name look-up and the file's examination.
    let isOver = Atomic<Bool>(false), side = fixture.side("-shm"), ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      while !isOver.load(ordering: .relaxed) {
        close(open(side, O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
        unlink(side)
      }
      ended.signal()
    }
    defer {
      isOver.store(true, ordering: .relaxed)
      ended.wait()
    }
    for _ in 0..<4_000 { try SideFiles.check(beside: fixture.vault, usesWriteAheadLog: true) }
  }
}
