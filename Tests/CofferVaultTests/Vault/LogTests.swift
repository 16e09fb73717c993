import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct VaultLogTests {
  let name: ItemName
  init() throws { name = try ItemName(service: "svc", account: "a") }

  @Test func `the log tells who did what to which item, and names items that still exist`() throws {
    let place = try TemporaryVault()
    let gone = try ItemName(service: "gone")
    let vault = try place.create()
    try vault.set(form("1"), for: name)
    try vault.set(form("2"), for: gone)
    try vault.remove(gone)
    _ = try vault.lock()
    let again = try place.unlock()
    #expect(try again.get(name) != nil)
    try again.set(form("3"), for: name)
    try again.set(form("4"), for: name)
    let log = try again.log()
    let events: [VaultLogEntry.Event] = [.vaultCreated, .itemSet, .itemSet, .itemDeleted, .unlocked, .itemSet, .itemSet]
    #expect(log.map(\.event) == events)
    #expect(log.map(\.sequence) == Array(1...7))
    let items: [ItemName?] = [nil, name, nil, nil, nil, name, name]
    #expect(log.map(\.item) == items)
    #expect(log[2].index == log[3].index && log[2].index != log[1].index && log[0].index == nil)
    let slots = try again.status().slots.map { $0.summary.id.description }
    #expect(log[4].slot == slots.first)
    let isOurs = log.allSatisfy { $0.process == UInt32(getpid()) && $0.user == getuid() && !$0.program.contains("/") }
    #expect(isOurs)
    #expect(try again.log(limit: 2).map(\.sequence) == [6, 7])
    #expect(try again.logLength() == 7)
  }

  @Test func `the log names an item that can be brought back, and the slot that each change was made with`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let field = try name.field(named: "pin")
    try vault.set(form("1"), for: name)
    try vault.set(form("2"), for: field)
    try vault.remove(name, keptUntil: .distantFuture)
    #expect(try vault.log().map(\.item) == [nil, name, field, name, field])
    let first = try #require(try vault.status().slots.first?.summary.id.description)
    let keyFile = try KeyFile.generate()
    let copy = try keyFile.copy()
    let second = try vault.addSlot(Credentials(keyFile: keyFile)).id.description
    _ = try vault.lock()
    let again = try LockedVault.open(place.path).unlock(with: Credentials(keyFile: copy))
    try again.undelete(name)
    try again.rotate()
    #expect(try again.log().map(\.openedWith) == [first, first, first, first, first, first, second, second, second, second])
  }

  @Test func `the last rows are read from the end, and what comes before is not looked at`() throws {
    let (place, vault) = try trimmed(50)
    let all = try vault.read { (_) throws(StoreError) in try vault.entries(limit: nil) }
    for limit in [0, 1, 2, all.count - 1, all.count, all.count + 1, .max] {
      let last = try vault.read { (_) throws(StoreError) in try vault.entries(limit: limit) }
      #expect(last == Array(all.suffix(limit)), "\(limit)")
    }
    vault.view.database.close()
    try place.attack("UPDATE log SET box = \(changed("box", byte: 60)) WHERE seq = (SELECT max(seq) - 3 FROM log)")
    let opened = try place.unlock()
    #expect(try opened.log(limit: 3) == Array(all.suffix(3)))
    for limit in [4, 5, .max] { #expect(kind { _ = try opened.log(limit: limit) } == .tampered) }
    try place.attack("DELETE FROM log WHERE seq = (SELECT max(seq) - 3 FROM log)")
    #expect(kind { _ = try place.unlock().log(limit: 4) } == .tampered)
  }

  @Test func `a row of a copy that went on otherwise does not stand in its place`() throws {
    let one = try TemporaryVault()
    let vault = try one.create()
    try vault.set(form("1"), for: name)
    _ = try vault.lock()
    let two = try one.copy()
    for place in [one, two] {
      let vault = try place.unlock()
      for number in 0..<3 { try vault.set(form("\(number)"), for: name) }
      _ = try vault.lock()
    }
    try one.attack("ATTACH '\(two.path)' AS other; UPDATE log SET box = (SELECT box FROM other.log WHERE seq = 4) WHERE seq = 4")
    let mixed = try one.unlock()
    #expect(kind { _ = try mixed.log() } == .tampered && kind { _ = try mixed.verify() } == .tampered)
    #expect(kind { _ = try mixed.log(limit: 4) } == .tampered && kind { try mixed.rotate() } == .tampered)
  }

  @Test func `reading a vault writes nothing`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("1"), for: name)
    _ = try vault.lock()
    let before = try Data(contentsOf: URL(fileURLWithPath: place.path.string))
    let again = try place.unlock()
    _ = try (again.get(name), again.list(), again.log(), again.verify(), again.status())
    _ = try again.lock()
    #expect(try Data(contentsOf: URL(fileURLWithPath: place.path.string)) == before)
  }

  /// A vault whose log keeps 20 rows, after `writes` writes.
  func trimmed(_ writes: Int) throws -> (place: TemporaryVault, vault: OpenVault) {
    let place = try TemporaryVault()
    _ = try place.create().lock()
    let vault = try OpenVault.unlock(.file(place.path), with: TemporaryVault.credentials())
    vault.log.longest = 20
    for round in 0..<writes { try put("\(round)", vault) }
    return (place, vault)
  }

  func put(_ value: String, _ vault: OpenVault) throws {
    let value = try form(value)
    _ = try vault.write { (_, change) throws(StoreError) in try vault.items.put(value, for: name, if: .always, &change) }
  }

  @Test func `a log that grows too long loses its older half, says so, and stays a chain`() throws {
    let (place, vault) = try trimmed(0)
    var trims = 0
    for round in 0..<100 {
      try put("\(round)", vault)
      let length = try vault.read { (_) throws(StoreError) in try vault.log.length() }
      #expect(length <= 22)
      let log = try vault.read { (_) throws(StoreError) in try vault.entries(limit: nil) }
      #expect(log.count == length)
      if log.last?.event == .trimmed { trims += 1 }
    }
    #expect(trims >= 5)
    let opened = try place.unlock()
    #expect(try opened.verify().records == 1)
    #expect(try opened.log().first?.sequence != 1)
  }

  @Test(.tags(.campaign), .wholeRun, arguments: [3, 100])
  func `a row that is changed, taken away, added or moved breaks the chain`(writes: Int) throws {
    let attacks = [
      "DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)",
      "DELETE FROM log WHERE seq = (SELECT max(seq) - 2 FROM log)",
      "DELETE FROM log WHERE seq = (SELECT min(seq) FROM log)",
      "DELETE FROM log WHERE seq <= (SELECT min(seq) + 1 FROM log)",
      "UPDATE log SET box = \(changed("box", byte: 41)) WHERE seq = (SELECT max(seq) - 1 FROM log)",
      "UPDATE log SET box = \(changed("box", byte: 1)) WHERE seq = (SELECT min(seq) FROM log)",
      "INSERT INTO log SELECT seq + 1, box FROM log ORDER BY seq DESC LIMIT 1",
      "INSERT INTO log SELECT seq - 1, zeroblob(32) FROM log ORDER BY seq LIMIT 1",
      "DELETE FROM log",
    ]
    for attack in attacks {
      let (place, _) = try trimmed(writes)
      try place.attack(attack)
      let vault = try place.unlock()
      #expect(kind { _ = try vault.log() } == .tampered, "\(attack)")
      #expect(kind { _ = try vault.verify() } == .tampered, "\(attack)")
    }
  }

  @Test func `a rotation leaves a log that lost rows whole, with its beginning`() throws {
    let (place, vault) = try trimmed(50)
    let beginning = "SELECT seq || hex(box) FROM log ORDER BY seq LIMIT 1"
    let rows = "SELECT hex(box) FROM log ORDER BY seq LIMIT 1 OFFSET 1"
    let (before, oldRow) = try (place.hex(beginning), place.hex(rows))
    let log = try vault.read { (_) throws(StoreError) in try vault.entries(limit: nil) }
    for _ in 0..<2 {
      let unlocked = try place.unlock()
      try unlocked.rotate()
      #expect(try unlocked.verify().records == 1)
      #expect(try unlocked.log().prefix(log.count).map(\.sequence) == log.map(\.sequence))
      #expect(try unlocked.log().prefix(log.count).map(\.event) == log.map(\.event))
    }
    #expect(try place.hex(beginning) == before)
    #expect(try place.hex(rows) != oldRow)
    for round in 0..<40 { try put("\(round)", vault) }
    #expect(try place.hex(beginning) != before)
    #expect(try place.unlock().verify().records == 1)
    #expect(try place.unlock().log().contains { $0.event == .trimmed })
  }

  @Test(arguments: [
    "DELETE FROM log WHERE seq = (SELECT min(seq) FROM log)",
    "UPDATE log SET box = zeroblob(32) WHERE seq = (SELECT min(seq) FROM log)",
    "INSERT INTO log VALUES (0, zeroblob(32))",
  ])
  func `a rotation does not seal a log that does not begin where it says`(attack: String) throws {
    let (place, _) = try trimmed(50)
    try place.attack(attack)
    #expect(kind { try place.unlock().rotate() } == .tampered)
    #expect(try place.unlock().status().epoch == 1)
  }

  @Test func `a rotation makes the pin follow, and an older file is noticed after it`() throws {
    let pinned = try PinnedVault()
    let older = try pinned.bytes()
    let vault = try pinned.unlock()
    try vault.rotate()
    _ = try vault.lock()
    #expect(try pinned.refusal() == nil)
    try pinned.replace(with: older)
    #expect(try pinned.refusal() == .rolledBack)
  }

  @Test func `a broken log is not trimmed, which would hide it, and fails no write`() throws {
    let (place, vault) = try trimmed(15)
    try place.attack("DELETE FROM log WHERE seq = 3")
    for round in 0..<30 { try put("\(round)", vault) }
    #expect(kind { _ = try place.unlock().log() } == .tampered)
    #expect(text(try place.unlock().get(name)) == "29")
  }
}
