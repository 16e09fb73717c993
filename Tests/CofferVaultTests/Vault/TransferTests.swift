import CofferTestSupport
import CofferMemory
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct TransferTests {
  let place: TemporaryVault
  init() throws { place = try TemporaryVault() }

  func source() throws -> UnlockedVault {
    let vault = try place.create()
    let metadata = ItemMetadata(
      label: "a label", contentType: "application/octet-stream", attributes: ["k": "v", "é": "ü"],
      expires: Date(timeIntervalSince1970: 1))
    try vault.set(
      SecretForm(secret((0...255).map { UInt8($0) }), metadata: metadata), for: ItemName(service: "one", account: "a"))
    try vault.set(form(""), for: ItemName(service: "one"))
    try vault.set(form("other"), for: ItemName(service: "two", account: "b"))
    return vault
  }

  func export(_ vault: borrowing UnlockedVault, _ place: TemporaryVault, _ services: [String]? = nil) throws -> UnlockedVault {
    let target = place.folder.appending("export.sqlite")
    let count = try vault.export(to: target, services: services, with: Credentials(passphrase: secret("other")), cost: .testing)
    let opened = try LockedVault.open(target).unlock(with: Credentials(passphrase: secret("other")))
    #expect(try opened.verify().records == count)
    return opened
  }

  @Test func `an exported vault holds the same items, and nothing else of the old one`() throws {
    let vault = try source()
    let exported = try export(vault, place)
    let before = try vault.list(), after = try exported.list()
    #expect(after.map(\.name) == before.map(\.name) && after.map(\.metadata) == before.map(\.metadata))
    #expect(after.map(\.created) == before.map(\.created) && after.map(\.modified) == before.map(\.modified))
    #expect(exported.id != vault.id)
    #expect(try exported.get(ItemName(service: "one"))?.bytes.count == 0)
    var bytes: [UInt8] = []
    try exported.forEachItem { item, form in
      if item.name.account == "a" { bytes = form.bytes.withUnsafeBytes { Array($0) } }
    }
    #expect(bytes == (0...255).map { UInt8($0) }, "an expired value is exported too")
    let log = try exported.log().map(\.event)
    let events: [VaultLogEntry.Event] = [.vaultCreated, .itemSet, .itemSet, .itemSet]
    #expect(log == events)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder.string).allSatisfy { !$0.hasPrefix(".") })
  }

  @Test func `chosen services only, and one that has no items is an error that leaves nothing`() throws {
    let vault = try source()
    #expect(
      kind {
        _ = try vault.export(to: place.folder.appending("x"), services: ["nope"], with: TemporaryVault.credentials())
      } == .notFound)
    #expect(!FileManager.default.fileExists(atPath: place.folder.appending("x").string))
    #expect(try export(vault, place, ["two", "two"]).list().map(\.name.description) == ["two/b"])
    #expect(
      kind { _ = try vault.export(to: place.folder.appending("export.sqlite"), with: TemporaryVault.credentials()) }
        == .alreadyExists)
  }

  func items(_ names: [String], _ value: String = "imported") throws -> [ImportedItem] {
    try names.map { name in
      ImportedItem(
        name: try ItemName(service: name), form: try form(value, ItemMetadata(label: "new")),
        created: Date(timeIntervalSince1970: 1000), modified: Date(timeIntervalSince1970: 2000))
    }
  }

  @Test func `an import happens wholly or not at all, and a trial not at all`() throws {
    let vault = try source()
    let generation = try vault.status().generation
    #expect(kind { _ = try vault.add(items(["a", "two", "one"])) } == .alreadyExists)
    #expect(kind { _ = try vault.add(items(["a", "a"])) } == .ambiguous)
    var tooLarge = try items(["a"])
    tooLarge.append(
      ImportedItem(name: try ItemName(service: "b"), form: SecretForm(try SecretBytes(zeros: RecordLimits.largestValue + 1))))
    #expect(kind { _ = try vault.add(tooLarge) } == .tooLarge(limit: RecordLimits.largestValue))
    let trial = try vault.add(items(["a", "one"]), duplicates: .replace, isTrial: true)
    #expect(trial.added.map(\.service) == ["a"] && trial.replaced.map(\.service) == ["one"])
    #expect(try vault.status().generation == generation)

    let kept = try vault.add(items(["a", "one"]), duplicates: .keep)
    #expect(kept.added.map(\.service) == ["a"] && kept.kept.map(\.service) == ["one"])
    #expect(text(try vault.get(ItemName(service: "one"))) == "")
    #expect(try vault.item(ItemName(service: "a"))?.created == Date(timeIntervalSince1970: 1000))
    let replaced = try vault.add(items(["one"]), duplicates: .replace)
    #expect(replaced.replaced.map(\.service) == ["one"])
    #expect(text(try vault.get(ItemName(service: "one"))) == "imported")
    #expect(try vault.item(ItemName(service: "one"))?.revision == 2)
    #expect(try vault.verify().records == 4)
  }
}
