import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct FieldTests {
  private let place: TemporaryVault
  private let item = ItemName(sealed: "bank.example", "ann")

  init() throws { place = try TemporaryVault() }

  private func vault(_ fields: String...) throws -> UnlockedVault {
    let vault = try place.create()
    try vault.set(form("password"), for: item)
    for field in fields { try vault.set(form("the \(field)"), for: item.field(named: field)) }
    return vault
  }

  @Test func `a field is read, written and listed by itself, and no listing of items shows it`() throws {
    let vault = try vault("pin", "totp")
    let pin = try item.field(named: "pin")
    #expect(try text(vault.get(pin)) == "the pin" && text(vault.get(item)) == "password")
    #expect(try vault.set(form("4711", ItemMetadata(label: "PIN")), for: pin).revision == 2)
    #expect(try vault.item(item)?.revision == 1, "it changes alone")
    #expect(try vault.fields(of: item).map(\.name.field) == ["pin", "totp"])
    #expect(try vault.fields(of: item).first?.metadata.label == "PIN")
    #expect(try vault.fields(of: pin) == vault.fields(of: item), "of the field's item")
    #expect(try vault.list().map(\.name) == [item] && vault.list(service: "bank.example").count == 1)
    #expect(try vault.status().items == 1 && vault.verify().records == 3 && vault.verify().items == 1)
    #expect(kind { try vault.set(form("x"), for: pin, if: .revision(1)) } == .conflict)
    #expect(try vault.remove(pin) && !vault.remove(pin))
    #expect(try place.unlock().fields(of: item).map(\.name.field) == ["totp"])
    #expect(try vault.log().suffix(2).map(\.event) == [.itemSet, .itemDeleted])
  }

  @Test func `names are bytes, of a length and without control characters`() throws {
    let vault = try vault("caf\u{E9}", "cafe\u{301}")
    #expect(try vault.fields(of: item).count == 2)
    #expect(try item.field(named: String(repeating: "x", count: 256)).field.utf8.count == 256)
    for wrong in ["", String(repeating: "x", count: 257), "a\nb"] {
      #expect(kind { _ = try item.field(named: wrong) } == .invalidName)
    }
    let field = try item.field(named: "f")
    #expect(field != item && field.item == item && item < field && field.description == "bank.example/ann#f")
    #expect(Set([field, item, try item.field(named: "f")]).count == 2)
  }

  @Test func `there is no field without its item, and no 65th`() throws {
    let vault = try vault()
    let other = try ItemName(service: "none")
    #expect(kind { try vault.set(form("x"), for: other.field(named: "f")) } == .notFound)
    #expect(kind { _ = try vault.fields(of: other) } == .notFound)
    for number in 0..<64 { try vault.set(form("x"), for: item.field(named: "\(number)")) }
    #expect(kind { try vault.set(form("x"), for: item.field(named: "64")) } == .tooLarge(limit: 64))
    try vault.set(form("y"), for: item.field(named: "63"))
    #expect(kind { try vault.apply([.move(item.field(named: "0"), to: other)]) } == .invalidName)
    #expect(try vault.verify().records == 65)
  }

  @Test func `a step of several changes sees the fields that it makes and removes`() throws {
    let vault = try vault("pin")
    let (pin, totp) = (try item.field(named: "pin"), try item.field(named: "totp"))
    let new = try ItemName(service: "new")
    try vault.apply([
      .set(form("n"), for: new), .set(form("f"), for: new.field(named: "f")), .remove(pin), .set(form("t"), for: totp),
    ])
    #expect(try vault.fields(of: item).map(\.name) == [totp] && vault.fields(of: new).count == 1)
    try vault.apply([.remove(totp), .remove(item)])
    #expect(try vault.verify().records == 2)
    #expect(kind { try vault.apply([.remove(new), .set(form("x"), for: new.field(named: "g"))]) } == .notFound)
    #expect(try vault.fields(of: new).count == 1, "nothing was done of it")
    var batch = Batch<Vault>()
    batch.writes = ["": .remove]
    try vault.commit(batch, service: "new")
    #expect(try vault.verify().records == 0)
  }

  @Test func `deleting, renaming and exporting an item take its fields along`() throws {
    let vault = try vault("pin", "totp")
    let new = try ItemName(service: "renamed")
    try vault.set(form("taken"), for: new)
    try vault.set(form("of taken"), for: new.field(named: "old"))
    try vault.apply([.move(item, to: new, if: .always)])
    #expect(try vault.fields(of: new).map(\.name.field) == ["pin", "totp"] && vault.verify().records == 3)
    #expect(try text(vault.get(new.field(named: "totp"))) == "the totp")
    try vault.apply([.move(new.field(named: "totp"), to: new.field(named: "code"))])
    #expect(try vault.fields(of: new).map(\.name.field) == ["code", "pin"])
    let export = place.folder.appending("export")
    #expect(try vault.export(to: export, with: TemporaryVault.credentials()) == 1)
    let exported = try LockedVault.open(export).unlock(with: TemporaryVault.credentials())
    #expect(try exported.fields(of: new).count == 2 && text(exported.get(new.field(named: "code"))) == "the totp")
    var lent: [ItemName] = []
    try vault.forEachItem(withFields: true, withoutValue: nil) { item, _ in lent.append(item.name) }
    #expect(try lent == [new, new.field(named: "code"), new.field(named: "pin")])
    try vault.remove(new)
    #expect(try vault.verify().records == 0)
    let report = try vault.add(lent.reversed().map { ImportedItem(name: $0, form: try form("back")) })
    #expect(report.added.count == 3 && kind { _ = try vault.verify() } == nil)
  }

  @Test func `an item that is brought back has the fields that were deleted with it`() throws {
    let vault = try vault("pin", "totp", "gone before")
    let before = try item.field(named: "gone before")
    try vault.remove(before, keptUntil: .distantFuture)
    usleep(3000)  // No event: the next is deleted later.
    try vault.remove(item, keptUntil: .distantFuture)
    #expect(try vault.deleted().map(\.item.name) == [item, before], "what comes back with its item is not told of")
    #expect(kind { try vault.undelete(before) } == .notFound)
    try vault.undelete(item)
    #expect(try vault.fields(of: item).map(\.name.field) == ["pin", "totp"])
    #expect(try vault.undelete(before).name == before)
    #expect(try text(vault.get(before)) == "the gone before" && vault.verify().records == 4)
    try vault.rotate()
    try vault.remove(item)
    #expect(try vault.verify().records == 0 && vault.deleted().isEmpty)
  }

  @Test func `a field has a history of its own, which goes with its item`() throws {
    let vault = try vault("pin")
    let pin = try item.field(named: "pin")
    for number in 2...4 { try vault.set(form("pin \(number)"), for: pin, keeping: 2) }
    #expect(try vault.revisions(of: pin).map(\.item.revision) == [4, 3, 2])
    #expect(try vault.revisions(of: item).map(\.item.revision) == [1])
    try vault.revert(pin, to: 2)
    #expect(text(try vault.get(pin)) == "pin 2")
    #expect(try vault.prune(.allBut(1), of: item) == 1)
    let new = try ItemName(service: "new")
    try vault.apply([.move(item, to: new)])
    #expect(try vault.revisions(of: new.field(named: "pin")).count == 2)
    #expect(try vault.revisions(of: pin).isEmpty)
    try vault.remove(new)
    #expect(try place.hex("SELECT count(*) FROM old") == "0")
  }

  @Test func `an item is removed with its fields although other records do not open`() throws {
    let vault = try vault("pin")
    for number in 0..<20 { try vault.set(form("other"), for: ItemName(service: "other", account: "\(number)")) }
    try vault.set(form("kept"), for: .sample, keeping: 1)
    try vault.set(form("kept still"), for: .sample)
    let spared = try [item, item.field(named: "pin"), .sample].map { name in
      try vault.core.run { (vault) throws(StoreError) in "x'\(vault.items.index(of: name))'" }
    }
    // Nor another one of their buckets, which are read too.
    let buckets = spared.map { "substr(\($0), 1, 1)" }
    try place.attack(
      """
      UPDATE rec SET meta = zeroblob(144) WHERE idx = (
        SELECT idx FROM rec WHERE substr(idx, 1, 1) NOT IN (\(buckets.joined(separator: ","))) LIMIT 1);
      UPDATE old SET meta = zeroblob(144)
      """)
    let again = try place.unlock()
    #expect(kind { _ = try again.verify() } == .tampered && kind { _ = try again.list() } == .tampered)
    #expect(try again.status().items == 22, "what does not open is counted as an item")
    #expect(try again.remove(item))
    #expect(try again.get(item) == nil)
    #expect(text(try again.get(.sample)) == "kept still")
    // A new item's revision must exceed all of its name's earlier ones.
    #expect(try again.remove(.sample))
    #expect(kind { try again.set(form("x"), for: .sample) } == .tampered)
  }

  @Test func `a field whose item is not there, and a 65th, are damage to verify; a repair leaves the former out`() throws {
    for orphan in [true, false] {
      let place = try TemporaryVault()
      let vault = try place.create()
      try vault.set(form("x"), for: item)
      _ = try vault.lock()
      let open = try OpenVault.unlock(.file(place.path), with: TemporaryVault.credentials())
      let service = orphan ? "no such item" : item.service
      try open.write { (_, change) throws(StoreError) in
        for number in 0..<(orphan ? 1 : 65) {
          let meta = RecordMeta(
            revision: 1, service: service, account: item.account, field: "\(number)", created: 1, modified: 1)
          try open.plant(meta, [1], &change)
        }
      }
      open.view.database.close()
      let again = try place.unlock()
      #expect(kind { _ = try again.verify() } == .damaged)
      #expect(try again.list().map(\.name) == [item])
      try again.rotate()
      #expect(kind { _ = try again.verify() } == .damaged)
      guard orphan else { continue }
      _ = try again.lock()
      let report = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials(), rebuilding: true)
      #expect(report.droppedRecords == 1 && report.items == 1)
      #expect(try place.unlock().verify().records == 1)
    }
  }
}
