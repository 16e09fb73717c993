import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferPostgres

@Suite(.tags(.campaign, .process), .wholeRun) struct ServerRestoreCampaign {
  private func backup(_ shared: SharedVault) throws -> FilePath {
    let file = shared.folder.path.appending("backup-\(UInt32.random(in: 0 ... .max))")
    _ = try LockedVault.open(shared.place, options: .withoutPins).backup(to: file)
    return file
  }

  @Test func `a backup becomes the vault's next commit, under the slots of now, and who has the vault open goes on`() throws {
    let shared = try SharedVault()
    let vault = try shared.create(shared.pins)
    let other = try shared.unlock()
    let leaver = try KeyFile.generate()
    let slot = try vault.addSlot(Credentials(keyFile: leaver.duplicate()), label: "leaver")
    for number in 0..<300 { try vault.set(form("\(number)"), for: name("\(number)"), keeping: 2) }
    try vault.set(form("again"), for: name("1"))
    let file = try backup(shared)
    try vault.removeSlot(slot.id)
    try vault.set(form("lost"), for: name("0"))
    try vault.set(form("lost too"), for: name("new"))
    let before = try vault.status().generation
    let report = try RestorableBackup(file, toRestoreAt: shared.place).restore(
      with: Credentials(keyFile: leaver.duplicate()), present: shared.credentials(), options: shared.pins)
    #expect(report.items == 300 && report.generation > before && report.id == vault.id && report.returnedSlots.isEmpty)
    #expect(try text(vault.get(name("0"))) == "0" && text(other.get(name("1"))) == "again" && other.get(name("new")) == nil)
    #expect(try text(other.get(name("1"), revision: 1)) == "1" && other.verify() == vault.verify())
    #expect(
      kind {
        _ = try LockedVault.open(shared.place, options: .withoutPins).unlock(with: Credentials(keyFile: leaver.duplicate()))
      } == .wrongSecret)
    #expect(try text(shared.unlock(shared.pins).get(name("299"))) == "299")
    let kept = try #require(report.kept)
    let old = try LockedVault.open(kept, options: .withoutPins).unlock(with: shared.credentials())
    #expect(try text(old.get(name("0"))) == "lost" && old.verify().items == 301)
    #expect(try other.log().map(\.event).contains(.restored))
    try other.set(form("goes on"), for: name("0"))
    #expect(try text(vault.get(name("0"))) == "goes on")
  }

  @Test func `who waits to write while a backup is put back writes after it`() throws {
    // As patient as the test: both must wait until the second has come.
    let shared = try SharedVault(options: "coffer_timeout=120")
    let vault = try shared.create()
    let other = try shared.unlock()
    try vault.set(form("old"), for: name("a"))
    let file = try backup(shared)
    let group = DispatchGroup()
    func later(_ isWaiting: String, _ body: @escaping @Sendable () throws -> Void) throws {
      group.enter()
      Thread.detachNewThread {
        do { try body() } catch { Issue.record(error) }
        group.leave()
      }
      try eventually("it waits") { try shared.server.sql("SELECT count(*) \(isWaiting)") == "1" }
    }
    try vault.rehearse([.set(form("x"), for: name("b"))])
    let third = try ForeignTurn(shared)
    try later("FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%\(shared.schema)%'") {
      _ = try RestorableBackup(file, toRestoreAt: shared.place).restore(with: shared.credentials(), options: .withoutPins)
    }
    try later("FROM \(shared.schema).intents") { try other.set(form("after"), for: name("c")) }
    third.end()
    group.wait()
    #expect(try text(vault.get(name("a"))) == "old" && text(vault.get(name("c"))) == "after")
    _ = try vault.verify()
  }

  @Test func `where nothing is, the vault is made of the backup, and where another vault is, that is asked for`() throws {
    let shared = try SharedVault()
    let away = try SharedVault()
    let vault = try shared.create()
    try vault.set(form("1"), for: name("a"))
    let file = try backup(shared)
    let report = try RestorableBackup(file, toRestoreAt: away.place).restore(with: shared.credentials(), options: .withoutPins)
    #expect(report.kept == nil && report.items == 1)
    let made = try LockedVault.open(away.place, options: .withoutPins).unlock(with: shared.credentials())
    #expect(try text(made.get(name("a"))) == "1" && made.verify().items == 1 && made.id == vault.id)

    let another = try SharedVault()
    try another.create()
    #expect(
      kind {
        _ = try RestorableBackup(file, toRestoreAt: another.place).restore(with: shared.credentials(), options: .withoutPins)
      }
        == .otherVault)
    _ = try RestorableBackup(file, toRestoreAt: another.place).restore(
      with: shared.credentials(), options: .withoutPins, replacing: true)
    #expect(
      try LockedVault.open(another.place, options: .withoutPins).unlock(with: shared.credentials()).id == vault.id)
    #expect(
      kind { _ = try RestorableBackup(file, toRestoreAt: shared.place).restore(with: away.credentials(), options: .withoutPins) }
        == .wrongSecret)
  }

  @Test func `where a table was dropped, the schema is renamed and the backup makes the vault anew`() throws {
    let shared = try SharedVault()
    try shared.create().set(form("old"), for: name("a"))
    let file = try backup(shared)
    try shared.server.sql("DROP TABLE \(shared.schema).rec")
    let error = #expect(throws: StoreError.self) {
      _ = try RestorableBackup(file, toRestoreAt: shared.place).restore(
        with: shared.credentials(), options: .withoutPins)
    }
    #expect(error?.kind == .notAVault && error?.cure.contains("have the schema renamed") == true)
    try shared.server.sql("ALTER SCHEMA \(shared.schema) RENAME TO changed_\(shared.schema.suffix(20))")
    _ = try RestorableBackup(file, toRestoreAt: shared.place).restore(with: shared.credentials(), options: .withoutPins)
    #expect(try text(shared.unlock().get(name("a"))) == "old")
  }

  @Test func `rows that somebody damaged are replaced, whatever they say`() throws {
    let shared = try SharedVault()
    let vault = try shared.create()
    try vault.set(form("1"), for: name("a"))
    let file = try backup(shared)
    for damage in [
      "DELETE FROM S.state", "UPDATE S.header SET bytes = '\\x00'; UPDATE S.header_copy SET bytes = '\\x00'",
      "INSERT INTO S.rec SELECT '\\xffffff', rid, meta, value FROM S.rec",
      "INSERT INTO S.digest VALUES (5000, decode(repeat('00', 32), 'hex'))",
      "DELETE FROM S.log", "INSERT INTO S.decided VALUES (decode(repeat('00', 16), 'hex'), 9, 1)",
    ] {
      try shared.server.sql(damage.replacingOccurrences(of: "S.", with: shared.schema + "."))
      let report = try RestorableBackup(file, toRestoreAt: shared.place).restore(
        with: shared.credentials(), options: .withoutPins, acceptingOlderKey: true)
      #expect(try report.items == 1 && shared.unlock().verify().items == 1, "\(damage)")
    }
  }

  @Test func `a connection cut at any byte of a restore leaves what was there or the backup, and says which`() throws {
    let server = try DatabaseServer.shared
    let direct = try SharedVault()
    let proxy = try SocketProxy(server.folder, target: server.port)
    defer { proxy.end() }
    let vault = try direct.create()
    try vault.set(form("old"), for: name("a"))
    let file = try backup(direct)
    let place = VaultPlace(direct.url.replacingOccurrences(of: ":\(server.port)/", with: ":\(proxy.port)/"))
    func restore() throws {
      _ = try RestorableBackup(file, toRestoreAt: place).restore(
        with: direct.credentials(), options: .withoutPins, acceptingOlderKey: true)
    }
    _ = proxy.count()
    try restore()
    let size = proxy.count()
    var tally: [String: Int] = [:]
    for up in [true, false] {
      for cut in Campaign.cases(up ? size.up : size.down, short: 16) {
        try vault.set(form("new"), for: name("a"))
        proxy.cut(after: cut, up: up)
        let outcome = kind { try restore() }
        proxy.mend()
        let found = try text(vault.get(name("a")))
        switch outcome {
        case nil: #expect(found == "old", "restored at \(up) \(cut)")
        case .unreachable: #expect(found == "new", "refused at \(up) \(cut)")
        default: Issue.record("\(String(describing: outcome)) at \(up) \(cut)")
        }
        tally["\(outcome.map { "\($0)" } ?? "made")", default: 0] += 1
        _ = try vault.verify()
        try server.sql(
          """
          DO $$ DECLARE s text; BEGIN FOR s IN SELECT nspname FROM pg_namespace WHERE nspname LIKE '\(direct.schema.prefix(36))_before_%'
          LOOP EXECUTE 'DROP SCHEMA ' || s || ' CASCADE'; END LOOP; END $$
          """)
      }
    }
    #expect(tally["made", default: 0] > 0 && tally["unreachable", default: 0] > 0)
    print("cut restores: \(tally.sorted { $0.key < $1.key })")
  }
}
