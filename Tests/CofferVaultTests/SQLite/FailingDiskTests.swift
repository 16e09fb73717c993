import CCofferSQLite
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferVault
@testable import CofferVaultRows

@Suite(.serialized) struct FailingDiskTests {
  let fixture: VaultFixture
  init() throws {
    fixture = try VaultFixture()
    try fixture.create().close()
  }

  /// SQLite takes it for a damaged file (vdbe.c), and a user might restore a backup over a valid vault.
  @Test(arguments: ["WAL", "DELETE"]) func `a disk that fails while it is read is an error of the disk`(mode: String) throws {
    try fixture.attack("PRAGMA journal_mode=\(mode)")
    let below = FailingFileSystem()
    let vault = try fixture.open(.init(fileSystem: below.name))
    defer {
      vault.close()
      below.end()
    }
    try vault.write { () throws(StoreError) in try vault.putState(bytes: [6]) }
    try vault.connection.execute("PRAGMA shrink_memory")
    below.isFailing = true
    expectError(.io(EIO)) { () throws(StoreError) in _ = try vault.value(.index(0)) }
    expectError(.io(EIO)) { () throws(StoreError) in try vault.write { () throws(StoreError) in try vault.putState(bytes: [7]) } }
    #expect(fixture.openingError(.init(fileSystem: below.name))?.kind == .io(EIO))
    below.isFailing = false
    #expect(try vault.withState { $0[0] } == 6)
  }

  @Test func `what was done with a larger cache stays done where the cache cannot be made small again`() throws {
    let below = FailingFileSystem()
    let vault = try fixture.open(.init(fileSystem: below.name))
    defer {
      vault.close()
      below.end()
    }
    try vault.during(.rewriting) { () throws(StoreError) in
      try vault.write { () throws(StoreError) in try vault.putState(bytes: [6]) }
      // This drops the schema too; the next call reads it again.
      try vault.connection.execute("VACUUM")
      try vault.connection.execute("PRAGMA shrink_memory")
      below.isFailing = true
    }
    below.isFailing = false
    #expect(try vault.withState { $0[0] } == 6)
  }
}

/// The system's files under another name, with reads that fail on demand. Only one at a time.
private final class FailingFileSystem {
  private static let failing = Mutex(false)
  private nonisolated(unsafe) static var methods = {
    let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    methods.initialize(to: sqlite3_io_methods())
    return methods
  }()
  private nonisolated(unsafe) static var read = sqlite3_io_methods().xRead

  let name = "failing-\(UInt64.random(in: .min ... .max))"
  private let text: UnsafeMutablePointer<CChar>
  private let system: UnsafeMutablePointer<sqlite3_vfs>

  var isFailing: Bool {
    get { Self.failing.withLock { $0 } }
    set { Self.failing.withLock { $0 = newValue } }
  }

  init() {
    text = strdup(name)
    system = .allocate(capacity: 1)
    system.initialize(to: sqlite3_vfs_find(nil).pointee)
    system.pointee.zName = UnsafePointer(text)
    system.pointee.xOpen = { _, name, file, flags, given in
      let code = sqlite3_vfs_find(nil).pointee.xOpen(sqlite3_vfs_find(nil), name, file, flags, given)
      guard code == SQLITE_OK, let file, let found = file.pointee.pMethods else { return code }
      FailingFileSystem.methods.pointee = found.pointee
      FailingFileSystem.read = found.pointee.xRead
      FailingFileSystem.methods.pointee.xRead = { file, bytes, count, offset in
        guard !FailingFileSystem.failing.withLock({ $0 }), let read = FailingFileSystem.read else {
          errno = EIO
          // SQLITE_IOERR_CORRUPTFS, as the system's files return if a read fails with EIO.
          return SQLITE_IOERR | 33 << 8
        }
        return read(file, bytes, count, offset)
      }
      file.pointee.pMethods = UnsafePointer(FailingFileSystem.methods)
      return code
    }
    sqlite3_vfs_register(system, 0)
  }

  func end() {
    isFailing = false
    sqlite3_vfs_unregister(system)
    system.deallocate()
    free(text)
  }
}
