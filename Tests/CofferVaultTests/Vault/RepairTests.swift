import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite(.tags(.slow), .defaultRun) struct RepairTests {
  static let harmed = changed("bytes", byte: 41)

  func vault() throws -> PinnedVault {
    let pinned = try PinnedVault()
    let vault = try pinned.unlock()
    for number in 0..<20 { try vault.set(form("item \(number)"), for: ItemName(service: "many", account: "\(number)")) }
    _ = try vault.lock()
    return pinned
  }

  func repair(_ pinned: PinnedVault, rebuilding: Bool = false) throws -> RepairReport {
    try pinned.locked.repair(with: TemporaryVault.credentials(), rebuilding: rebuilding)
  }

  func expectSound(_ pinned: PinnedVault, items: Int) throws {
    let vault = try pinned.unlock()
    #expect(try vault.verify().records == items)
    #expect(text(try vault.get(pinned.name)) == "value 2")
    try vault.set(form("value 2"), for: pinned.name)
    #expect(try pinned.refusal() == nil)
  }

  @Test func `no former content is lost to the writes that follow a rebuild with an older record of the item`() throws {
    let place = try TemporaryVault()
    let name = ItemName.sample
    let vault = try place.create()
    for number in 1...3 { try vault.set(form("value \(number)"), for: name, keeping: 10) }
    _ = try vault.lock()
    let older = try place.rows()
    let again = try place.unlock()
    for number in 4...6 { try again.set(form("value \(number)"), for: name) }
    _ = try again.lock()
    try place.attack("\(older.joined(separator: ";")); DELETE FROM state")
    let report = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials())
    #expect(report.rebuiltState && report.items == 1)
    let repaired = try place.unlock()
    #expect(try repaired.item(name)?.revision == 6 && text(repaired.get(name)) == "value 3")
    for number in 7...9 { try repaired.set(form("value \(number)"), for: name) }
    let kept = try repaired.revisions(of: name).map { text(try repaired.get(name, revision: $0.item.revision)) ?? "" }
    #expect(kept == [9, 8, 7, 3, 5, 4, 3, 2, 1].map { "value \($0)" })
    #expect(try repaired.verify().records == 9)
  }

  @Test func `a sound vault is left as it is`() throws {
    let pinned = try vault()
    let before = try pinned.bytes()
    let report = try repair(pinned)
    #expect(report.foundNothing && report.kept == nil && report.items == 21 && report.unproven.isEmpty)
    #expect(try pinned.bytes() == before)
  }

  @Test(arguments: ["header", "header_copy"]) func `a damaged or missing header is written anew from the other copy`(
    table: String
  ) throws {
    for attack in ["UPDATE \(table) SET bytes = \(Self.harmed)", "DELETE FROM \(table)", "UPDATE \(table) SET bytes = x'00'"] {
      let pinned = try vault()
      try pinned.place.attack(attack)
      #expect(kind { _ = try pinned.unlock().verify() } == .damaged)
      let report = try repair(pinned)
      #expect(report.mendedHeader && !report.rebuiltState && report.kept == nil)
      #expect(try pinned.unlock().log().last?.event == .repaired)
      try expectSound(pinned, items: 21)
    }
  }

  @Test(arguments: ["header", "header_copy"]) func `a header edited with care is written anew from the other copy`(
    table: String
  ) throws {
    // The slot's own box, and the box with the vault's key.
    for byte in [42 + 74 + 40, 42 + 74 + 176 + 32 + 40] {
      let pinned = try vault()
      let bytes = try #require(Data(hex: pinned.place.hex("SELECT hex(bytes) FROM header")))
      var content = [UInt8](bytes.dropLast(32))
      content[byte] ^= 1
      let edited = Hex.text(content + PlainHash.digest(content).bytes)
      try pinned.place.attack("UPDATE \(table) SET bytes = x'\(edited)'")
      let report = try repair(pinned)
      #expect(report.mendedHeader && !report.rebuiltState)
      try expectSound(pinned, items: 21)
    }
  }

  @Test(arguments: [false, true]) func `a repair takes nothing back that another process has changed meanwhile`(
    rebuilding: Bool
  ) throws {
    let pinned = try vault()
    let database = try VaultDatabase.open(pinned.place.path)
    let slot = try VaultRepair.slot(in: database, with: TemporaryVault.credentials(), pinned.options)
    let repair = try VaultRepair(database, slot: slot, options: pinned.options, invitations: [])
    try pinned.unlock().rotate()
    #expect(kind { _ = try repair.run(rebuilding: rebuilding) { _ in true } } == .conflict)
    try expectSound(pinned, items: 21)
  }

  @Test func `both headers gone cannot be mended`() throws {
    let pinned = try vault()
    for table in ["header", "header_copy"] { try pinned.place.attack("UPDATE \(table) SET bytes = \(Self.harmed)") }
    #expect(kind { _ = try repair(pinned) } == .damaged)
  }

  @Test(arguments: [
    "DELETE FROM state", "UPDATE state SET bytes = \(harmed)", "UPDATE state SET bytes = zeroblob(8)",
    "UPDATE state SET bytes = randomblob(300)", "DELETE FROM state; DELETE FROM digest",
    "DELETE FROM state; UPDATE header SET bytes = x'00'",
  ]) func `a state that is gone or unreadable is rebuilt from the records that open`(attack: String) throws {
    let pinned = try vault()
    let generation = try pinned.unlock().status().generation
    try pinned.place.attack(attack)
    #expect(try pinned.refusal() != nil)
    let report = try repair(pinned)
    #expect(report.rebuiltState && report.items == 21 && report.droppedRecords == 0 && report.droppedLogRows == 0)
    #expect(report.generation > generation && report.unproven.count == 4)
    #expect(report.mendedHeader == attack.contains("header"))
    let kept = try #require(report.kept)
    #expect(FileManager.default.fileExists(atPath: kept.description))
    try expectSound(pinned, items: 21)
    #expect(try pinned.unlock().log().map(\.event).contains(.repaired))
  }

  @Test func `records and log rows that do not open are dropped, counted, and kept in the file beside`() throws {
    let pinned = try vault()
    try pinned.place.attack(
      """
      DELETE FROM state;
      UPDATE rec SET meta = zeroblob(length(meta)) WHERE idx = (SELECT idx FROM rec WHERE length(value) = 272 LIMIT 1);
      UPDATE log SET box = zeroblob(100) WHERE seq = 10;
      """)
    let report = try repair(pinned)
    #expect(report.droppedRecords == 1 && report.items == 20)
    #expect(report.droppedLogRows == 25 - 9)
    _ = try pinned.unlock().verify()
    let kept = try TemporaryVault()
    try FileManager.default.copyItem(atPath: #require(report.kept).description, toPath: kept.path.string)
    #expect(try kept.hex("SELECT count(*) FROM rec") == "21")
  }

  @Test(arguments: ["INSERT INTO log VALUES (0, zeroblob(32))", "INSERT INTO log VALUES (0, zeroblob(32)), (1, randomblob(32))"])
  func `of several beginnings of a log that lost rows, only the one that its chain follows is believed`(attack: String) throws {
    let place = try TemporaryVault()
    _ = try place.create().lock()
    let vault = try OpenVault.unlock(.file(place.path), with: TemporaryVault.credentials())
    vault.log.longest = 20
    let name = try ItemName(service: "svc")
    for round in 0..<50 {
      let value = try form("\(round)")
      _ = try vault.write { (_, change) throws(StoreError) in try vault.items.put(value, for: name, if: .always, &change) }
    }
    vault.view.database.close()
    let length = try place.unlock().log().count
    try place.attack("\(attack); DELETE FROM state")
    let report = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials())
    #expect(report.rebuiltState && report.droppedLogRows == (attack.contains("random") ? 2 : 1))
    let repaired = try place.unlock()
    #expect(try repaired.verify().records == 1)
    #expect(try repaired.log().count == length + 1 && repaired.log().last?.event == .repaired)
  }

  @Test func `records that do not fit a readable state are tampering, until someone decides to believe them`() throws {
    let pinned = try vault()
    try pinned.place.attack("DELETE FROM rec WHERE idx = (SELECT min(idx) FROM rec)")
    #expect(kind { _ = try repair(pinned) } == .tampered)
    let report = try repair(pinned, rebuilding: true)
    #expect(report.rebuiltState && report.items == 20)
    _ = try pinned.unlock().verify()
    #expect(try pinned.refusal() == nil)
  }

  @Test func `a vault that is whole is not rebuilt, whoever asks for it, and an older copy that is whole is refused`() throws {
    let pinned = try vault()
    let before = try pinned.bytes()
    let report = try repair(pinned, rebuilding: true)
    #expect(report.foundNothing && report.items == 21 && report.kept == nil)
    #expect(try pinned.bytes() == before)
    // A header alone is mended from its copy, and no state is rebuilt for it.
    try pinned.place.attack("UPDATE header SET bytes = x'00'")
    let mended = try repair(pinned, rebuilding: true)
    #expect(mended.mendedHeader && !mended.rebuiltState && mended.kept == nil)
    let older = try pinned.bytes()
    try pinned.write("newer")
    try pinned.replace(with: older)
    #expect(kind { _ = try repair(pinned, rebuilding: true) } == .rolledBack)
    #expect(try pinned.bytes() == older)
    // If damaged as well, it is rebuilt above everything seen here.
    try pinned.place.attack("DELETE FROM rec WHERE idx = (SELECT min(idx) FROM rec)")
    #expect(try repair(pinned, rebuilding: true).rebuiltState)
    #expect(try pinned.refusal() == nil)
  }

  @Test func `an older copy is not repaired into the present`() throws {
    let pinned = try vault()
    let older = try pinned.bytes()
    try pinned.write("newer")
    try pinned.replace(with: older)
    #expect(kind { _ = try repair(pinned) } == .rolledBack)
  }

  /// A vault of two slots, the older file with an unreadable state, and the vault after a slot was removed.
  func afterARemoval() throws -> (pinned: PinnedVault, code: [UInt8], older: Data) {
    let pinned = try vault()
    let code = try KeyFile.generate().revealed
    let vault = try pinned.unlock()
    let slot = try vault.addSlot(Credentials(keyFile: secret(code)), label: "lost phone")
    _ = try vault.lock()
    let before = try pinned.bytes()
    try pinned.place.attack("UPDATE state SET bytes = randomblob(300)")
    try pinned.place.attack("PRAGMA wal_checkpoint(TRUNCATE)")
    let older = try pinned.bytes()
    try pinned.replace(with: before)
    let again = try pinned.unlock()
    try again.removeSlot(slot.id)
    try again.set(form("value 2"), for: pinned.name)
    _ = try again.lock()
    return (pinned, code, older)
  }

  @Test func `a header of an older key brings removed slots back, and is refused until someone accepts that`() throws {
    let (pinned, code, older) = try afterARemoval()
    try pinned.replace(with: older)
    let pin = try pinned.content(pinned.pin("id-"))
    for rebuilding in [false, true] { #expect(kind { _ = try repair(pinned, rebuilding: rebuilding) } == .rolledBack) }
    #expect(try pinned.bytes() == older && pinned.content(pinned.pin("id-")) == pin)

    let report = try pinned.locked.repair(with: TemporaryVault.credentials(), acceptingOlderKey: true)
    #expect(report.rebuiltState && report.unproven.count == 5)
    #expect(report.returnedSlots.map(\.label).sorted() == ["", "lost phone"])
    #expect(report.returnedSlots.filter(\.isInUse).map(\.label) == [""])
    let opened = try pinned.locked.unlock(with: Credentials(keyFile: secret(code)))
    #expect(try opened.list().count == 21)
    _ = try opened.lock()
    let vault = try pinned.unlock()
    try vault.rotate(only: report.returnedSlots.filter(\.isInUse).map(\.summary.id))
    #expect(kind { _ = try pinned.locked.unlock(with: Credentials(keyFile: secret(code))) } == .wrongSecret)
    #expect(try repair(pinned).foundNothing)
  }

  @Test func `without a pin the header's copy tells of a newer key`() throws {
    let (pinned, _, older) = try afterARemoval()
    let past = try TemporaryVault()
    try older.write(to: URL(fileURLWithPath: past.path.string))
    let unpinned = try LockedVault.open(pinned.place.path)
    // Only the header is older: the copy has the records' key.
    try pinned.place.attack(
      "ATTACH '\(past.path)' AS past; UPDATE header SET bytes = (SELECT bytes FROM past.header); UPDATE state SET bytes = x'00'")
    let report = try unpinned.repair(with: TemporaryVault.credentials())
    #expect(report.mendedHeader && report.items == 21 && report.returnedSlots.isEmpty && report.droppedRecords == 0)
    var all = "ATTACH '\(past.path)' AS past;"
    for table in ["header", "state", "digest", "rec", "old", "log"] {
      all += "DELETE FROM main.\(table); INSERT INTO main.\(table) SELECT * FROM past.\(table);"
    }
    try pinned.place.attack(all)
    // If no state opens under either header, the newer counts, and nothing of the older returns.
    let emptied = try unpinned.repair(with: TemporaryVault.credentials())
    #expect(emptied.items == 0 && emptied.droppedRecords == 21 && emptied.returnedSlots.isEmpty)
  }

  @Test func `a state that fits an older header does not make it the newer one`() throws {
    // The whole vault of the previous epoch, with the current copy.
    let place = try TemporaryVault()
    let first = try place.create()
    let before = try KeptFiles(place.folder, ["vault.sqlite"])
    try first.rotate()
    _ = try first.lock()
    let copy = try place.hex("SELECT quote(bytes) FROM header_copy")
    try before.put(into: place.folder)
    try place.attack("UPDATE header_copy SET bytes = \(copy)")
    #expect(kind { _ = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials()) } == .rolledBack)
  }

  @Test func `without a pin the stated generation is gone beyond, and a senseless one is not believed`() throws {
    let pinned = try vault()
    let locked = try LockedVault.open(pinned.place.path)
    try pinned.place.attack("UPDATE state SET bytes = CAST(x'FFFFFFFFFFFFFF7F' || substr(bytes, 9) AS BLOB)")
    #expect(try locked.repair(with: TemporaryVault.credentials()).generation == 1)
    let other = try vault()
    try other.place.attack("UPDATE state SET bytes = CAST(x'2A00000000000000' || substr(bytes, 9) AS BLOB)")
    #expect(try LockedVault.open(other.place.path).repair(with: TemporaryVault.credentials()).generation == 43)
  }
}
