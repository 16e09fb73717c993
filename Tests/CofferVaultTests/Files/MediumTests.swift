import CofferPlatform
import CofferTestSupport
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultRows

#if os(Linux)
  /// A small file system of its own, which only root can mount; without it the test is skipped.
  private final class SmallDisk {
    let folder: FilePath

    init(kibibytes: Int) throws {
      folder = FilePath("/tmp/coffer-disk-\(UInt64.random(in: .min ... .max))")
      try #require(mkdir(folder.string, 0o700) == 0)
      guard mount("tmpfs", folder.string, "tmpfs", 0, "size=\(kibibytes)k,mode=0700") == 0 else {
        let reason = String(cString: strerror(errno))
        rmdir(folder.string)
        try Test.cancel("cannot mount a small file system: \(reason)")
      }
    }

    /// A child that another test is about to start briefly holds this process's files, and keeps the medium busy.
    func remount(readOnly: Bool) -> Bool {
      eventually("the medium is mounted anew") {
        mount("tmpfs", folder.string, "tmpfs", UInt(MS_REMOUNT | (readOnly ? MS_RDONLY : 0)), nil) == 0
      }
    }

    deinit {
      umount2(folder.string, Int32(MNT_DETACH))
      rmdir(folder.string)
    }
  }

  @Suite(.enabled(if: geteuid() == 0, "mounting a small file system takes root")) struct MediumTests {
    @Test func `a full disk is named and loses nothing`() throws {
      let disk = try SmallDisk(kibibytes: 512)
      let vault = try VaultDatabase.create(at: disk.folder.appending("v")) { (database) throws(StoreError) in
        try database.putState(bytes: [1])
      }
      var written: UInt8 = 1
      var failure: StoreError?
      do throws(StoreError) {
        for number in 0..<200 {
          try vault.write { () throws(StoreError) in
            try vault.putRecord(index: .index(number), value: .repeating(1, count: 30_000))
            try vault.putState(bytes: [UInt8(number + 2)])
          }
          written = UInt8(number + 2)
        }
      } catch { failure = error }
      #expect(failure?.kind == .noSpace, "\(String(describing: failure))")
      #expect(written > 1)
      #expect(try vault.withState { $0[0] } == written)
      vault.close()
      let reopened = try VaultDatabase.open(disk.folder.appending("v"))
      #expect(try reopened.withState { $0[0] } == written)
      #expect(try reopened.connection.text("PRAGMA integrity_check") == "ok")
    }

    @Test func `creating on a full disk leaves nothing`() throws {
      let disk = try SmallDisk(kibibytes: 16)
      expectError(.noSpace) { () throws(StoreError) in _ = try VaultDatabase.create(at: disk.folder.appending("v")) { _ in } }
      #expect(try FileManager.default.contentsOfDirectory(atPath: disk.folder.string).isEmpty)
    }

    @Test func `a read only medium is read when asked for and never silently`() throws {
      let disk = try SmallDisk(kibibytes: 1024)
      let path = disk.folder.appending("v%41")
      try VaultDatabase.create(at: path) { (database) throws(StoreError) in try database.putState(bytes: [1]) }.close()
      #expect(disk.remount(readOnly: true))
      expectError(.readOnly) { () throws(StoreError) in _ = try VaultDatabase.open(path) }
      let vault = try VaultDatabase.open(path, .init(access: .readOnly))
      #expect(try vault.withState { $0[0] } == 1)
      expectError(.readOnly) { () throws(StoreError) in
        try vault.write { () throws(StoreError) in try vault.putState(bytes: [2]) }
      }
      expectError(.readOnly) { () throws(StoreError) in
        _ = try VaultDatabase.create(at: disk.folder.appending("w")) { _ in }
      }
    }

    @Test func `a backup and an export go elsewhere where nothing can be written beside the vault`() throws {
      let disk = try SmallDisk(kibibytes: 1024)
      let path = disk.folder.appending("v")
      let vault = try UnlockedVault.create(at: path, with: TemporaryVault.credentials())
      try vault.set(form("kept"), for: .sample)
      let backups = try TestFolder("backups")
      let elsewhere = backups.path
      func check(_ name: String) throws {
        let copy = elsewhere.appending(name)
        _ = try LockedVault.open(path).backup(to: copy)
        let opened = try LockedVault.open(copy).unlock(with: TemporaryVault.credentials())
        #expect(text(try opened.get(.sample)) == "kept")
        _ = try opened.lock()
        #expect(try vault.export(to: .file(elsewhere.appending("export " + name)), with: TemporaryVault.credentials()) == 1)
        let left = try FileManager.default.contentsOfDirectory(atPath: elsewhere.string).filter { $0.hasPrefix(".") }
        #expect(left.isEmpty)
      }
      let filler = disk.folder.appending("filler")
      var size = 1 << 20
      while size > 0 {
        let descriptor = open(filler.string, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        if write(descriptor, [UInt8](repeating: 1, count: size), size) < size { size /= 2 }
        close(descriptor)
      }
      try check("full")
      unlink(filler.string)
      _ = try vault.logLength()
      vault.core.close()
      #expect(disk.remount(readOnly: true))
      let copy = elsewhere.appending("read only")
      _ = try LockedVault.open(path).backup(to: copy)
      #expect(text(try LockedVault.open(copy).unlock(with: TemporaryVault.credentials()).get(.sample)) == "kept")
    }

    @Test func `a pin on a read only medium is compared with, and said to be read only where it should be written`() throws {
      let disk = try SmallDisk(kibibytes: 1024)
      let pins = disk.folder.appending("pins")
      let place = try TemporaryVault()
      let options = VaultOptions(pins: pins)
      let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), options: options)
      _ = try vault.lock()
      #expect(disk.remount(readOnly: true))
      #expect(
        kind { _ = try LockedVault.open(place.path, options: options).unlockAcceptingPin(with: TemporaryVault.credentials()) }
          == .readOnly)
      let watched = try LockedVault.open(place.path, options: options).unlock(with: TemporaryVault.credentials())
      try watched.set(form("1"), for: .sample)
      #expect(try watched.pinStatus() == .notWritten)
      #expect(try watched.core.run { (vault) throws(StoreError) in vault.view.pins?.failure?.kind } == .readOnly)
    }

    @Test func `a log on a read only medium is not left out`() throws {
      let disk = try SmallDisk(kibibytes: 1024)
      let path = disk.folder.appending("v")
      let vault = try VaultDatabase.create(at: path) { (database) throws(StoreError) in try database.putState(bytes: [1]) }
      try vault.write { () throws(StoreError) in try vault.putState(bytes: [2]) }
      // A copy of the open vault: its last commit is only in the log.
      let copy = disk.folder.appending("copy")
      for suffix in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: path.string + suffix, toPath: copy.string + suffix)
      }
      vault.close()
      #expect(disk.remount(readOnly: true))
      expectError(.readOnly) { () throws(StoreError) in _ = try VaultDatabase.open(copy, .init(access: .readOnly)) }
      #expect(disk.remount(readOnly: false))
      #expect(try VaultDatabase.open(copy, .init(access: .readOnly)).withState { $0[0] } == 2)
    }
  }
#endif
