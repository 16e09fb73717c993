import CofferTestSupport
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite(.tags(.root, .kill, .process), .defaultRun)
struct UnwritableCampaign {
  private static let name = ItemName(sealed: "svc", "a")

  private func created(_ folder: FilePath, _ pins: FilePath) throws -> FilePath {
    let path = folder.appending("vault.sqlite")
    let vault = try UnlockedVault.create(at: path, with: TemporaryVault.credentials(), options: VaultOptions(pins: pins))
    try vault.set(form("value"), for: Self.name)
    _ = try vault.lock()
    return path
  }

  private func unlock(_ path: FilePath, _ pins: FilePath?) throws -> UnlockedVault {
    try LockedVault.open(path, options: VaultOptions(pins: pins)).unlock(with: TemporaryVault.credentials())
  }

  @Test func `on a read only medium a vault is read and never written`() throws {
    let disk = try MountedFolder(kibibytes: 1024)
    let home = try TemporaryVault()
    let pins = home.folder.appending("pins")
    let path = try created(disk.folder, pins)
    #expect(disk.remount(readOnly: true))
    let vault = try unlock(path, pins)
    #expect(text(try vault.get(Self.name)) == "value")
    #expect(try vault.list().count == 1)
    #expect(try vault.verify().records == 1)
    #expect(try vault.pinStatus() == .unchanged)
    #expect(kind { try vault.set(form("new"), for: Self.name) } == .readOnly)
    #expect(kind { try vault.remove(Self.name) } == .readOnly)
    #expect(kind { try vault.rotate() } == .readOnly)
    #expect(text(try vault.get(Self.name)) == "value", "a refused write does not end the vault")
  }

  /// Looking at a newer copy must neither make the vault in use an older one, nor pin a vault.
  @Test func `reading a vault that cannot be written leaves the pin as it was`() throws {
    let disk = try MountedFolder(kibibytes: 1024)
    let home = try TemporaryVault()
    let pins = home.folder.appending("pins")
    let path = try created(disk.folder, pins)
    let before = try KeptFiles(pins)
    // Another machine writes, and the medium comes back read-only.
    let elsewhere = try unlock(path, nil)
    try elsewhere.set(form("newer"), for: Self.name)
    _ = try elsewhere.lock()
    #expect(disk.remount(readOnly: true))
    let vault = try unlock(path, pins)
    #expect(text(try vault.get(Self.name)) == "newer")
    _ = try vault.verify()
    _ = try vault.lock()
    #expect(try KeptFiles(pins).files == before.files)
    let unseen = home.folder.appending("unseen")
    #expect(try unlock(path, unseen).pinStatus() == .unchanged)
    #expect(!FileManager.default.fileExists(atPath: unseen.string))
    #expect(disk.remount(readOnly: false))
    let older = try Data(contentsOf: URL(fileURLWithPath: path.string))
    let again = try unlock(path, pins)
    try again.set(form("newest"), for: Self.name)
    _ = try again.lock()
    try older.write(to: URL(fileURLWithPath: path.string))
    #expect(disk.remount(readOnly: true))
    #expect(kind { _ = try unlock(path, pins) } == .rolledBack)
  }

  /// A pin that cannot be written is a warning; one that cannot be read is an error.
  @Test func `pins that cannot be written are a warning`() throws {
    let disk = try MountedFolder(kibibytes: 1024)
    let home = try TemporaryVault()
    let path = try created(home.folder, disk.folder.appending("pins"))
    #expect(disk.remount(readOnly: true))
    let vault = try unlock(path, disk.folder.appending("pins"))
    #expect(text(try vault.get(Self.name)) == "value")
    try vault.set(form("new"), for: Self.name)
    #expect(try vault.pinStatus() == .notWritten)
    #expect(text(try unlock(path, disk.folder.appending("pins")).get(Self.name)) == "new")
    let first = try unlock(path, disk.folder.appending("other"))
    #expect(text(try first.get(Self.name)) == "new")
    #expect(try first.pinStatus() == .notWritten)
  }

  @Test func `a full state folder is a warning`() throws {
    let disk = try MountedFolder(kibibytes: 64)
    let home = try TemporaryVault()
    let filler = disk.folder.appending("filler")
    let descriptor = try FileDescriptor.open(filler, .writeOnly, options: .create, permissions: .ownerReadWrite)
    let block = [UInt8](repeating: 1, count: 4096)
    var count = 0
    while case let written = write(descriptor.rawValue, block, block.count), written > 0 { count += written }
    try descriptor.close()
    #expect(count > 0)
    let path = try created(home.folder, disk.folder.appending("pins"))
    let vault = try unlock(path, disk.folder.appending("pins"))
    try vault.set(form("new"), for: Self.name)
    #expect(text(try vault.get(Self.name)) == "new")
    #expect(try vault.pinStatus() == .notWritten)
    unlink(filler.string)
    let again = try unlock(path, disk.folder.appending("pins"))
    try again.set(form("newer"), for: Self.name)
    #expect(try again.pinStatus() != .notWritten, "with space again the pin is written")
  }

  /// A folder of mode 0500, as its non-root owner sees it.
  @Test func `a folder that its owner may not write is read too`() throws {
    let user = geteuid() == 0 ? "65534" : "\(geteuid())"
    let setpriv = "/usr/bin/setpriv"
    guard geteuid() != 0 || FileManager.default.isExecutableFile(atPath: setpriv) else {
      try Test.skip("root may write anywhere, and there is no setpriv to become someone else")
    }
    let place = try TemporaryVault()
    let path = try created(place.folder, place.folder.appending("pins"))
    // The other user must reach the tool.
    let tool = place.folder.string + ".tool"
    // By another program: a child may still hold a file written here, and such a file cannot be run.
    let copying = try Process.run(URL(filePath: "/bin/cp"), arguments: [TracedTool.path, tool])
    copying.waitUntilExit()
    defer { unlink(tool) }
    let item = try unlock(path, nil)
    try item.set(form("old plaintext"), for: ItemName(service: "svc", account: "target"))
    _ = try item.lock()
    let key = try place.keyFile()
    defer { chmod(place.folder.string, 0o700) }
    for file in ["", "/vault.sqlite", "/key"] where geteuid() == 0 { chown(place.folder.string + file, 65534, 65534) }
    chmod(place.folder.string, 0o500)
    let traced = TracedTool(place, "")
    func run(_ step: String) throws -> TracedTool.End {
      let line = [tool, "step", path.string, key, step]
      return try traced.run(
        geteuid() == 0 ? setpriv : tool,
        geteuid() == 0 ? ["--reuid=\(user)", "--regid=\(user)", "--clear-groups"] + line : Array(line.dropFirst()),
        ["COFFER_TEST_PINS": ""])
    }
    let get = try run("get")
    #expect(get.code == 0, "\(get.output)")
    let set = try run("set")
    #expect(set.code == 1 && set.output.contains("refused readOnly"), "\(set.output)")
  }
}

/// A small file system of its own, which only root can mount.
private final class MountedFolder {
  let folder: FilePath

  init(kibibytes: Int) throws {
    folder = FilePath("/tmp/coffer-mount-\(UInt64.random(in: .min ... .max))")
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
