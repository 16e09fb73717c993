import CofferPlatform
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferSync

/// A machine's memory of a remote, as it is told and changed.
@Suite struct SyncStatusTests {
  private let store: TestFolder
  private let desk: Laptop, lap: Laptop

  /// Two machines that are in step.
  init() throws {
    store = try TestFolder("store")
    desk = try Laptop.first("desk", store.path.string)
    try desk.set("ada", "ada-0")
    try desk.sync()
    lap = try desk.another("lap")
    try lap.sync()
    try desk.sync()
  }

  @Test func `a remote is told with its machines, their puts and the commits since`() throws {
    let status = try desk.store.status(of: desk.locked)
    let told = try #require(status)
    #expect(told.remote == store.path.string && told.items == 1 && told.synced == desk.now && !told.isAutomatic)
    #expect(told.commitsToPut == 0)
    #expect(Set(told.machines.map(\.name)) == ["desk", "lap"])
    #expect(told.machines.map(\.generation).sorted() == [1, 2])
    #expect(told.machines.allSatisfy { $0.put != nil })
    try desk.set("ada", "ada-1")
    try desk.set("bob", "bob-0")
    #expect(try #require(desk.store.status(of: desk.locked)?.commitsToPut) >= 2)
  }

  @Test func `machines of one name are told apart by the beginning of their ids`() throws {
    let twin = try desk.another("lap")
    try twin.set("twin", "0")
    try twin.sync()
    let taken = try desk.sync().taken
    let told = try #require(try desk.store.status(of: desk.locked))
    #expect(Set(told.machines.map(\.name)) == Set(told.machines.map { $0.name == "desk" ? "desk" : "lap (\($0.id.prefix(4)))" }))
    #expect(told.machines.count == 3 && Set(told.machines.map(\.name)).count == 3)
    #expect(told.machines.map(\.name).contains(taken.first?.machine))
  }

  @Test func `all remotes of a vault are told without a look at it`() throws {
    let told = try VaultSync.remotes(of: desk.id, pins: desk.folder.path.appending("pins"))
    let status = try #require(try desk.store.status(of: desk.locked))
    #expect(told.map(\.machines) == [status.machines])
    #expect(told[0].commitsToPut == nil)
    #expect(told[0].machines.allSatisfy { $0.id.utf8.count == 32 })
  }

  @Test func `a vault is in step until it or the remote changes`() throws {
    for laptop in [desk, lap] { #expect(try laptop.store.isInStep(laptop.locked)) }
    desk.now += 100
    #expect(try desk.store.isInStep(desk.locked))
    #expect(try desk.store.status(of: desk.locked)?.synced == desk.now)
    try desk.set("ada", "ada-1")
    let elsewhere = store.path.string + "-elsewhere"
    try FileManager.default.moveItem(atPath: store.path.string, toPath: elsewhere)
    #expect(try !desk.store.isInStep(desk.locked), "no look at the remote is needed")
    try FileManager.default.moveItem(atPath: elsewhere, toPath: store.path.string)
    try desk.sync()
    #expect(try desk.store.isInStep(desk.locked) && !lap.store.isInStep(lap.locked))
    try lap.sync()
    #expect(try lap.store.isInStep(lap.locked))
    let stranger = try Laptop.first("other", store.path.string)
    #expect(try !stranger.store.isInStep(stranger.locked), "it never synced")
  }

  @Test func `the switch of automatic syncs is remembered over syncs`() throws {
    try desk.store.setAutomatic(true, for: desk.id)
    try desk.set("ada", "ada-1")
    try desk.sync()
    #expect(try desk.store.status(of: desk.locked)?.isAutomatic == true)
    try desk.store.setAutomatic(false, for: desk.id)
    #expect(try desk.store.status(of: desk.locked)?.isAutomatic == false)
    let id = try desk.id
    let other = try VaultSync("/nowhere", pins: desk.folder.path.appending("pins"), caches: desk.folder.path)
    #expect(throws: StoreError.self) { try other.setAutomatic(true, for: id) }
  }

  @Test func `a forgotten remote is no longer told, and nothing changes there`() throws {
    let before = try FileManager.default.subpathsOfDirectory(atPath: store.path.string).sorted()
    #expect(try desk.store.forget(desk.id))
    #expect(try !desk.store.forget(desk.id))
    #expect(try desk.store.status(of: desk.locked) == nil)
    #expect(try FileManager.default.subpathsOfDirectory(atPath: store.path.string).sorted() == before)
    #expect(try desk.sync().put == nil, "it is a first sync, and all is there")
  }

  @Test func `a trial tells what a sync does, and changes nothing`() throws {
    try lap.set("ada", "ada-1")
    try lap.delete("ada")
    try lap.set("bob", "bob-0")
    try lap.sync()
    let before = try (state(desk), state(lap))
    let trial = try desk.sync { $0.isTrial = true }
    #expect(try (state(desk), state(lap)) == before)
    #expect(trial.put == nil, "the vault would equal the head there")
    let report = try desk.sync()
    #expect(report.taken == trial.taken && report.put == nil)
    try desk.set("eve", "eve-0")
    let next = try desk.sync { $0.isTrial = true }
    #expect(try next.put == desk.sync().put)
  }

  @Test func `a trial of a first sync makes no machine`() throws {
    let other = try desk.another("third")
    let before = try state(other)
    #expect(try other.sync { $0.isTrial = true }.put == 3)
    #expect(try state(other) == before)
  }

  private func isMemory(_ name: String) -> Bool { name.hasPrefix("s") && !name.hasSuffix(".lock") }

  /// The vault's rows, the memory and the remote.
  private func state(_ laptop: Laptop) throws -> [String] {
    let pins = laptop.folder.path.appending("pins")
    let isThere = FileManager.default.fileExists(atPath: pins.string)
    let names = try isThere ? FileManager.default.contentsOfDirectory(atPath: pins.string).filter(isMemory).sorted() : []
    let memory = try names.map { try Data(contentsOf: URL(filePath: pins.appending($0).string)).base64EncodedString() }
    let vault = try Data(contentsOf: URL(filePath: laptop.file.string)).base64EncodedString()
    return try names + memory + [vault] + FileManager.default.subpathsOfDirectory(atPath: store.path.string).sorted()
  }
}
