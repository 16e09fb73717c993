import CCofferSQLite
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultRows

@Suite struct HostileFileTests {
  let fixture: VaultFixture
  init() throws { fixture = try VaultFixture() }

  private var size: Int { FileManager.default.contents(atPath: fixture.vault.string)?.count ?? 0 }

  @Test func `nothing there is no vault`() throws {
    #expect(fixture.openingError()?.kind == .noVault)
    expectError(.noVault) { () throws(StoreError) in
      _ = try VaultDatabase.open(fixture.folder.appending("no").appending("such"))
    }
    #expect(fixture.names.isEmpty)
  }

  @Test(arguments: ["", "/", ".", "..", "/tmp/.."]) func `a path that names no file is refused`(path: String) {
    expectError(.denied) { () throws(StoreError) in _ = try VaultDatabase.open(FilePath(path)) }
  }

  @Test(arguments: [
    ([], StoreError.Kind.notAVault), ([UInt8]("hello".utf8), .notAVault), ([UInt8].repeating(65, count: 5000), .notAVault),
    ([UInt8]("SQLite format 3\0".utf8), .damaged), ([UInt8]("SQL".utf8), .notAVault),
  ])
  func `other files are told from damaged ones`(content: [UInt8], kind: StoreError.Kind) throws {
    try fixture.write(content, to: fixture.vault.string)
    #expect(fixture.openingError()?.kind == kind)
    #expect(size == content.count)
  }

  @Test func `another database is left alone`() throws {
    try fixture.attack("CREATE TABLE t (x)")
    #expect(chmod(fixture.vault.string, 0o600) == 0)
    let before = FileManager.default.contents(atPath: fixture.vault.string)
    #expect(fixture.openingError()?.kind == .notAVault)
    #expect(FileManager.default.contents(atPath: fixture.vault.string) == before)
  }

  @Test(arguments: [50, 99, 100, 4096, 10_000]) func `a truncated vault is damaged`(bytes: Int) throws {
    try fixture.create(records: 200).close()
    #expect(truncate(fixture.vault.string, bytes) == 0)
    #expect(fixture.openingError()?.kind == .damaged)
  }

  @Test(arguments: [18..<20, 100..<110]) func `an overwritten beginning is damage`(range: Range<Int>) throws {
    try fixture.create().close()
    try fixture.overwrite(range)
    #expect(fixture.openingError()?.kind == .damaged)
  }

  @Test(arguments: [0..<1, 15..<16, 0..<16]) func `a file without a database's first bytes is no vault`(range: Range<Int>) throws
  {
    try fixture.create().close()
    try fixture.overwrite(range)
    let error = fixture.openingError()
    #expect(error?.kind == .notAVault)
    #expect(error?.cure == "restore a backup")
  }

  @Test func `a symbolic link is refused`() throws {
    try fixture.create().close()
    let link = fixture.folder.appending("link")
    #expect(symlink(fixture.vault.string, link.string) == 0)
    expectError(.denied) { () throws(StoreError) in _ = try VaultDatabase.open(link) }
    expectError(.alreadyExists) { () throws(StoreError) in _ = try VaultDatabase.create(at: link) { _ in } }
  }

  @Test func `a folder that is a link is refused where others can change it, and any link of this user's is resolved`() throws {
    let real = fixture.folder.appending("real").appending("vaults")
    try VaultDatabase.create(at: real.appending("v")) { _ in }.close()
    let direct = fixture.folder.appending("direct")
    #expect(symlink(real.string, direct.string) == 0)
    #expect(try VaultDatabase.open(direct.appending("v")).path == real.appending("v"))
    let shared = fixture.folder.appending("shared")
    #expect(mkdir(shared.string, 0o700) == 0 && symlink(real.string, shared.appending("link").string) == 0)
    #expect(chmod(shared.string, 0o777) == 0)
    expectError(.denied) { () throws(StoreError) in _ = try VaultDatabase.open(shared.appending("link").appending("v")) }
    if geteuid() == 0 {
      #expect(lchown(direct.string, 65534, 65534) == 0)
      expectError(.denied) { () throws(StoreError) in _ = try VaultDatabase.open(direct.appending("v")) }
    }
    let above = fixture.folder.appending("above")
    #expect(symlink(fixture.folder.appending("real").string, above.string) == 0)
    let vault = try VaultDatabase.open(above.appending("vaults").appending("v"))
    #expect(vault.path == real.appending("v"))
  }

  @Test func `a second name is refused`() throws {
    try fixture.create().close()
    #expect(link(fixture.vault.string, fixture.folder.appending("second").string) == 0)
    #expect(fixture.openingError()?.kind == .denied)
  }

  @Test func `other kinds of files are refused without waiting`() throws {
    #expect(mkfifo(fixture.vault.string, 0o600) == 0)
    #expect(fixture.openingError()?.kind == .denied)
    #expect(unlink(fixture.vault.string) == 0)
    #expect(mkdir(fixture.vault.string, 0o700) == 0)
    #expect(fixture.openingError()?.kind == .denied)
  }

  @Test(arguments: [0o644, 0o640, 0o604, 0o660, 0o601] as [mode_t]) func `an open file is refused with its cure`(mode: mode_t)
    throws
  {
    try fixture.create().close()
    #expect(chmod(fixture.vault.string, mode) == 0)
    let error = try #require(fixture.openingError())
    #expect(error.kind == .denied)
    #expect(error.cure == "run chmod 600 \(fixture.vault)")
    #expect(try Stat(fixture.vault).permissions.rawValue == CModeT(mode))
  }

  @Test(arguments: [0o755, 0o750, 0o777, 0o1777] as [mode_t]) func `an open folder is refused with its cure`(mode: mode_t) throws
  {
    try fixture.create().close()
    #expect(chmod(fixture.folder.string, mode) == 0)
    let error = try #require(fixture.openingError())
    #expect(error.kind == .denied)
    let isShared = mode & 0o1000 != 0
    #expect(error.cure == (isShared ? "choose a path in a folder of your own" : "run chmod 700 \(fixture.folder)"))
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a file away"), arguments: ["", "-wal", "-shm", "-journal"])
  func `another user's file is refused`(suffix: String) throws {
    try fixture.create().close()
    if !suffix.isEmpty { try fixture.write([], to: fixture.side(suffix)) }
    #expect(chown(fixture.side(suffix), 65534, 65534) == 0)
    #expect(fixture.openingError()?.kind == .denied)
  }

  @Test func `two connections of one process look at the file once`() throws {
    let first = try fixture.create()
    let second = try fixture.open()
    try second.write { () throws(StoreError) in try second.putState(bytes: [6]) }
    #expect(try first.withState { $0[0] } == 6)
  }

  @Test func `a file put in the place of an open one is noticed`() throws {
    let vault = try fixture.create()
    #expect(try vault.isInPlace())
    #expect(rename(fixture.vault.string, fixture.folder.appending("away").string) == 0)
    #expect(try !vault.isInPlace())
    try fixture.write([1], to: fixture.vault.string)
    #expect(try !vault.isInPlace())
  }

  @Test(arguments: [["-wal"], ["-shm"], ["-wal", "-shm"]], [false, true])
  func `no commit is acknowledged once the log that takes it was removed, also where another one stands there`(
    removed: [String], isReplaced: Bool
  ) throws {
    let vault = try fixture.create()
    try vault.write { () throws(StoreError) in try vault.putState(bytes: [5]) }
    for suffix in removed {
      #expect(unlink(fixture.side(suffix)) == 0)
      if isReplaced { try fixture.write([], to: fixture.side(suffix)) }
    }
    for _ in 0..<2 {
      expectError(.moved) { () throws(StoreError) in try vault.write { () throws(StoreError) in try vault.putState(bytes: [6]) } }
    }
    vault.close()
    if isReplaced { #expect(removed.allSatisfy { access(fixture.side($0), F_OK) == 0 }, "what stands there is another's") }
  }

  @Test func `the log that another connection removes as it closes is not missed`() throws {
    let first = try fixture.create()
    try first.write { () throws(StoreError) in try first.putState(bytes: [5]) }
    for number in 6..<9 {
      let second = try fixture.open()
      try second.write { () throws(StoreError) in try second.putState(bytes: [UInt8(number)]) }
      second.close()
      try first.write { () throws(StoreError) in try first.putState(bytes: [UInt8(number)]) }
    }
  }

  @Test(arguments: [mode_t(0o755), 0o777, 0o770])
  func `a file that is only read may be in any folder, and nothing beside it is believed`(
    mode: mode_t
  ) throws {
    try fixture.create().close()
    #expect(chmod(fixture.folder.string, mode) == 0)
    defer { chmod(fixture.folder.string, 0o700) }
    #expect(fixture.openingError()?.kind == .denied)
    let vault = try VaultDatabase.openToRead(fixture.vault)
    #expect(vault.isUnwritableFile)
    _ = try vault.read { () throws(StoreError) in try vault.stateBytes() }
    expectError(.denied) { () throws(StoreError) in try vault.write { () throws(StoreError) in } }
    #expect(fixture.names == ["vault.sqlite"])
    vault.close()
    for suffix in SideFiles.suffixes {
      try fixture.write([], to: fixture.side(suffix))
      expectError(.denied) { () throws(StoreError) in _ = try VaultDatabase.openToRead(fixture.vault) }
      unlink(fixture.side(suffix))
    }
    #expect(chmod(fixture.vault.string, 0o644) == 0)
    expectError(.denied) { () throws(StoreError) in _ = try VaultDatabase.openToRead(fixture.vault) }
  }

  @Test func `a path with odd characters works and its cure can be run`() throws {
    let vault = fixture.folder.appending("it's 100%?#&.sqlite")
    try VaultDatabase.create(at: vault) { _ in }.close()
    try VaultDatabase.open(vault).close()
    #expect(chmod(vault.string, 0o644) == 0)
    do throws(StoreError) { _ = try VaultDatabase.open(vault) } catch {
      #expect(error.cure == "run chmod 600 '\(fixture.folder)/it'\\''s 100%?#&.sqlite'")
    }
  }
}

private typealias CModeT = CInterop.Mode

extension VaultFixture {
  func overwrite(_ range: Range<Int>) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: vault.string))
    try file.seek(toOffset: UInt64(range.lowerBound))
    try file.write(contentsOf: Data([UInt8].repeating(0xFF, count: range.count)))
    try file.close()
  }
}
