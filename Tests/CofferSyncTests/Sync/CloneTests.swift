import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferSync
@testable import CofferVaultFormat

/// A vault that is made from a remote.
@Suite struct CloneTests {
  private let store: TestFolder
  private let desk: Laptop

  init() throws {
    store = try TestFolder("store")
    desk = try Laptop.first("desk", store.path.string)
    for account in ["ada", "bob"] { try desk.set(account, account + "-0") }
    try desk.set("ada", "ada-1")
    try desk.delete("bob")
    try desk.sync()
  }

  private func kind(_ body: () throws -> Void) -> StoreError.Kind? {
    do { try body() } catch { return (error as? StoreError)?.kind }
    return nil
  }

  @Test func `a clone has all that lies there, as a machine of its own`() throws {
    let lap = try Laptop.empty("lap", store.path.string)
    let report = try lap.clone()
    #expect(report.items == 1 && report.taken.map(\.machine) == ["desk"] && report.taken[0].generation == 1)
    #expect(report.taken[0].changes.isEmpty && report.put == 2)
    try lap.withVault { vault in
      _ = try vault.verify()
      #expect(try vault.logLength() >= 1)
      #expect(try vault.deleted().map(\.item.name.account) == ["bob"])
    }
    #expect(try lap.value("ada") == "ada-1" && lap.store.isInStep(lap.locked))
    try desk.sync()
    try lap.set("ada", "ada-2")
    try lap.sync()
    try desk.sync()
    #expect(try desk.value("ada") == "ada-2")
    #expect(try desk.sync().put == nil && lap.sync().put == nil)
  }

  @Test func `rows that a clone did not change are those of the remote`() throws {
    let lap = try Laptop.empty("lap", store.path.string)
    try lap.clone()
    try desk.sync()
    #expect(try desk.withVault { try Put.make($0).head.groups } == lap.withVault { try Put.make($0).head.groups })
  }

  @Test func `a clone replaces nothing, and leaves nothing behind where it is refused`() throws {
    #expect(kind { try desk.clone() } == .alreadyExists)
    let lap = try Laptop.empty("lap", store.path.string)
    #expect(kind { try lap.clone(Credentials(passphrase: secret(Array("wrong".utf8)))) } == .wrongSecret)
    let groups = SyncRound.cache(of: try RemoteName(lap.remote), in: lap.folder.path.appending("cache")).appending("pieces/o")
    #expect(try FileManager.default.contentsOfDirectory(atPath: groups.string) == [], "a wrong secret brings no group")
    let stick = try Laptop.empty("stick", store.path.string)
    try FileManager.default.removeItem(atPath: store.path.appending("o").string)
    #expect(kind { try stick.clone() } == .unreachable)
    try FileManager.default.removeItem(atPath: store.path.appending("h").string)
    #expect(kind { try stick.clone() } == .notFound)
    for laptop in [lap, stick] {
      let names = try FileManager.default.contentsOfDirectory(atPath: laptop.folder.path.string)
      #expect(names.allSatisfy { ["pins", "cache"].contains($0) }, "\(names)")
    }
  }

  @Test func `a trial opens the head, and makes no vault`() throws {
    let lap = try Laptop.empty("lap", store.path.string)
    #expect(try lap.clone { $0.isTrial = true }.items == 1)
    #expect(!FileManager.default.fileExists(atPath: lap.file.string))
    #expect(try lap.store.status(of: desk.locked) == nil)
  }

  @Test func `all heads are joined where two machines put at once`() throws {
    let lap = try Laptop.empty("lap", store.path.string)
    try lap.clone()
    try desk.sync()
    let mine = store.path.string
    try desk.set("of desk", "1")
    try desk.sync()
    // The other one syncs with the store as it was.
    let names = try FileManager.default.contentsOfDirectory(atPath: mine + "/h")
    let name = try #require(names.max())
    let path = mine + "/h/" + name
    let head = try Data(contentsOf: URL(filePath: path))
    try FileManager.default.removeItem(atPath: path)
    try lap.set("of lap", "1")
    try lap.sync()
    try head.write(to: URL(filePath: path))
    let stick = try Laptop.empty("stick", mine)
    #expect(try stick.clone().taken.count == 2)
    #expect(try stick.value("of desk") == "1" && stick.value("of lap") == "1" && stick.value("ada") == "ada-1")
  }

  @Test func `a machine that has seen more is cloned to no older state`() throws {
    let old = store.path.string + "-old"
    try FileManager.default.copyItem(atPath: store.path.string, toPath: old)
    defer { try? FileManager.default.removeItem(atPath: old) }
    try desk.set("ada", "ada-2")
    try desk.sync()
    try FileManager.default.removeItem(atPath: store.path.string)
    try FileManager.default.copyItem(atPath: old, toPath: store.path.string)
    // The vault's file is lost, and the pins are not.
    for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: desk.file.string + end) }
    #expect(kind { try desk.clone() } == .rolledBack)
    #expect(try desk.clone { $0.accepts = true }.taken.count == 1)
    #expect(try desk.value("ada") == "ada-1")
    try desk.set("ada", "ada-3")
    #expect(try desk.sync().put != nil)
  }

  @Test func `a lost vault comes back under what its pin remembers`() throws {
    for number in 0..<5 { try desk.set("ada", "\(number)") }
    try desk.sync()
    for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: desk.file.string + end) }
    try desk.clone()
    #expect(try desk.value("ada") == "4")
    try desk.locked.checkAge()
    try desk.set("ada", "5")
    try desk.sync()
    let lap = try Laptop.empty("lap", store.path.string)
    try lap.clone()
    #expect(try lap.value("ada") == "5")
  }

  @Test func `a second vault of one home is another machine, and both keep their agreements`() throws {
    let (store, options) = (try desk.store, desk.options)
    let file = desk.folder.path.appending("second")
    _ = try store.clone(to: file, with: PutVault.credentials(), options: options, SyncOptions(machine: "second"))
    func second(_ body: (borrowing UnlockedVault) throws -> Void) throws {
      let vault = try LockedVault.open(.file(file), options: options).unlock(with: PutVault.credentials())
      try body(vault)
      _ = try store.run(vault, SyncOptions(machine: "second"))
    }
    try desk.sync()
    try second { vault in _ = try vault.remove(ItemName(service: "web", account: "ada")) }
    try desk.set("eve", "eve-0")
    try desk.sync()
    try second { _ in }
    try desk.sync()
    #expect(try desk.value("ada") == nil, "removed for good, and known")
    try second { vault in
      let names = try vault.list().map(\.name.account)
      #expect(names == ["eve"])
    }
  }

  @Test func `a recipient needs an invitation`() throws {
    let identity = try Identity.generate()
    let invitation = try desk.withVault { vault in
      _ = try vault.addSlot(Identity.recipient(of: identity))
      return try vault.invitation()
    }
    try desk.sync()
    func credentials(_ content: borrowing SecretBytes) throws -> Credentials {
      var credentials = Credentials()
      credentials.identity = try content.duplicate()
      return credentials
    }
    let lap = try Laptop.empty("lap", store.path.string)
    #expect(kind { try lap.clone(credentials(identity)) } == .unproven)
    #expect(try lap.clone(credentials(Identity.adding(invitation, to: identity))).items == 1)
  }
}
