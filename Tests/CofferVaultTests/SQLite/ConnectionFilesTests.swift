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

/// Attacks on SQLite through a connection whose side files are exchanged after the check.
@Suite struct ConnectionFilesTests {
  let fixture: VaultFixture
  let bystander: String
  init() throws {
    fixture = try VaultFixture()
    try fixture.create().close()
    bystander = fixture.folder.appending("bystander").string
    try fixture.write([1, 2, 3], to: bystander)
  }

  private func content(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }

  /// Opens the database as if the journal had come right after the check of the side files.
  private func readUnchecked() throws(StoreError) -> String {
    guard let file = try DatabaseFile.existing(fixture.vault) else { return "nothing there" }
    return try Connection(file).text("SELECT hex(bytes) FROM state")
  }

  @Test(.tags(.campaign), .wholeRun, arguments: ["WAL", "DELETE"], [0, 1])
  func `a journal that comes after the check deletes nothing`(mode: String, records: Int) throws {
    try fixture.attack("PRAGMA journal_mode=\(mode)")
    let vault = content(fixture.vault.string)
    for named in [bystander, fixture.vault.string, fixture.side("-wal"), fixture.side("-other")] {
      let isThere = content(named)
      try fixture.write(FileForgeryCampaign.journal(naming: named, records: records), to: fixture.side("-journal"))
      // SQLite may look for a name of the vault's own files, but neither reads nor deletes it.
      do throws(StoreError) { _ = try readUnchecked() } catch { #expect(error.kind == .tampered, "\(named): \(error)") }
      #expect(content(named) == isThere, "\(named)")
      #expect(content(bystander) == Data([1, 2, 3]))
      #expect(content(fixture.vault.string) == vault)
      unlink(fixture.side("-journal"))
    }
    try fixture.write(FileForgeryCampaign.journal(naming: bystander, records: records), to: fixture.side("-journal"))
    expectError(.tampered) { () throws(StoreError) in _ = try readUnchecked() }
  }

  /// The journal is moved in and out while vaults are opened: the check sees none, and SQLite finds one.
  @Test(.tags(.campaign), .wholeRun) func `a journal that comes and goes deletes nothing`() throws {
    let (hidden, journal) = (fixture.folder.appending("hidden").string, fixture.side("-journal"))
    let forged = FileForgeryCampaign.journal(naming: bystander, records: 0)
    let isOver = Mutex(false)
    let ended = DispatchSemaphore(value: 0)
    let mover = Thread {
      while !isOver.withLock({ $0 }) {
        if access(hidden, F_OK) != 0 {
          _ = FileManager.default.createFile(atPath: hidden, contents: Data(forged), attributes: [.posixPermissions: 0o600])
        }
        _ = rename(hidden, journal)
        _ = rename(journal, hidden)
      }
      ended.signal()
    }
    mover.start()
    var tally = Tally()
    for round in 0..<Campaign.size(short: 40, long: 20_000) {
      let outcome: String
      do throws(StoreError) {
        let vault = try fixture.open()
        outcome = try vault.withState { $0[0] } == 2 ? "right answer" : "WRONG"
        vault.close()
      } catch { outcome = error.word }
      let survived = fixture.exists(bystander)
      tally.add(
        "opening", survived ? outcome : "BYSTANDER DELETED", allowed: ["right answer", "tampered", "busy", "io(2)"], "\(round)")
      if !survived { try fixture.write([1, 2, 3], to: bystander) }
    }
    isOver.withLock { $0 = true }
    ended.wait()
    tally.report("a journal that comes and goes")
  }

  @Test func `the files stack on another virtual file system, which is asked for the vault's files alone`() throws {
    let below = RecordingFileSystem()
    defer { below.end() }
    let vault = try fixture.open(.init(fileSystem: below.name))
    try vault.write { () throws(StoreError) in try vault.putState(bytes: [6]) }
    #expect(try vault.withState { $0[0] } == 6)
    vault.close()
    #expect(Set(below.opened) == [fixture.vault.string, fixture.side("-wal")])
    #expect(fixture.openingError(.init(fileSystem: "none of that name"))?.kind == .unsupported)
  }

  @Test func `connections leave no virtual file system behind`() throws {
    let vault = try fixture.open()
    let name = String(cString: vault.connection.files.name)
    #expect(sqlite3_vfs_find(name) != nil)
    vault.close()
    #expect(sqlite3_vfs_find(name) == nil)
  }
}

/// The system's files under another name, with a list of opened files. Only one at a time.
private final class RecordingFileSystem {
  private static let names = Mutex<[String]>([])
  let name = "recording-\(UInt64.random(in: .min ... .max))"
  private let text: UnsafeMutablePointer<CChar>
  private let system: UnsafeMutablePointer<sqlite3_vfs>

  init() {
    text = strdup(name)
    system = .allocate(capacity: 1)
    system.initialize(to: sqlite3_vfs_find(nil).pointee)
    system.pointee.zName = UnsafePointer(text)
    system.pointee.xOpen = { system, name, file, flags, given in
      if let name { RecordingFileSystem.names.withLock { $0.append(String(cString: name)) } }
      return sqlite3_vfs_find(nil).pointee.xOpen(system, name, file, flags, given)
    }
    sqlite3_vfs_register(system, 0)
  }

  var opened: [String] { Self.names.withLock { $0 } }

  func end() {
    sqlite3_vfs_unregister(system)
    system.deallocate()
    free(text)
  }
}
