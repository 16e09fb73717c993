import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct BackupTests {
  @Test func `a backup needs no key, opens with the same one, and is one file for its owner in any folder`() throws {
    let pinned = try PinnedVault()
    let folder = FilePath("/tmp").appending("coffer-backup-\(UUID().uuidString)")
    try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: false)
    chmod(folder.string, 0o755)
    defer { try? FileManager.default.removeItem(atPath: folder.string) }
    let target = folder.appending("backup.sqlite")
    let report = try pinned.locked.backup(to: target)
    #expect(report == BackupReport(id: try pinned.locked.id, generation: 4))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.string) == ["backup.sqlite"])
    #expect(try Stat(target).permissions == FilePermissions(rawValue: 0o600))
    #expect(kind { _ = try pinned.locked.backup(to: target) } == .alreadyExists)
    #expect(try FileManager.default.contentsOfDirectory(atPath: pinned.place.folder.string).allSatisfy { !$0.hasPrefix(".") })

    let copy = try TemporaryVault()
    try FileManager.default.copyItem(atPath: target.string, toPath: copy.path.string)
    let vault = try copy.unlock()
    #expect(text(try vault.get(pinned.name)) == "value 2")
    #expect(try vault.verify().records == 1)
  }

  @Test func `backups made while others write are each of one moment`() async throws {
    let pinned = try PinnedVault()
    let locked = try pinned.locked
    let store = try VaultStore(service: "app", vault: pinned.unlock())
    let folder = pinned.place.folder
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for round in 0..<150 {
          var batch = Batch<Vault>()
          for name in ["left", "right"] { batch.writes[name] = .set(try form("\(round)")) }
          try store.commit(batch, decision: nil)
        }
      }
      group.addTask { for round in 0..<10 { _ = try locked.backup(to: folder.appending("backup-\(round)")) } }
      try await group.waitForAll()
    }
    for round in 0..<10 {
      let vault = try await LockedVault.open(folder.appending("backup-\(round)")).unlock(with: TemporaryVault.credentials())
      let left = text(try await vault.get(ItemName(service: "app", account: "left")))
      #expect(left == text(try await vault.get(ItemName(service: "app", account: "right"))))
      _ = try vault.verify()
    }
  }

  /// A vault with the value "newer", and a backup from when it was "value 2".
  func prepared() throws -> (vault: PinnedVault, backup: FilePath) {
    let pinned = try PinnedVault()
    let backup = pinned.place.folder.appending("backup")
    _ = try pinned.locked.backup(to: backup)
    for _ in 0..<4 { try pinned.write("newer") }
    return (pinned, backup)
  }

  func restore(
    _ backup: FilePath, _ pinned: PinnedVault, replacing: Bool = false, acceptingOlderKey: Bool = false
  ) throws -> RestoreReport {
    try RestorableBackup(backup, toRestoreAt: pinned.place.path)
      .restore(
        with: TemporaryVault.credentials(), options: pinned.options, replacing: replacing, acceptingOlderKey: acceptingOlderKey)
  }

  @Test(arguments: ["WAL", "DELETE"])
  func `every write acknowledged while a backup is restored is kept or stands in the restored vault`(mode: String) async throws {
    let (pinned, backup) = try prepared()
    try pinned.place.attack("PRAGMA journal_mode=\(mode)")
    let isOver = Mutex(false)
    let store = try VaultStore(service: "app", vault: pinned.unlock())
    async let writer: Int = Task.detached {
      var written = 0
      while !isOver.withLock({ $0 }) || written == 0 {
        var batch = Batch<Vault>()
        batch.writes["item \(written)"] = .set(try form("\(written)"))
        try store.commit(batch, decision: nil)
        written += 1
      }
      return written
    }.value
    let report = try restore(backup, pinned)
    isOver.withLock { $0 = true }
    let written = try await writer
    let kept = try await LockedVault.open(#require(report.kept), options: .withoutPins).unlock(with: TemporaryVault.credentials())
    let restored = try pinned.unlock()
    for number in 0..<written {
      let name = try ItemName(service: "app", account: "item \(number)")
      let found = [text(try await kept.get(name)), text(try await restored.get(name))].compactMap(\.self)
      #expect(found == ["\(number)"], "item \(number) of \(written)")
    }
    _ = try restored.verify()
  }

  @Test func `a restored backup is the newest commit, for this machine and for others, and what was there is kept`() throws {
    let (pinned, backup) = try prepared()
    let left = try pinned.bytes()
    let open = try pinned.unlock()
    #expect(text(try open.get(pinned.name)) == "newer")
    let report = try restore(backup, pinned)
    #expect(report.restored == 4 && report.generation == 10 && report.items == 1)
    // The open vault continues with the restored content.
    #expect(text(try open.get(pinned.name)) == "value 2")
    try open.set(form("after"), for: pinned.name)
    #expect(text(try pinned.unlock().get(pinned.name)) == "after")
    let events = try pinned.unlock().log().map(\.event)
    let restored = try #require(events.firstIndex(of: .restored))
    #expect(events[..<restored].suffix(2) == [.unlocked, .keyRotated], "who restored is told first, as of every first change")
    #expect(events.count(where: { $0 == .keyRotated }) == 1)
    _ = try pinned.unlock().verify()
    _ = try open.lock()

    let kept = try #require(report.kept?.path)
    let before = try LockedVault.open(kept).unlock(with: TemporaryVault.credentials())
    #expect(text(try before.get(pinned.name)) == "newer")
    try pinned.replace(with: left)
    #expect(try pinned.refusal() != nil, "the history that was left is an older copy now")
    #expect(try FileManager.default.contentsOfDirectory(atPath: pinned.place.folder.string).allSatisfy { !$0.hasPrefix(".") })
  }

  @Test func `a vault with a rollback journal has one after a restore from a backup with a write-ahead log`() throws {
    let (pinned, backup) = try prepared()
    try pinned.place.attack("PRAGMA journal_mode=DELETE")
    let open = try pinned.unlock()
    #expect(text(try open.get(pinned.name)) == "newer")
    _ = try restore(backup, pinned)
    #expect(try pinned.place.hex("PRAGMA journal_mode") == "delete")
    #expect(text(try open.get(pinned.name)) == "value 2")
    try open.set(form("and on"), for: pinned.name)
    #expect(text(try pinned.unlock().get(pinned.name)) == "and on")
    _ = try pinned.unlock().verify()
  }

  @Test func `a backup restores where nothing, or nothing readable, stands`() throws {
    let (pinned, backup) = try prepared()
    unlink(pinned.place.path.string)
    #expect(try restore(backup, pinned).kept == nil)
    #expect(text(try pinned.unlock().get(pinned.name)) == "value 2")
    try pinned.write("again")

    try pinned.replace(with: Data("no vault".utf8))
    // The first restore changed the key: restoring a backup from before needs consent.
    #expect(kind { _ = try restore(backup, pinned) } == .rolledBack)
    let report = try restore(backup, pinned, acceptingOlderKey: true)
    #expect(report.returnedSlots.map(\.summary.kind) == [.keyFile])
    #expect(try Data(contentsOf: URL(fileURLWithPath: #require(report.kept).description)) == Data("no vault".utf8))
    #expect(text(try pinned.unlock().get(pinned.name)) == "value 2")
    #expect(try pinned.refusal() == nil)
  }

  @Test func `where a vault is expected, the backup of another takes its place only if somebody says so`() throws {
    let (pinned, _) = try prepared()
    let other = try TemporaryVault()
    let backup = other.folder.appending("backup")
    _ = try UnlockedVault.create(at: other.path, with: TemporaryVault.credentials()).lock()
    _ = try LockedVault.open(other.path).backup(to: backup)
    unlink(pinned.place.path.string)
    #expect(kind { _ = try restore(backup, pinned) } == .otherVault)
    #expect(kind { _ = try restore(backup, pinned, replacing: true) } == nil)
  }

  @Test func `where a side file cannot be moved aside, all that was moved is put back`() throws {
    let (pinned, backup) = try prepared()
    let place = pinned.place.path
    try pinned.replace(with: Data("no vault".utf8))
    try Data("its log".utf8).write(to: URL(filePath: place.string + "-wal"))
    let now = Date()
    for second in 0..<120 {
      let stamp = now.addingTimeInterval(Double(second)).formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
      try Data().write(to: URL(filePath: "\(place).before-\(stamp)-wal"))
    }
    #expect(kind { _ = try restore(backup, pinned) } == .io(EEXIST))
    #expect(FileManager.default.contents(atPath: place.string) == Data("no vault".utf8))
    #expect(FileManager.default.contents(atPath: place.string + "-wal") == Data("its log".utf8))
  }

  @Test func `where another program has taken the name, nothing is put beside its file, and the error says where all is`() throws
  {
    let folder = try TestFolder("displaced")
    let place = folder.path.appending("vault"), aside = folder.path.appending("aside"), copy = folder.path.appending("copy")
    func put(_ text: String, _ path: FilePath) throws { try Data(text.utf8).write(to: URL(filePath: path.string)) }
    try put("old", place)
    try put("old log", place.appending(suffix: "-wal"))
    try put("copy", copy)
    var displaced = DisplacedFiles(of: place, to: aside)
    try displaced.move()
    try put("theirs", place)
    let refusal = #expect(throws: StoreError.self) { try DisplacedFiles.rename(copy, to: place) }
    let told = displaced.putBack(after: try #require(refusal))
    #expect(told.kind == refusal?.kind && told.description.contains("as \(aside)"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path.string).count == 4)
    #expect(FileManager.default.fileExists(atPath: "\(aside)-wal") && !FileManager.default.fileExists(atPath: "\(place)-wal"))
    #expect(FileManager.default.contents(atPath: place.string) == Data("theirs".utf8))

    try FileManager.default.removeItem(atPath: place.string)
    #expect(displaced.putBack(after: try #require(refusal)).description == refusal?.description)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path.string).sorted() == ["copy", "vault", "vault-wal"])
  }

  @Test func `another vault is not replaced without saying so`() throws {
    let (pinned, _) = try prepared()
    let (theirs, other) = try prepared()
    defer { withExtendedLifetime(theirs) {} }
    #expect(kind { _ = try restore(other, pinned) } == .otherVault)
    #expect(text(try pinned.unlock().get(pinned.name)) == "newer")
    let report = try restore(other, pinned, replacing: true)
    #expect(try pinned.locked.id == report.id && pinned.refusal() == nil)
    #expect(text(try pinned.unlock().get(pinned.name)) == "value 2")
  }

  @Test func `a backup that is not sound, or not closed, changes nothing`() throws {
    let (pinned, backup) = try prepared()
    let before = try pinned.bytes()
    let broken = try TemporaryVault()
    try FileManager.default.copyItem(atPath: backup.string, toPath: broken.path.string)
    try broken.attack("DELETE FROM rec")
    #expect(kind { _ = try restore(broken.path, pinned) } == .tampered)
    #expect(kind { _ = try restore("/nowhere/backup", pinned) } == .io(ENOENT))
    #expect(kind { _ = try restore("/dev/null", pinned) } == .notAVault)
    let inUse = try PinnedVault()
    let open = try inUse.unlock()
    try open.set(form("x"), for: inUse.name)
    #expect(kind { _ = try restore(inUse.place.path, pinned) } == .inUse)
    _ = try open.lock()
    #expect(
      kind {
        _ = try RestorableBackup(backup, toRestoreAt: pinned.place.path).restore(with: Credentials(keyFile: KeyFile.generate()))
      } == .wrongSecret)
    #expect(try pinned.bytes() == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: pinned.place.folder.string).allSatisfy { !$0.hasPrefix(".") })
  }

  @Test func `a file that is larger than a vault can be is no backup, and is not copied`() throws {
    let (pinned, backup) = try prepared()
    let most = Limits.mostPages * 4096
    // Sparse.
    guard truncate(backup.string, off_t(most + 1)) == 0 else { try Test.skip("the file system takes no file of 64 GiB") }
    #expect(kind { _ = try restore(backup, pinned) } == .damaged)
    #expect(try FileManager.default.contentsOfDirectory(atPath: pinned.place.folder.string).allSatisfy { !$0.hasPrefix(".") })
    #expect(text(try pinned.unlock().get(pinned.name)) == "newer")
  }

  @Test func `restored while others write, every later write is kept and nobody complains`() async throws {
    let (pinned, backup) = try prepared()
    let path = pinned.place.path
    let options = pinned.options
    let name = pinned.name
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<3 {
        group.addTask {
          let vault = try LockedVault.open(path, options: options).unlock(with: TemporaryVault.credentials())
          for round in 0..<40 { try vault.set(form("\(worker) \(round)"), for: name) }
        }
      }
      group.addTask {
        for _ in 0..<4 {
          _ = try RestorableBackup(backup, toRestoreAt: path).restore(with: TemporaryVault.credentials(), options: options)
        }
      }
      try await group.waitForAll()
    }
    #expect(try pinned.refusal() == nil)
    _ = try pinned.unlock().verify()
  }
}
