import CofferPlatform
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferSync

/// A machine's home that was copied with its pins, so that two machines have one memory.
@Suite struct CopiedHomeTests {
  private let store: TestFolder
  private let aside: TestFolder
  /// The original and the copy lie at one path by turns, as on two machines.
  private let home: Laptop

  init() throws {
    store = try TestFolder("store")
    aside = try TestFolder("aside")
    home = try Laptop.first("desk", store.path.string)
    try home.set("ada", "ada-0")
    try home.sync()
    try FileManager.default.copyItem(atPath: home.folder.path.string, toPath: aside.path.appending("home").string)
  }

  /// Works on the other machine.
  private func turn() throws {
    let (here, there) = (home.folder.path.string, aside.path.appending("home").string)
    try FileManager.default.moveItem(atPath: here, toPath: there + "-next")
    try FileManager.default.moveItem(atPath: there, toPath: here)
    try FileManager.default.moveItem(atPath: there + "-next", toPath: there)
  }

  private func kind(_ body: () throws -> Void) -> StoreError.Kind? {
    do { try body() } catch { return (error as? StoreError)?.kind }
    return nil
  }

  private func accept() throws {
    _ = try home.locked.unlockAcceptingPin(with: PutVault.credentials())
  }

  private func expectAgreed(_ accounts: String...) throws {
    for _ in 0..<2 {
      try home.sync()
      try turn()
    }
    for _ in 0..<2 {
      for account in accounts { #expect(try home.value(account) == "kept") }
      #expect(try home.sync().put == nil)
      try turn()
    }
  }

  @Test func `a copied home is refused until its pin is accepted, and then both agree`() throws {
    try home.set("of one", "kept")
    try home.sync()
    try turn()
    try home.set("of two", "kept")
    #expect(kind { try home.sync() } == .forked)
    // As an agent has it open.
    let held = try home.locked.unlock(with: PutVault.credentials())
    try accept()
    let report = try home.store.run(held, SyncOptions(machine: "desk"))
    #expect(report.put ?? 0 > 2, "above all puts that were seen")
    try turn()
    try expectAgreed("of one", "of two")
  }

  @Test func `two heads of one generation are joined once the pin and the remote are accepted`() throws {
    let head = store.path.appending("h").string
    try home.set("of one", "kept")
    let before = try Set(FileManager.default.contentsOfDirectory(atPath: head))
    try home.sync()
    let put = try #require(Set(FileManager.default.contentsOfDirectory(atPath: head)).subtracting(before).first)
    let bytes = try Data(contentsOf: URL(filePath: head + "/" + put))
    // The copy syncs while the head is not carried yet.
    try FileManager.default.removeItem(atPath: head + "/" + put)
    try turn()
    try home.set("of two", "kept")
    try home.sync()
    try bytes.write(to: URL(filePath: head + "/" + put))
    for _ in 0..<2 {
      #expect(kind { try home.sync() } == .forked)
      try turn()
    }
    try accept()
    try home.sync { $0.accepts = true }
    try turn()
    // The put that stands may be the other home's.
    if kind({ try home.sync() }) == .forked {
      try accept()
      try home.sync { $0.accepts = true }
    }
    try turn()
    try expectAgreed("of one", "of two")
  }
}
