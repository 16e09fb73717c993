import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferPostgres

@Suite(.tags(.process), .wholeRun) struct MirrorTests {
  private final class Mirrored: Sendable {
    let shared: SharedVault
    let vault: UnlockedVault
    let file: FilePath
    var pins: FilePath { shared.folder.path.appending("pins") }

    init() throws {
      let shared = try SharedVault()
      self.shared = shared
      vault = try shared.create(shared.pins)
      file = shared.folder.path.appending("mirror")
      try vault.set(form("one"), for: name("a"))
      try vault.mirror(to: file)
    }

    func open(_ file: FilePath? = nil) throws -> UnlockedVault {
      try LockedVault.open(.mirror(file ?? self.file), options: shared.pins).unlock(with: shared.credentials())
    }

    func refusal() -> StoreError.Kind? { kind { _ = try open().get(name("a")) } }

    var bytes: Data {
      get throws { try Data(contentsOf: URL(fileURLWithPath: file.string)) }
    }

    func put(_ bytes: Data) throws {
      try bytes.write(to: URL(fileURLWithPath: file.string))
      chmod(file.string, 0o600)
    }

    var names: [String] {
      get throws { try FileManager.default.contentsOfDirectory(atPath: shared.folder.path.string).sorted() }
    }
  }

  @Test func `a mirror is the vault as it was when it was refreshed, is opened by its slots, and takes no writes`() throws {
    let mirrored = try Mirrored()
    let vault = try mirrored.shared.unlock(mirrored.shared.pins)
    for number in 0..<60 { try vault.set(form("\(number)"), for: name("\(number)")) }
    try vault.set(form("two"), for: name("a"), keeping: 2)
    let start = Date()
    let report = try vault.mirror(to: mirrored.file)
    #expect(try report.id == vault.id && report.generation == vault.status().generation && report.isWritten)
    let mirror = try mirrored.open()
    #expect(try text(mirror.get(name("a"))) == "two" && text(mirror.get(name("a"), revision: 2)) == "two")
    #expect(try mirror.verify() == vault.verify() && mirror.list().count == 61 && mirror.log().count == vault.log().count)
    #expect(try mirror.place == .mirror(mirrored.file) && mirror.place.path == nil && mirror.pinStatus() == .unchanged)
    for write: (borrowing UnlockedVault) throws -> Void in [
      { try $0.set(form("x"), for: name("a")) }, { try $0.remove(name("a")) }, { try $0.rotate() },
      { try $0.rehearse([.set(form("x"), for: name("a"))]) },
      { _ = try $0.addSlot(Credentials(keyFile: KeyFile.generate()), label: "") },
    ] { #expect(kind { try write(mirror) } == .readOnly) }
    #expect(
      kind {
        _ = try LockedVault.open(.mirror(mirrored.file), options: mirrored.shared.pins).repair(
          with: mirrored.shared.credentials())
      } == .readOnly)
    #expect(try mirrored.names == ["mirror", "pins"], "nothing is left beside it")
    var facts = stat()
    #expect(stat(mirrored.file.string, &facts) == 0 && facts.st_mode & 0o777 == 0o600)
    let memory = try LockedVault.open(.mirror(mirrored.file), options: mirrored.shared.pins).pinMemory()
    let refreshed = try #require(memory.refreshed)
    #expect(memory.seen == report.generation && memory.expected == vault.id && memory.own == nil)
    #expect(refreshed > start.addingTimeInterval(-1) && refreshed < Date().addingTimeInterval(1))

    // The server is naturally ahead of it, and an open mirror stays unchanged.
    try vault.set(form("three"), for: name("a"))
    #expect(try text(mirrored.open().get(name("a"))) == "two")
    #expect(try vault.mirror(to: mirrored.file).isWritten)
    #expect(try text(mirror.get(name("a"))) == "two" && text(mirrored.open().get(name("a"))) == "three")
    let before = try mirrored.bytes
    #expect(try !vault.mirror(to: mirrored.file).isWritten && mirrored.bytes == before)
    try vault.rotate()
    try vault.mirror(to: mirrored.file)
    #expect(try text(mirrored.open().get(name("a"))) == "three" && mirrored.open().status().epoch == 2)
    let friend = try Identity.generate()
    try vault.addSlot(Identity.recipient(of: friend), label: "friend")
    try vault.mirror(to: mirrored.file)
    let known = try LockedVault.open(.mirror(mirrored.file), options: mirrored.shared.pins)
    var theirs = Credentials()
    theirs.identity = try friend.duplicate()
    let recipient = try known.unlock(with: theirs)
    #expect(try text(recipient.get(name("a"))) == "three", "the mirror's pin proves it")
    #expect(
      kind {
        _ = try LockedVault.open(.file(mirrored.file), options: mirrored.shared.pins).unlock(with: mirrored.shared.credentials())
      }
        == .refused, "as the vault itself it would have a history of its own")
    #expect(try mirrored.names == ["mirror", "pins"])
    let copy = mirrored.shared.folder.path.appending("copy")
    _ = try LockedVault.open(.mirror(mirrored.file), options: mirrored.shared.pins).backup(to: copy)
    #expect(
      try text(LockedVault.open(.file(copy), options: .withoutPins).unlock(with: mirrored.shared.credentials()).get(name("a")))
        == "three")
  }

  @Test func `a vault in a file has no mirror, and one without pins makes none`() throws {
    let mirrored = try Mirrored()
    let (shared, other) = (mirrored.shared, mirrored.shared.folder.path.appending("other"))
    #expect(kind { try shared.unlock().mirror(to: other) } == .incomplete)
    let file = shared.folder.path.appending("file.sqlite")
    let inFile = try UnlockedVault.create(at: .file(file), with: shared.credentials(), options: shared.pins)
    #expect(kind { try inFile.mirror(to: other) } == .unsupported)
    #expect(kind { _ = try inFile.keepMirror(at: other) { _ in } } == .unsupported)
    #expect(
      kind { _ = try UnlockedVault.create(at: .mirror(other), with: shared.credentials(), options: shared.pins) } == .readOnly)
  }

  @Test func `an older mirror, another one, a moved one, a damaged one and none are each refused, and the next refresh mends it`()
    throws
  {
    let mirrored = try Mirrored()
    let older = try mirrored.bytes
    try mirrored.vault.set(form("two"), for: name("a"))
    try mirrored.vault.mirror(to: mirrored.file)
    let good = try mirrored.bytes
    try mirrored.put(older)
    #expect(mirrored.refusal() == .rolledBack)
    #expect(kind { try LockedVault.open(.mirror(mirrored.file), options: mirrored.shared.pins).checkAge() } == .rolledBack)
    #expect(try mirrored.vault.mirror(to: mirrored.file).isWritten && mirrored.refusal() == nil)

    for offset in stride(from: 10, to: good.count, by: good.count / 6) {
      var bad = good
      bad[offset] ^= 0x40
      try mirrored.put(bad)
      let found = kind { _ = try mirrored.open().verify() }
      #expect([.damaged, .tampered, .notAVault, nil].contains(found), "\(offset): \(String(describing: found))")
      try mirrored.vault.mirror(to: mirrored.file)
      #expect(kind { _ = try mirrored.open().verify() } == nil)
    }
    for count in [0, 4096] {
      try mirrored.put(good.prefix(count))
      #expect([.damaged, .tampered, .notAVault].contains(mirrored.refusal()), "\(count)")
      #expect(try mirrored.vault.mirror(to: mirrored.file).isWritten && mirrored.refusal() == nil)
    }

    let moved = mirrored.shared.folder.path.appending("moved")
    try FileManager.default.copyItem(atPath: mirrored.file.string, toPath: moved.string)
    #expect(kind { _ = try mirrored.open(moved) } == .unproven)
    #expect(kind { try mirrored.vault.mirror(to: moved) } == .alreadyExists, "what is no mirror is not replaced")
    unlink(mirrored.file.string)
    #expect(mirrored.refusal() == .noVault)
    #expect(try mirrored.vault.mirror(to: mirrored.file).isWritten && mirrored.refusal() == nil)

    let other = try SharedVault()
    let another = try other.create(mirrored.shared.pins)
    let theirs = mirrored.shared.folder.path.appending("theirs")
    try another.mirror(to: theirs)
    try mirrored.put(Data(contentsOf: URL(fileURLWithPath: theirs.string)))
    #expect(kind { _ = try LockedVault.open(.mirror(mirrored.file), options: mirrored.shared.pins).checkAge() } == .replaced)
    #expect(kind { try mirrored.vault.mirror(to: mirrored.file) } == .replaced, "somebody may want that vault")
    #expect(kind { try another.mirror(to: mirrored.file) } == .replaced)
    unlink(mirrored.file.string)
    try another.mirror(to: mirrored.file)

    let pin = try #require(FileManager.default.contentsOfDirectory(atPath: mirrored.pins.string).first { $0.hasPrefix("mi-") })
    try Data("no pin".utf8).write(to: URL(fileURLWithPath: mirrored.pins.appending(pin).string))
    chmod(mirrored.pins.appending(pin).string, 0o600)
    #expect(
      [mirrored.file, theirs].contains { file in
        kind { _ = try LockedVault.open(.mirror(file), options: mirrored.shared.pins).checkAge() } == .damaged
      })
    try Data().write(to: URL(fileURLWithPath: mirrored.file.string + "-wal"))
    #expect(kind { try another.mirror(to: mirrored.file) } == .inUse)
  }

  @Test func `a server that went back, or whose rows do not fit, is refused, and the mirror stays`() throws {
    let mirrored = try Mirrored()
    let (server, schema) = (mirrored.shared.server, mirrored.shared.schema)
    let tables = ["decided", "digest", "header", "header_copy", "log", "old", "rec", "state"]
    try server.sql("CREATE SCHEMA \(schema)_x")
    for table in tables { try server.sql("CREATE TABLE \(schema)_x.\(table) AS SELECT * FROM \(schema).\(table)") }
    try mirrored.vault.set(form("two"), for: name("a"))
    try mirrored.vault.mirror(to: mirrored.file)
    try server.sql(
      tables.map { "DELETE FROM \(schema).\($0); INSERT INTO \(schema).\($0) SELECT * FROM \(schema)_x.\($0)" }.joined(
        separator: ";"))
    #expect(kind { try mirrored.vault.mirror(to: mirrored.file) } == .rolledBack)
    // A machine that has forgotten the vault still remembers its mirror.
    for pin in try FileManager.default.contentsOfDirectory(atPath: mirrored.pins.string) where !pin.hasPrefix("mi-") {
      unlink(mirrored.pins.appending(pin).string)
    }
    let anew = try mirrored.shared.unlock(mirrored.shared.pins)
    #expect(try text(anew.get(name("a"))) == "one")
    #expect(kind { try anew.mirror(to: mirrored.file) } == .rolledBack)
    #expect(try text(mirrored.open().get(name("a"))) == "two")
    for _ in 0..<3 { try anew.set(form("three"), for: name("b")) }
    try anew.mirror(to: mirrored.file)
    #expect(try text(mirrored.open().get(name("a"))) == "one", "it has gone on, and is newer than the mirror")

    try anew.set(form("four"), for: name("b"))
    try server.sql("UPDATE \(schema).rec SET value = set_byte(value, 20, get_byte(value, 20) # 1) WHERE value IS NOT NULL")
    #expect(kind { try anew.mirror(to: mirrored.file) } == .tampered)
    #expect(try text(mirrored.open().get(name("b"))) == "three")
  }

  @Test func `a mirror follows each commit, and refreshes at once do not get in each other's way`() throws {
    let mirrored = try Mirrored()
    let other = try mirrored.shared.unlock(mirrored.shared.pins)
    let told = Collected<Bool>()
    let subscription = try mirrored.vault.keepMirror(at: mirrored.file) { result in
      if case .success(let report) = result { told.add(report.isWritten) }
    }
    try other.set(form("two"), for: name("a"))
    eventually("the commit is mirrored") { (try? text(mirrored.open().get(name("a")))) == "two" }
    try mirrored.shared.server.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'coffer' AND query LIKE 'LISTEN \(mirrored.shared.schema)%'"
    )
    try other.set(form("three"), for: name("a"))
    eventually("what was missed is mirrored") { (try? text(mirrored.open().get(name("a")))) == "three" }
    subscription.cancel()
    #expect(told.all.contains(true))

    let failures = Collected<String>()
    let vaults = try (0..<3).map { _ in Shared(try mirrored.shared.unlock(mirrored.shared.pins)) }
    DispatchQueue.concurrentPerform(iterations: 3) { index in
      for round in 0..<4 {
        do {
          try vaults[index].vault.set(form("\(round)"), for: name("r\(index)"))
          try vaults[index].vault.mirror(to: mirrored.file)
          let seen = try text(mirrored.open().get(name("r\(index)")))
          if seen != "\(round)" { failures.add("\(index) \(round): \(seen ?? "none")") }
        } catch { failures.add("\(index) \(round): \(error)") }
      }
    }
    #expect(failures.all == [])
    #expect(try mirrored.open().verify() == mirrored.vault.verify())
  }

  private final class Shared: Sendable {
    let vault: UnlockedVault
    init(_ vault: consuming UnlockedVault) { self.vault = vault }
  }

  @Test func `which vault is expected at a place shows without its server, however the place is written`() throws {
    let mirrored = try Mirrored()
    let (url, pins) = (mirrored.shared.url, mirrored.pins)
    let id = mirrored.vault.id
    #expect(try VaultPlace(url).expected(by: pins) == [id])
    #expect(try VaultPlace(url.replacing("#", with: "?application_name=x&sslmode=prefer#")).expected(by: pins) == [id])
    #expect(try VaultPlace(url.replacing("coffer@", with: "nobody@")).expected(by: pins) == [id])
    #expect(try VaultPlace(url + "x").expected(by: pins) == [])
    #expect(try VaultPlace("postgresql://nowhere.invalid/team#main").expected(by: pins) == [])
    #expect(kind { _ = try VaultPlace("postgresql://ada:hunter2@db/team").expected(by: pins) } == .invalidName)
  }
}
