import CofferPlatform
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferSync
@testable import CofferVaultFormat

/// What leaves a remote, and when.
@Suite struct CompactionTests {
  private let store: TestFolder
  private let desk: Laptop
  /// More than one: the vault has a clock of its own.
  private static let day: TimeInterval = 2 * 86_400

  init() throws {
    store = try TestFolder("store")
    desk = try Laptop.first("desk", store.path.string)
  }

  private func names(_ part: String) throws -> Set<String> {
    try Set(FileManager.default.contentsOfDirectory(atPath: store.path.appending(part).string))
  }

  private func puts(_ count: Int) throws {
    for number in 0..<count {
      try desk.set("ada", "\(number)")
      try desk.sync()
    }
  }

  @Test func `after a put, heads go that were dominated for a day, beyond the last sixteen`() throws {
    try puts(20)
    #expect(try names("h").count == 20, "no day has passed")
    desk.now += Self.day
    try puts(1)
    #expect(try names("h").count == 17)
    #expect(try names("o").count <= 17)
    let lap = try Laptop.empty("lap", store.path.string)
    try lap.clone()
    #expect(try lap.value("ada") == "0")
  }

  @Test func `a compaction on request leaves the newest heads alone, and what they name`() throws {
    try puts(5)
    let lap = try Laptop.empty("lap", store.path.string)
    try lap.clone()
    let newest = try names("h").max { Int($0.prefix { $0 != "-" }) ?? 0 < Int($1.prefix { $0 != "-" }) ?? 0 }
    // A head of a machine that knew nothing of the newest one.
    let path = store.path.appending("h/" + (newest ?? "")).string
    let bytes = try Data(contentsOf: URL(filePath: path))
    try FileManager.default.removeItem(atPath: path)
    try desk.set("bob", "bob-0")
    try desk.sync()
    try bytes.write(to: URL(filePath: path))
    let compaction = try desk.withVault { vault in try desk.store.compact(vault) }
    #expect(compaction.heads == 5)
    #expect(try names("h").count == 2 && names("h").contains(newest ?? ""))
    for laptop in [desk, lap, desk] { try laptop.sync() }
    #expect(try lap.value("bob") == "bob-0" && lap.value("ada") == "4")
  }

  @Test func `a head under a former key goes a day after it was seen, and its groups after it`() throws {
    try puts(3)
    let former = try names("h")
    try desk.withVault { vault in _ = try vault.rotate() }
    try puts(1)
    #expect(try names("h").isSuperset(of: former) && names("h").count == 4)
    for left in [1, 1] {
      desk.now += Self.day
      _ = try desk.withVault { vault in try desk.store.compact(vault) }
      #expect(try names("h").count == left && names("h").isDisjoint(with: former))
    }
    #expect(try names("o").count == 1)
  }

  @Test func `a group without a head stays for a day after it was first seen`() throws {
    try puts(2)
    let orphan = PieceName.group(PlainHash.digest([1])).description
    try Data([1]).write(to: URL(filePath: store.path.appending(orphan).string))
    func compact() throws -> Int { try desk.withVault { vault in try desk.store.compact(vault).groups } }
    let former = try names("o").count - 2
    #expect(try compact() == 0, "former groups are of puts of this very day, and another machine may be putting the orphan")
    #expect(try names("o").count == former + 2)
    desk.now += Self.day
    #expect(try compact() == former + 1)
    #expect(try !FileManager.default.fileExists(atPath: store.path.appending(orphan).string) && compact() == 0)
    let lap = try Laptop.empty("lap", store.path.string)
    try lap.clone()
    #expect(try lap.value("ada") == "1")
  }

  @Test func `the cache has only pieces that are named there`() throws {
    try puts(4)
    _ = try desk.withVault { vault in try desk.store.compact(vault) }
    let cache = SyncRound.cache(of: try RemoteName(store.path.string), in: desk.folder.path.appending("cache"))
    let groups = try FileManager.default.contentsOfDirectory(atPath: cache.appending("pieces/o").string)
    #expect(groups.count == 1)
  }
}
