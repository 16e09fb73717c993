import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct InternalItemTests {
  private let place: TemporaryVault
  private let log = ItemName(sealed: "coffer.uses", "machine")
  private let ada = ItemName(sealed: "svc", "ada")
  private static let metadata = ItemMetadata(attributes: ["coffer.use": "only", "count": "0"])

  init() throws {
    place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("ordinary"), for: ada)
    try vault.changeInternal(.set(form("key of the log", Self.metadata), for: log, if: .absent))
  }

  private func lent(_ vault: borrowing UnlockedVault) throws -> [String?] {
    try vault.withKey(log) { (value, item) throws(StoreError) in
      [value.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, item.metadata.attributes["count"]]
    }
  }

  private func expectHidden(_ vault: borrowing UnlockedVault) throws {
    #expect(try vault.list().map(\.name) == [ada] && vault.list(service: "coffer.uses").isEmpty)
    #expect(try vault.find(ItemQuery()).count == 1 && vault.find(ItemQuery(service: "coffer.uses")).isEmpty)
    var marked = ItemQuery(service: "svc")
    (marked.attributes, marked.besides) = ([.init("coffer.use", "only")], .init("count"))
    #expect(try vault.find(marked).isEmpty && vault.count(ItemQuery()) == 1)
    #expect(try vault.names(of: nil, prefix: "") == ["svc"] && vault.names(of: "coffer.uses", prefix: "").isEmpty)
    #expect(try vault.get(log) == nil && vault.getWithItem(log) == nil && vault.item(log) == nil)
    #expect(kind { _ = try vault.fields(of: log) } == .notFound)
    #expect(try vault.load(["machine"], service: "coffer.uses").allSatisfy { $0.form == nil && $0.stamp == .absent })
    #expect(try !vault.contains("machine", service: "coffer.uses"))
    #expect(try vault.version(of: "machine", service: "coffer.uses") == .absent)
    guard case .absent = try vault.contents(of: [log], mostBytes: 99)[0] else { Issue.record("not absent"); return }
    #expect(try vault.revisions(of: log).isEmpty && vault.get(log, revision: 1) == nil)
    #expect(try vault.deleted().isEmpty && vault.deleted(service: "coffer.uses").isEmpty)
    var read: [String] = []
    try vault.forEachItem(withFields: true) { item, _ in read.append(item.name.description) }
    #expect(read == ["svc/ada"])
    #expect(try lent(vault) == ["key of the log", "0"])
  }

  @Test func `an internal item is no item to anyone who reads`() throws {
    try expectHidden(place.unlock())
    let agents = try place.unlockWithholding()
    try expectHidden(agents)
    #expect(try agents.status().items == 1)
    let store = try VaultStore(service: "coffer.uses", vault: place.unlock())
    #expect(try store.load("machine") == nil && store.names().isEmpty && store.sessionItems().isEmpty)
  }

  @Test func `only changeInternal writes below the service, in every vault`() throws {
    let metadata = ItemMetadata(attributes: ["count": "9"])
    let other = try ItemName(service: "coffer.uses.more")
    let changes: [ItemChange] = try [
      .set(form("x"), for: log), .set(form("x"), for: other, if: .absent), .set(form("x"), for: log.field(named: "f")),
      .describe(log, as: metadata), .remove(log), .move(log, to: ItemName(service: "out")),
      .move(ada, to: log, if: .always), .move(ada, to: other), .undelete(log),
    ]
    func expectRefused(_ vault: borrowing UnlockedVault) throws {
      for change in changes { #expect(kind { try vault.apply([change]) } == .refused, "\(change)") }
      #expect(kind { try vault.revert(log, to: 1) } == .refused)
      #expect(kind { try vault.remove(log) } == .refused)
      for value in [try form("x"), nil] {
        var batch = Batch<Vault>()
        batch.writes["machine"] = Write(value)
        #expect(kind { try vault.commit(batch, service: "coffer.uses") } == .refused)
      }
      for policy in DuplicatePolicy.allCases {
        #expect(kind { _ = try vault.add([ImportedItem(name: log, form: form("x"))], duplicates: policy) } == .refused)
      }
    }
    let vault = try place.unlockWithholding()
    try expectRefused(place.unlock())
    try expectRefused(vault)
    try expectHidden(vault)
    // With the names of items, it is apply.
    #expect(kind { try vault.changeInternal(.move(ada, to: log, if: .always)) } == .refused)
    #expect(kind { try vault.changeInternal(.move(log, to: ada, if: .always)) } == .refused)
    #expect(kind { try vault.changeInternal(.set(form("x"), for: log, if: .absent)) } == .alreadyExists)
    var anchor = Self.metadata
    anchor.attributes["count"] = "12"
    #expect(try vault.changeInternal(.describe(log, as: anchor, if: .revision(1)))?.revision == 2)
    #expect(try lent(vault) == ["key of the log", "12"] && text(vault.get(ada)) == "ordinary")
  }

  @Test func `whoever keeps a vault whole keeps its internal items`() throws {
    let vault = try place.unlock()
    #expect(try vault.verify().records == 2 && vault.verify().items == 2)
    try vault.rotate()
    try expectHidden(vault)
    let backup = place.folder.appending("backup.sqlite")
    _ = try LockedVault.open(place.path).backup(to: backup)
    let restored = try TemporaryVault()
    let report = try RestorableBackup(backup, toRestoreAt: restored.path).restore(with: TemporaryVault.credentials())
    #expect(report.items == 1)
    try expectHidden(restored.unlock())
    let merged = try TemporaryVault()
    let other = try merged.create()
    #expect(try other.merge(vault).added == [ada])
    try expectHidden(other)
    var anchor = Self.metadata
    anchor.attributes["count"] = "7"
    try vault.changeInternal(.describe(log, as: anchor))
    let second = try other.merge(vault)
    #expect(!second.isEmpty && second.updated.isEmpty && second.same == 1)
    #expect(try lent(other) == ["key of the log", "7"] && other.verify().records == 2)
    try restored.attack("DELETE FROM state")
    let repaired = try LockedVault.open(restored.path).repair(with: TemporaryVault.credentials())
    #expect(repaired.rebuiltState && repaired.items == 2)
    try expectHidden(restored.unlock())
  }

  @Test func `an export takes no internal item along`() throws {
    let target = place.folder.appending("export.sqlite")
    #expect(try place.unlockWithholding().export(to: target, with: TemporaryVault.credentials(), cost: .testing) == 1)
    let exported = try LockedVault.open(target).unlock(with: TemporaryVault.credentials())
    #expect(try exported.verify().records == 1)
    #expect(kind { _ = try lent(exported) } == .notFound)
    #expect(
      kind {
        _ = try place.unlock().export(
          to: place.folder.appending("x"), services: ["coffer.uses"], with: TemporaryVault.credentials(), cost: .testing)
      } == .notFound)
  }
}
