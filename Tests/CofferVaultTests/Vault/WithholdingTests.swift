import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

extension TemporaryVault {
  /// The vault as an agent opens it.
  func unlockWithholding() throws -> UnlockedVault {
    var options = VaultOptions.withoutPins
    (options.withholdsKeys, options.keepsIndex) = (true, true)
    return try LockedVault.open(path, options: options).unlock(with: Self.credentials())
  }
}

@Suite struct WithholdingTests {
  private let place: TemporaryVault
  /// A withheld item with a former version.
  private let key = ItemName(sealed: "github", "deploy")
  /// An ordinary item with a withheld field.
  private let ada = ItemName(sealed: "svc", "ada"), seed = ItemName(sealed: "svc", "ada", field: "seed")
  /// A deleted key, and an item that was one.
  private let gone = ItemName(sealed: "gone", "old"), freed = ItemName(sealed: "svc", "freed")

  init() throws {
    place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("withheld 1", rules("never")), for: key, keeping: 9)
    try vault.set(form("withheld 2", rules("always")), for: key)
    try vault.set(form("certificate"), for: key.field(named: "certificate"))
    try vault.set(form("ordinary", ItemMetadata(label: "Ada", attributes: ["k": "v"])), for: ada, keeping: 9)
    try vault.set(form("withheld 3", rules("never")), for: seed, keeping: 9)
    try vault.set(form("withheld 4", rules("never")), for: gone)
    try vault.remove(gone, keptUntil: .distantFuture)
    try vault.set(form("withheld 5", rules("never")), for: freed, keeping: 9)
    try vault.set(form("free", ItemMetadata(attributes: ["k": "v"])), for: freed)
  }

  private func rules(_ ask: String) -> ItemMetadata {
    ItemMetadata(label: "a key", attributes: ["coffer.use": "only", "coffer.use.ask": ask])
  }

  private func lent(_ vault: borrowing UnlockedVault, _ name: ItemName) throws -> [String?] {
    try vault.withKey(name) { (value, item) throws(StoreError) in
      [value.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, item.metadata.attributes["coffer.use.ask"]]
    }
  }

  private func everyRevision(_ vault: borrowing UnlockedVault) throws -> [(ItemName, VaultRevision)] {
    var found: [(ItemName, VaultRevision)] = []
    for name in [key, seed, gone, freed] { for one in try vault.revisions(of: name) { found.append((name, one)) } }
    return found
  }

  @Test func `no version of a withheld record goes to a reader of an agent's vault`() throws {
    let vault = try place.unlockWithholding()
    for name in [key, seed] {
      #expect(kind { _ = try vault.get(name) } == .refused)
      #expect(kind { _ = try vault.getWithItem(name) } == .refused)
      #expect(kind { _ = try vault.contents(of: [ada, name], mostBytes: 999) } == .refused)
    }
    #expect(kind { _ = try vault.load(["deploy"], service: "github") } == .refused)
    #expect(kind { try vault.forEachItem { _, _ in } } == .refused)
    var read: [String?] = []
    for (name, one) in try everyRevision(vault) {
      let revision = one.item.revision
      guard one.item.metadata.isWithheld else {
        read.append(text(try vault.get(name, revision: revision)))
        continue
      }
      let error = try expect(.refused) { _ = try vault.get(name, revision: revision) }
      #expect(error.key == name.description && !error.description.contains("withheld"))
    }
    #expect(try read == ["free"] && text(vault.get(ada)) == "ordinary")
    #expect(text(try vault.get(key.field(named: "certificate"))) == "certificate")
    // Descriptions are no secrets.
    #expect(try vault.item(key)?.metadata == rules("always") && vault.list().contains { $0.name == key })
    #expect(try vault.fields(of: ada).map(\.name) == [seed] && vault.deleted().map(\.item.name) == [gone])
  }

  @Test func `a process that opens the vault by itself reads withheld records`() throws {
    let vault = try place.unlock()
    var read: [String] = []
    for (name, one) in try everyRevision(vault) {
      read.append(text(try vault.get(name, revision: one.item.revision)) ?? "")
    }
    #expect(read == ["withheld 2", "withheld 1", "withheld 3", "withheld 4", "free", "withheld 5"])
    #expect(
      try text(vault.get(key)) == "withheld 2" && text(vault.contents(of: [seed], mostBytes: 99).first?.form) == "withheld 3")
  }

  @Test func `a store over an agent's vault has no withheld value`() throws {
    let store = try VaultStore(service: "github", vault: place.unlockWithholding())
    #expect(kind { _ = try store.load("deploy") } == .refused)
    #expect(kind { _ = try store.load(["deploy"]) } == .refused)
    #expect(kind { try store.update("deploy") { (old) throws(StoreError) in old } } == .refused)
    #expect(kind { try store.save(form("mine"), for: "deploy") } == .refused)
    #expect(try store.names() == ["deploy"] && lent(place.unlock(), key) == ["withheld 2", "always"])
  }

  @Test func `withKey lends the value and the listing of withheld records only, to a body that may call the vault`() throws {
    let vault = try place.unlockWithholding()
    #expect(try lent(vault, key) == ["withheld 2", "always"] && lent(vault, seed) == ["withheld 3", "never"])
    #expect(kind { _ = try lent(vault, ada) } == .refused)
    #expect(kind { _ = try lent(vault, freed) } == .refused)
    #expect(kind { _ = try lent(vault, gone) } == .notFound)
    let (certificate, new) = try (key.field(named: "certificate"), form("new certificate"))
    let revision = try vault.withKey(key) { (_, item) throws(StoreError) in
      try vault.set(new, for: certificate)
      return item.revision
    }
    #expect(try revision == 2 && text(vault.get(certificate)) == "new certificate")
    let own = StoreError(.denied, "the body's own", cure: "none")
    #expect(kind { try vault.withKey(key) { (_, _) throws(StoreError) -> Void in throw own } } == .denied)
    var expired = rules("never")
    expired.expires = Date(timeIntervalSince1970: 1)
    try vault.set(form("withheld 6", expired), for: ItemName(service: "expired"), if: .absent)
    #expect(kind { _ = try lent(vault, ItemName(service: "expired")) } == .expired)
  }

  @Test func `nothing replaces, describes or restores a withheld record of an agent's vault`() throws {
    let vault = try place.unlockWithholding(), own = try place.unlock()
    let before = try (everyRevision(own).map(\.1), own.list(), own.generation())
    let changes: [ItemChange] = try [
      .set(form("mine"), for: key), .set(form("mine", rules("never")), for: key), .set(form("mine"), for: key, keeping: 0),
      .set(form("mine"), for: seed), .describe(key, as: rules("never")), .describe(key, as: ItemMetadata(label: "l")),
      .describe(key, as: rules("always"), keeping: 0), .describe(seed, as: ItemMetadata()), .undelete(gone),
      // Nor does a withheld record take the place of another.
      .set(form("mine", rules("never")), for: ada), .describe(ada, as: rules("never")),
    ]
    for change in changes {
      #expect(kind { try vault.apply([change]) } == .refused, "\(change)")
      #expect(kind { try vault.rehearse([change]) } == .refused, "\(change)")
      let other = ItemChange.set(try form("other"), for: try ItemName(service: "other"))
      #expect(kind { try vault.apply([other, change]) } == .refused, "\(change)")
    }
    for (name, revision) in [(key, UInt64(1)), (freed, 1)] {
      #expect(kind { try vault.revert(name, to: revision) } == .refused)
    }
    for metadata in [ItemMetadata(), rules("never")] {
      var batch = Batch<Vault>()
      batch.writes = try ["other": .set(form("other")), "deploy": .set(form("mine", metadata))]
      #expect(kind { try vault.commit(batch, service: "github") } == .refused)
    }
    let late = Date.distantFuture
    let imports: [[ImportedItem]] = try [
      [ImportedItem(name: key, form: form("mine"), modified: late)],
      [ImportedItem(name: key, form: form("mine", rules("never")), modified: late)],
      [ImportedItem(name: seed, form: form("mine"), modified: late)],
      [
        ImportedItem(name: ada, form: form("mine"), modified: late), ImportedItem(name: seed, form: form("mine"), modified: late),
      ],
    ]
    for items in imports {
      for policy in [DuplicatePolicy.replace, .newer, .replaceWithFields] {
        #expect(kind { _ = try vault.add(items, duplicates: policy, keeping: 9) } == .refused, "\(items.map(\.name)) \(policy)")
      }
    }
    #expect(try everyRevision(own).map(\.1) == before.0 && own.list() == before.1 && own.generation() == before.2)
  }

  @Test func `moving and deleting a withheld record changes neither who reads it nor its rules`() throws {
    let vault = try place.unlockWithholding()
    let (moved, field) = try (ItemName(service: "moved"), ada.field(named: "other"))
    try vault.apply([.move(key, to: moved), .move(seed, to: field)])
    #expect(try lent(vault, moved) == ["withheld 2", "always"] && lent(vault, field) == ["withheld 3", "never"])
    // Under its new name as under the old one, with its past.
    #expect(try vault.revisions(of: moved).count == 2 && vault.revisions(of: key).isEmpty)
    for name in [moved, field] {
      for one in try vault.revisions(of: name) {
        #expect(kind { _ = try vault.get(name, revision: one.item.revision) } == .refused)
      }
    }
    // An item that takes the name of a key gets nothing of it.
    try vault.apply([.move(freed, to: moved, if: .always)])
    #expect(text(try vault.get(moved)) == "free")
    let former = try #require(try vault.revisions(of: moved).last)
    #expect(kind { try vault.revert(moved, to: former.item.revision) } == .refused)
    #expect(try vault.remove(field, keptUntil: .distantFuture))
    #expect(kind { try vault.undelete(field) } == .refused)
    // An item whose field was withheld comes back without it, or not at all.
    let bob = try ItemName(service: "bob")
    try vault.apply([.set(form("bob"), for: bob)])
    try vault.apply([.set(form("withheld 6", rules("never")), for: bob.field(named: "seed"))])
    #expect(try vault.remove(bob, keptUntil: .distantFuture))
    #expect(kind { try vault.undelete(bob) } == .refused)
    #expect(try place.unlock().undelete(bob).name == bob)
  }

  @Test func `an agent's vault takes a new key, once, and lends no former one under its name`() throws {
    let vault = try place.unlockWithholding()
    try vault.set(form("withheld 6", rules("forwarded")), for: gone, if: .absent, keeping: 9)
    #expect(kind { try vault.set(form("x", rules("never")), for: gone, if: .absent) } == .alreadyExists)
    #expect(try lent(vault, gone) == ["withheld 6", "forwarded"])
    #expect(try vault.remove(gone))
    try vault.set(form("mine"), for: gone, keeping: 9)
    #expect(text(try vault.get(gone)) == "mine")
    // In another vault the deleted one is kept: the name of an ordinary item is no way to it.
    let copy = try place.copy()
    defer { withExtendedLifetime(copy) {} }
    let second = try copy.unlockWithholding()
    try second.remove(key, keptUntil: .distantFuture)
    let mine = try second.set(form("mine"), for: key, keeping: 9)
    #expect(try mine.metadata == ItemMetadata() && text(second.get(key)) == "mine")
    for revision in 1..<mine.revision {
      #expect(kind { _ = try second.get(key, revision: revision) } == .refused)
      #expect(kind { try second.revert(key, to: revision) } == .refused)
    }
  }

  /// The outcome of an import into a copy of the vault.
  private func outcome(
    _ items: [ImportedItem], _ policy: DuplicatePolicy, isTrial: Bool, withholds: Bool = true
  ) throws -> String {
    let copy = try place.copy()
    defer { withExtendedLifetime(copy) {} }
    let vault = try withholds ? copy.unlockWithholding() : copy.unlock()
    do throws(StoreError) {
      let report = try vault.add(items, duplicates: policy, keeping: 9, isTrial: isTrial)
      return "\(report.added) \(report.replaced) \(report.kept) \(try vault.list().map(\.revision))"
    } catch { return "\(error.kind) \(error.what)" }
  }

  @Test(arguments: DuplicatePolicy.allCases)
  func `the outcome of an import is the same whether it brings the withheld value or another`(_ policy: DuplicatePolicy) throws {
    let late = Date.distantFuture
    func items(_ right: Bool) throws -> [[ImportedItem]] {
      func value(_ number: Int) throws -> String { right ? "withheld \(number)" : "wit\(number)held  " }
      let whole = ItemMetadata(label: "Ada", attributes: ["k": "v"])
      let part = try ImportedItem(name: seed, form: form(value(3), rules("never")), modified: late)
      return try [
        [ImportedItem(name: key, form: form(value(2), rules("always")), modified: late)], [part],
        [ImportedItem(name: ada, form: form("ordinary", whole), modified: late), part],
        [
          ImportedItem(
            name: freed, form: form(value(5), rules("never")), created: nil, modified: nil, isPrevious: true),
          ImportedItem(name: freed, form: form("new"), modified: late),
        ],
      ]
    }
    var differences = 0
    for (right, wrong) in zip(try items(true), try items(false)) {
      for isTrial in [false, true] {
        #expect(try outcome(right, policy, isTrial: isTrial) == outcome(wrong, policy, isTrial: isTrial))
      }
      // It is no secret to a process with the vault's own secret.
      if try outcome(right, policy, isTrial: false, withholds: false) != outcome(wrong, policy, isTrial: false, withholds: false)
      {
        differences += 1
      }
    }
    #expect((differences > 0) == (policy != .keep && policy != .refuse))
  }

  @Test func `an export of an agent's vault is refused with a withheld record in it, and leaves nothing`() throws {
    let vault = try place.unlockWithholding()
    let target = place.folder.appending("export.sqlite")
    for services in [nil, ["github"], ["svc"]] as [[String]?] {
      #expect(
        kind { _ = try vault.export(to: target, services: services, with: TemporaryVault.credentials(), cost: .testing) }
          == .refused)
      #expect(!FileManager.default.fileExists(atPath: target.string))
    }
    try vault.remove(seed)
    #expect(try vault.export(to: target, services: ["svc"], with: TemporaryVault.credentials(), cost: .testing) == 2)
    let second = place.folder.appending("second.sqlite")
    #expect(try place.unlock().export(to: second, with: TemporaryVault.credentials(), cost: .testing) == 3)
    let exported = try LockedVault.open(second).unlock(with: TemporaryVault.credentials())
    #expect(try lent(exported, key) == ["withheld 2", "always"], "it stays withheld")
  }

  @Test func `only the exact attribute withholds a record`() throws {
    let vault = try place.unlockWithholding()
    for attributes in [["coffer.use": "Only"], ["coffer.use.public": "only"], ["Coffer.use": "only"]] {
      try vault.set(form("v", ItemMetadata(attributes: attributes)), for: ada)
      #expect(text(try vault.get(ada)) == "v")
    }
  }
}

extension StoredContent {
  var form: SecretForm? { if case .form(let form) = self { form } else { nil } }
}
