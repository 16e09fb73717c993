import CofferPlatform
import CofferTestSupport
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault

#if os(Linux)
  /// A small file system of its own, which takes root to mount.
  private final class SmallDisk {
    let folder: FilePath

    /// Skips the test where mounting is forbidden, as in most containers.
    init(kibibytes: Int) throws {
      folder = FilePath("/tmp/coffer-disk-\(UInt64.random(in: .min ... .max))")
      try #require(mkdir(folder.string, 0o700) == 0)
      guard mount("tmpfs", folder.string, "tmpfs", 0, "size=\(kibibytes)k,mode=0700") == 0 else {
        let reason = String(cString: strerror(errno))
        rmdir(folder.string)
        try Test.cancel("cannot mount a small file system: \(reason)")
      }
    }

    /// A child that another test is about to start has the files of this process open for a moment, and keeps the medium busy.
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

    @Test func `a log on a read only medium is not left out`() throws {
      let disk = try SmallDisk(kibibytes: 1024)
      let path = disk.folder.appending("v")
      let vault = try VaultDatabase.create(at: path) { (database) throws(StoreError) in try database.putState(bytes: [1]) }
      try vault.write { () throws(StoreError) in try vault.putState(bytes: [2]) }
      // A copy made while the vault was open: its last commit is in the log alone.
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
