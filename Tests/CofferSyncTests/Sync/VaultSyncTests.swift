import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferSync

/// One vault on several machines, over a folder.
@Suite struct VaultSyncTests {
  private let store: TestFolder
  private var remote: String { store.path.string }

  init() throws { store = try TestFolder("store") }

  /// Two machines that are in step.
  private func two(_ accounts: String...) throws -> (Laptop, Laptop) {
    let desk = try Laptop.first("desk", remote)
    for account in accounts { try desk.set(account, account + "-0") }
    try desk.sync()
    let lap = try desk.another("lap")
    try lap.sync()
    try desk.sync()
    return (desk, lap)
  }

  @Test func `a change on one machine is on the other after both have synced`() throws {
    let (desk, lap) = try two("ada", "bob", "eve")
    try desk.set("ada", "ada-1")
    try desk.delete("bob")
    try desk.delete("eve", forGood: true)
    try desk.set("new", "new-0")
    #expect(try desk.sync().put != nil)
    let taken = try lap.sync()
    #expect(taken.taken.map(\.machine) == ["desk"] && taken.put == nil)
    #expect(try lap.value("ada") == "ada-1" && lap.value("new") == "new-0")
    #expect(try lap.value("bob") == nil && lap.value("eve") == nil)
    #expect(try lap.sync() == desk.sync())
  }

  @Test func `a sync without changes puts nothing`() throws {
    let (desk, lap) = try two("ada")
    let before = try FileManager.default.subpathsOfDirectory(atPath: remote).sorted()
    for laptop in [desk, lap, desk, lap] {
      let report = try laptop.sync()
      #expect(report.put == nil && report.taken.isEmpty)
    }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: remote).sorted() == before)
  }

  @Test func `one change puts one group, and another machine reads no other one`() throws {
    let desk = try Laptop.first("desk", remote)
    try desk.withVault { vault in
      _ = try vault.add((0..<300).map { ImportedItem(name: ItemName(sealed: "web", "\($0)"), form: try form("value \($0)")) })
    }
    try desk.sync()
    let lap = try desk.another("lap")
    try lap.sync()
    try desk.sync()
    let before = try FileManager.default.contentsOfDirectory(atPath: remote + "/o")
    #expect(before.count > 4)
    try desk.set("7", "changed")
    try desk.sync()
    let new = try Set(FileManager.default.contentsOfDirectory(atPath: remote + "/o")).subtracting(before)
    #expect(new.count == 1)
    // All groups that the other machine reads are brought now.
    let cache = SyncRound.cache(of: try RemoteName(remote), in: lap.folder.path.appending("cache")).string + "/pieces/o"
    for name in try FileManager.default.contentsOfDirectory(atPath: cache) {
      try FileManager.default.removeItem(atPath: cache + "/" + name)
    }
    #expect(try lap.sync().put == nil)
    #expect(try Set(FileManager.default.contentsOfDirectory(atPath: cache)) == new)
    #expect(try lap.value("7") == "changed")
  }

  @Test func `of two changes of one item, one shows, and the other is a previous version on both machines`() throws {
    let (desk, lap) = try two("ada")
    try desk.set("ada", "of desk")
    try lap.set("ada", "of lap")
    try desk.sync()
    let report = try lap.sync()
    #expect(report.taken.first?.changes.conflicts.count == 1)
    try desk.sync()
    #expect(try desk.value("ada") == "of lap" && lap.value("ada") == "of lap")
    for laptop in [desk, lap] {
      try laptop.withVault { vault in
        let kept = try vault.revisions(of: ItemName(service: "web", account: "ada")).map(\.item.revision)
        #expect(kept.count >= 2)
      }
    }
    #expect(try desk.sync().put == nil && lap.sync().put == nil)
  }

  @Test func `what one machine removed for good does not come back from one that did not know`() throws {
    let (desk, lap) = try two("ada", "bob")
    try desk.delete("ada", forGood: true)
    try lap.set("bob", "bob-1")
    for laptop in [lap, desk, lap, desk] { try laptop.sync() }
    #expect(try desk.value("ada") == nil && lap.value("ada") == nil)
    #expect(try desk.value("bob") == "bob-1")
  }

  @Test func `a store that lacks a put that was seen is refused, and accepted on purpose`() throws {
    let (desk, lap) = try two("ada")
    let copy = store.path.string + "-old"
    try FileManager.default.copyItem(atPath: remote, toPath: copy)
    defer { try? FileManager.default.removeItem(atPath: copy) }
    try desk.set("ada", "ada-1")
    try desk.sync()
    try lap.sync()
    try FileManager.default.removeItem(atPath: remote)
    try FileManager.default.copyItem(atPath: copy, toPath: remote)
    for laptop in [desk, lap] {
      let before = try Data(contentsOf: URL(fileURLWithPath: laptop.file.string))
      #expect(performing: { try laptop.sync() }, throws: { ($0 as? StoreError)?.kind == .rolledBack })
      #expect(try Data(contentsOf: URL(fileURLWithPath: laptop.file.string)) == before)
    }
    try desk.sync { $0.accepts = true }
    try lap.sync { $0.accepts = true }
    #expect(try lap.value("ada") == "ada-1")
  }

  @Test func `an empty store is refused where something was`() throws {
    let (desk, _) = try two("ada")
    for part in ["h", "o"] { try FileManager.default.removeItem(atPath: remote + "/" + part) }
    #expect(performing: { try desk.sync() }, throws: { ($0 as? StoreError)?.kind == .rolledBack })
    #expect(try desk.sync { $0.accepts = true }.put != nil)
  }

  @Test func `a machine syncs with two remotes by turns`() throws {
    let (desk, lap) = try two("ada")
    let stick = try TestFolder("stick")
    let other = try VaultSync(
      stick.path.string, pins: desk.folder.path.appending("pins"), caches: desk.folder.path.appending("cache"))
    for number in 1...3 {
      try desk.set("ada", "ada-\(number)")
      #expect(try desk.withVault { vault in try other.run(vault, SyncOptions(machine: "desk")).put } != nil)
    }
    #expect(try desk.sync().put != nil)
    try lap.sync()
    #expect(try lap.value("ada") == "ada-3")
  }

  @Test func `files that were lost or cut are put again by a machine that accepts the remote`() throws {
    let (desk, _) = try two("ada", "bob")
    let groups = remote + "/o"
    for name in try FileManager.default.contentsOfDirectory(atPath: groups) { truncate("\(groups)/\(name)", 50) }
    #expect(try desk.sync().put == nil)
    let stick = try Laptop.empty("stick", remote)
    #expect(performing: { try stick.clone() }, throws: { ($0 as? StoreError)?.kind == .unreachable })
    #expect(try desk.sync { $0.accepts = true }.put != nil)
    try stick.clone()
    #expect(try stick.value("ada") == "ada-0" && stick.value("bob") == "bob-0")
  }

  /// The newest head's file.
  private func newest() throws -> URL {
    let heads = try FileManager.default.contentsOfDirectory(atPath: remote + "/h")
    let head = try #require(heads.max { Int($0.prefix { $0 != "-" }) ?? 0 < Int($1.prefix { $0 != "-" }) ?? 0 })
    return URL(fileURLWithPath: remote + "/h/" + head)
  }

  @Test func `a head that is not whole is passed over and told while the others have all that was seen`() throws {
    let (desk, lap) = try two("ada")
    try desk.set("ada", "ada-1")
    try desk.sync()
    let path = try newest(), whole = try Data(contentsOf: path)
    try whole.dropLast().write(to: path)
    let before = try FileManager.default.subpathsOfDirectory(atPath: remote)
    let report = try lap.sync()
    #expect(report.strangers == 1 && report.put == nil)
    #expect(try lap.value("ada") == "ada-0" && !lap.store.isInStep(lap.locked))
    // It may name groups that no other head has.
    #expect(try kind { try lap.withVault { vault in _ = try lap.store.compact(vault) } } == .unreachable)
    #expect(try FileManager.default.subpathsOfDirectory(atPath: remote) == before)
    let stick = try Laptop.empty("stick", remote)
    #expect(try stick.clone().strangers == 1)
    try whole.write(to: path)
    #expect(try lap.sync().strangers == 0)
    #expect(try lap.value("ada") == "ada-1")
  }

  @Test func `a head that was seen and is not whole is waited for`() throws {
    let (desk, lap) = try two("ada")
    try desk.set("ada", "ada-1")
    try desk.sync()
    try lap.sync()
    let path = try newest(), whole = try Data(contentsOf: path)
    try whole.dropLast().write(to: path)
    try lap.sync()
    try FileManager.default.removeItem(atPath: lap.folder.path.appending("cache").string)
    try lap.set("lap", "lap-0")
    #expect(try kind { try lap.sync() } == .unreachable)
    for name in try FileManager.default.contentsOfDirectory(atPath: remote + "/h") { truncate(remote + "/h/" + name, 50) }
    #expect(try kind { try lap.sync() } == .unreachable)
    #expect(try kind { try Laptop.empty("stick", remote).clone() } == .unreachable)
  }

  @Test func `a piece that a death left cut in the cache is brought again`() throws {
    let (desk, lap) = try two("ada")
    let cache = lap.folder.path.appending("cache").string
    try desk.set("ada", "ada-1")
    try desk.sync()
    let names = try FileManager.default.subpathsOfDirectory(atPath: remote).filter { $0.contains("/") }
    let pieces = SyncRound.cache(of: try RemoteName(remote), in: FilePath(cache)).appending("pieces").string
    for name in names { try Data([1]).write(to: URL(fileURLWithPath: "\(pieces)/\(name)")) }
    #expect(try lap.sync().strangers == 0)
    #expect(try lap.value("ada") == "ada-1")
  }

  @Test func `groups that went with an older head are put again`() throws {
    let (desk, lap) = try two("ada", "bob", "eve")
    try desk.withVault { vault in
      _ = try vault.add((0..<100).map { ImportedItem(name: ItemName(sealed: "web", "\($0)"), form: try form("value \($0)")) })
    }
    try desk.sync()
    try lap.sync()
    for name in try FileManager.default.contentsOfDirectory(atPath: remote + "/o") {
      try FileManager.default.removeItem(atPath: remote + "/o/" + name)
    }
    desk.now += 2 * 86_400
    try desk.set("ada", "ada-1")
    try desk.sync()
    let stick = try Laptop.empty("stick", remote)
    try stick.clone()
    #expect(try stick.value("ada") == "ada-1" && stick.value("bob") == "bob-0")
  }

  @Test(.tags(.slow), .wholeRun) func `an item with the most fields of the greatest size is synced`() throws {
    let desk = try Laptop.first("desk", remote)
    let name = try ItemName(service: "web", account: "ada")
    let most = [UInt8](repeating: 7, count: 2 << 20)
    try desk.withVault { vault in
      _ = try vault.set(SecretForm(secret(most), metadata: ItemMetadata()), for: name)
      for number in 0..<VaultItem.mostFields {
        _ = try vault.set(SecretForm(secret(most), metadata: ItemMetadata()), for: name.field(named: "\(number)"))
      }
    }
    try desk.sync()
    let lap = try Laptop.empty("lap", remote)
    try lap.clone()
    try lap.withVault { vault in
      let count = try vault.get(name.field(named: "63"))?.bytes.count
      #expect(count == most.count)
    }
  }
}
