import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferPostgres

/// A server with a standby that replaces it.
@Suite(.tags(.process, .kill), .wholeRun) struct StandbyTests {
  @Test(arguments: [true, false])
  func `a commit that a server made before it died is not told of while its standby may lack it`(isOfSettings: Bool) throws {
    let server = try DatabaseServer.make()
    // The commit waits this long for the standby, and so does the look-up.
    let shared = try SharedVault(on: server, options: "coffer_timeout=20")
    let settings = try PostgresDefaults.open(domain: "app", at: shared.place)
    try settings.save(.string("1"), for: "a")
    try shared.create().set(form("1"), for: name("a"))
    try wait(for: "nobody", server)
    let end = CofferTestSupport.Collected<StoreError.Kind?>()
    let isOver = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      do {
        if isOfSettings {
          end.add(kind { try settings.save(.string("2"), for: "a") })
        } else {
          let vault = try shared.unlock()
          end.add(kind { try vault.set(form("2"), for: name("a")) })
        }
      } catch { Issue.record(error) }
      isOver.signal()
    }
    try eventually("it waits for the standby") {
      try server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1"
    }
    try server.crash()
    isOver.wait()
    #expect(end.all == [.outcomeUnknown])
    try wait(for: "", server)
    if isOfSettings {
      #expect(try settings.load("a") == .string("2"))
    } else {
      #expect(try text(shared.unlock().get(name("a"))) == "2")
    }
  }

  @Test func `a queued commit that another writer made is acknowledged once the standby has it`() throws {
    let server = try DatabaseServer.make()
    let shared = try SharedVault(on: server, options: "coffer_timeout=60")
    let vault = try shared.create()
    try vault.set(form("1"), for: name("a"))
    let turn = try ForeignTurn(shared)
    let waiter = try PostgresTool("shared-write", shared.url, shared.keyPath(), "0", "1")
    try eventually("it is queued") { try server.sql("SELECT count(*) FROM \(shared.schema).intents") == "1" }
    waiter.send(SIGSTOP)
    try wait(for: "nobody", server)
    turn.end()
    try checkCanceledWait(server, shared)
    #expect(try text(vault.get(ItemName(service: "writer", account: "0"))) == "1")
    waiter.send(SIGCONT)
    try eventually("it waits for the standby") {
      try server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1"
    }
    #expect(try waiter.lines.isEmpty)
    try wait(for: "", server)
    #expect(try waiter.finish() == ["acknowledged 1", "done 1"])
  }

  @Test func `a commit whose wait for the standby was canceled is uncertain`() throws {
    let server = try DatabaseServer.make(settings: ["synchronous_standby_names=nobody", "synchronous_commit=local"])
    let shared = try SharedVault(on: server, options: "coffer_allow_async=1")
    let vault = try shared.create()
    try vault.set(form("1"), for: name("a"))
    try server.sql("ALTER DATABASE postgres SET synchronous_commit = on")
    try checkCanceledWait(server, shared)
  }

  /// Cancels a write's wait for the standby, after which others see its commit.
  private func checkCanceledWait(_ server: DatabaseServer, _ shared: SharedVault) throws {
    let end = CofferTestSupport.Collected<StoreError.Kind?>()
    Thread.detachNewThread { end.add(kind { try shared.unlock().set(form("2"), for: name("a")) }) }
    try eventually("its wait is canceled") {
      try server.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "t"
    }
    eventually("it ends") { !end.all.isEmpty }
    #expect(end.all == [.outcomeUnknown])
  }

  /// An empty name ends the wait for a standby.
  private func wait(for standby: String, _ server: DatabaseServer) throws {
    try server.sql("ALTER SYSTEM SET synchronous_standby_names = '\(standby)'")
    try server.sql("SELECT pg_reload_conf()")
    try eventually("the setting is read") { try server.sql("SHOW synchronous_standby_names") == standby }
  }

  @Test func `a standby that a place prefers is read, and refused as behind until it has this machine's newest commit`() throws {
    let first = try DatabaseServer.make()
    let second = try first.standby(isSynchronous: true)
    let shared = try SharedVault(on: first)
    let name = String(shared.url.drop { $0 != "#" }.dropFirst())
    let a = try ItemName(service: "s", account: "a")
    let vault = try shared.create(shared.pins)
    try vault.set(form("1"), for: a)
    let hosts = first.place(name, besides: second)
    let both = VaultPlace(hosts.replacing("/postgres#", with: "/postgres?target_session_attrs=prefer-standby#"))
    func again() throws -> UnlockedVault {
      try LockedVault.open(both, options: shared.pins).unlock(with: shared.credentials())
    }
    eventually("the standby has it") { kind { _ = try again() } == nil }
    let reader = try again()
    #expect(try text(reader.get(a)) == "1" && reader.verify().items == 1)
    #expect(try second.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'coffer'") == "1")
    #expect(kind { try reader.set(form("x"), for: a) } == .readOnly)
    try first.sql("ALTER SYSTEM RESET synchronous_standby_names")
    try first.sql("SELECT pg_reload_conf()")
    try second.sql("SELECT pg_wal_replay_pause()")
    try eventually("nothing new comes") { try second.sql("SELECT pg_get_wal_replay_pause_state()") == "paused" }
    try vault.set(form("2"), for: a)
    #expect(kind { _ = try again() } == .unreachable)
    #expect(kind { _ = try reader.verify() } == .unreachable, "also to a vault that was open, as they have one pin")
    #expect(kind { try LockedVault.open(both, options: shared.pins).checkAge() } == .unreachable)
    let accepting = { _ = try LockedVault.open(both, options: shared.pins).unlockAcceptingPin(with: shared.credentials()) }
    #expect(kind(accepting) == .unreachable, "a lag is no reason to forget")
    try second.sql("SELECT pg_wal_replay_resume()")
    try eventually("it has caught up") { try text(again().get(a)) == "2" }
    #expect(try text(reader.get(a)) == "2")
    second.stop(SIGKILL)
    #expect(try text(again().get(a)) == "2", "the primary is left")
  }

  @Test(arguments: [true, false])
  func `a standby that is promoted has what was acknowledged, or is refused as rolled back where it was not waited for`(
    isSynchronous: Bool
  ) throws {
    let first = try DatabaseServer.make()
    let second = try first.standby(isSynchronous: isSynchronous)
    let schema = "v\(UInt64.random(in: 0 ... .max))"
    let place = VaultPlace(first.place(schema, besides: second))
    PostgresVaults.use()
    let key = SecretForm(try KeyFile.generate())
    let folder = try TestFolder("standby")
    let options = VaultOptions(pins: folder.path.appending("pins"))
    func credentials() throws -> Credentials { Credentials(keyFile: try key.bytes.duplicate()) }
    let vault = try UnlockedVault.create(at: place, with: credentials(), options: options)
    for round in 1...20 { try vault.set(form("\(round)"), for: name("a")) }
    if !isSynchronous {
      let written = try first.sql("SELECT pg_current_wal_lsn()")
      try eventually("the standby has all of it") { try second.sql("SELECT pg_last_wal_replay_lsn() >= '\(written)'") == "t" }
      try second.sql("ALTER SYSTEM SET primary_conninfo = ''")
      try second.sql("SELECT pg_reload_conf()")
      try eventually("the standby asks for no more") { try first.sql("SELECT count(*) FROM pg_stat_replication") == "0" }
    }
    for round in 21...25 { try vault.set(form("\(round)"), for: name("a")) }
    first.stop(SIGKILL)
    try second.sql("SELECT pg_promote()")
    func again() throws -> UnlockedVault {
      try LockedVault.open(place, options: options).unlock(with: credentials())
    }
    if isSynchronous {
      eventually("the vault is there") { kind { _ = try vault.get(name("a")) } == nil }
      #expect(try text(vault.get(name("a"))) == "25" && text(again().get(name("a"))) == "25")
      try second.sql("ALTER SYSTEM RESET synchronous_standby_names")
      try second.sql("SELECT pg_reload_conf()")
      try vault.set(form("26"), for: name("a"))
    } else {
      eventually("a server is there") { kind { _ = try vault.get(name("a")) } != .unreachable }
      #expect(kind { _ = try vault.get(name("a")) } == .rolledBack)
      #expect(kind { try vault.set(form("26"), for: name("a")) } == .rolledBack)
      #expect(kind { _ = try again() } == .rolledBack)
      // One consent covers all lost commits, and later writes.
      let accepted = try LockedVault.open(place, options: options).unlockAcceptingPin(with: credentials())
      try accepted.set(form("27"), for: name("a"))
      #expect(try text(again().get(name("a"))) == "27")
    }
  }
}
