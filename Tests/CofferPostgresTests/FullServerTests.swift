import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferPostgres

@Suite(.tags(.root, .process, .kill), .wholeRun) struct FullServerTests {
  private static let long = String(repeating: "x", count: 200_000)

  @Test func `where the tables have no room nothing is changed, all is read, and a change of key leaves the old one`() throws {
    let server = try DatabaseServer.make(disk: (.tables, 48 << 20))
    let disk = try #require(server.disk)
    let shared = try SharedVault(on: server)
    let second = try SharedVault(on: server)
    let vault = try shared.create(shared.pins)
    let settings = try PostgresDefaults.open(domain: "app", at: shared.place)
    try settings.save(.string("kept"), for: "a")
    for number in 0..<200 { try vault.set(form("\(number) " + String(repeating: "y", count: 2000)), for: name("\(number)")) }
    let backup = shared.folder.path.appending("backup")
    _ = try LockedVault.open(shared.place, options: shared.pins).backup(to: backup)
    try vault.set(form("newest"), for: name("0"))
    let (before, whole) = (try vault.status(), try vault.verify())
    try disk.fill()

    #expect(kind { try vault.set(form(Self.long), for: name("0")) } == .noSpace)
    #expect(kind { try vault.set(form(Self.long), for: name("new")) } == .noSpace)
    #expect(kind { try vault.rotate() } == .noSpace)
    #expect(kind { try settings.save(.string(Self.long), for: "a") } == .noSpace)
    #expect(kind { try second.create() } == .noSpace)
    #expect(
      kind {
        _ = try RestorableBackup(backup, toRestoreAt: shared.place).restore(
          with: shared.credentials(), options: shared.pins, acceptingOlderKey: true)
      } == .noSpace)
    func checkUnchanged(_ vault: borrowing UnlockedVault) throws {
      #expect(try text(vault.get(name("0"))) == "newest" && vault.get(name("new")) == nil)
      #expect(try vault.verify() == whole && vault.status().epoch == before.epoch)
      #expect(try vault.status().generation == before.generation, "nothing was committed")
    }
    try checkUnchanged(vault)
    try checkUnchanged(shared.unlock(shared.pins))
    #expect(try settings.load("a") == .string("kept"))
    let mirror = shared.folder.path.appending("mirror")
    try vault.mirror(to: mirror)
    #expect(kind { _ = try second.unlock() } == .noVault)
    #expect(try server.sql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE '%\\_before\\_%'") == "0")

    try disk.free()
    try vault.rotate()
    try vault.set(form(Self.long), for: name("0"))
    try settings.save(.string(Self.long), for: "a")
    try second.create().set(form("1"), for: name("a"))
    let again = try shared.unlock(shared.pins)
    #expect(try text(again.get(name("0"))) == Self.long && again.get(name("199")) != nil && again.status().epoch == 2)
    #expect(try again.verify().items == 200 && settings.load("a") == .string(Self.long))
  }

  @Test func `where the server's log has no room the server ends, and has all that was acknowledged once there is some`() throws {
    let settings = ["min_wal_size=32MB", "max_wal_size=32MB"]
    let server = try DatabaseServer.make(settings: settings, disk: (.log, 40 << 20))
    let disk = try #require(server.disk)
    let shared = try SharedVault(on: server, options: "coffer_timeout=3")
    let vault = try shared.create(shared.pins)
    try vault.set(form("first"), for: name("small"))
    let other = Held(try shared.unlock(shared.pins))
    try disk.fill()
    let isBack = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      defer { isBack.signal() }
      do {
        eventually("the server has ended") { server.pid == 0 }
        #expect(kind { _ = try other.vault.get(name("small")) } == .unreachable)
        #expect(kind { try other.vault.set(form("second"), for: name("small")) } == .unreachable)
        #expect(kind { try other.vault.rotate() } == .unreachable)
        #expect(kind { _ = try shared.unlock(shared.pins) } == .unreachable)
        try disk.free()
        try server.restart()
      } catch { Issue.record(error) }
    }
    // A newly begun log segment has 16 MiB.
    var (writes, outcome) = (0, StoreError.Kind?.none)
    while outcome == nil, server.pid != 0, writes < 200 {
      outcome = kind { try vault.set(form("\(writes + 1) \(Self.long)"), for: name("big")) }
      writes += 1
    }
    isBack.wait()
    // Made or not: it was looked up when the server returned, if that was soon enough.
    #expect([nil, .unreachable, .outcomeUnknown].contains(outcome), "\(String(describing: outcome))")
    let stored = try text(vault.get(name("big")))?.split(separator: " ").first.flatMap { Int($0) }
    let possible =
      switch outcome {
      case nil: [writes]
      case .outcomeUnknown: [writes - 1, writes]
      default: [writes - 1]
      }
    #expect(possible.contains { $0 == stored }, "\(String(describing: outcome)), \(String(describing: stored))")
    #expect(try text(vault.get(name("small"))) == "first" && vault.verify().items == 2)
    try vault.rotate()
    try vault.set(form("second"), for: name("small"))
    #expect(try text(shared.unlock(shared.pins).get(name("small"))) == "second")
    print("a full log: \(writes) writes, the last \(outcome.map { "\($0)" } ?? "made")")
  }
}
