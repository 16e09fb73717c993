import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferSync

/// Items that stay on their machine: logins and what ends with a session.
@Suite struct StayingItemTests {
  private let store: TestFolder
  private let desk: Laptop, lap: Laptop
  private static let login = ["coffer.auth": "token"]

  init() throws {
    store = try TestFolder("store")
    desk = try Laptop.first("desk", store.path.string)
    try desk.set("ada", "ada-0")
    try desk.set("token", "desk's", marked: Self.login)
    try desk.withVault { vault in
      let name = try ItemName(service: "web", account: "token")
      _ = try vault.set(form("refresh"), for: name.field(named: "refresh"))
    }
    try desk.sync()
    lap = try Laptop.empty("lap", store.path.string)
    try lap.clone()
    try desk.sync()
  }

  @Test func `a login is in no head, and no sync removes it`() throws {
    #expect(try lap.value("token") == nil && desk.value("token") == "desk's")
    try lap.set("token", "lap's", marked: Self.login)
    for laptop in [lap, desk, lap, desk] { #expect(try laptop.sync().put == nil) }
    for _ in 0..<2 {
      try desk.set("ada", "ada-1")
      try lap.set("eve", "eve-0")
      for laptop in [desk, lap, desk] { try laptop.sync() }
    }
    #expect(try lap.sync().put == nil && desk.sync().put == nil)
    #expect(try lap.value("token") == "lap's" && desk.value("token") == "desk's" && desk.value("eve") == "eve-0")
    for laptop in [desk, lap] { _ = try laptop.withVault { vault in try vault.verify() } }
  }

  @Test func `a head without logins is a whole vault`() throws {
    let stick = try Laptop.empty("stick", store.path.string)
    try stick.clone()
    try stick.withVault { vault in
      _ = try vault.verify()
      #expect(try vault.list().map(\.name.account) == ["ada"])
    }
  }

  @Test func `an item of a login's name comes with a number, and none is lost`() throws {
    try lap.set("token", "an item of lap's")
    try lap.set("token", "a later one")
    try lap.sync()
    try desk.sync()
    #expect(try desk.value("token") == "desk's" && desk.value("token (2)") == "a later one")
    try lap.sync()
    #expect(try lap.value("token (2)") == "a later one")
    for laptop in [lap, desk, lap, desk] { #expect(try laptop.sync().put == nil) }
  }

  @Test func `an item that became a login, and was changed elsewhere, keeps that change`() throws {
    try desk.set("ada", "desk's login", marked: Self.login)
    try lap.set("ada", "ada-1")
    for laptop in [desk, lap, desk, lap] { try laptop.sync() }
    #expect(try desk.value("ada") == "desk's login")
    let found = try ["ada", "ada (2)"].map { try lap.value($0) }
    #expect(found.contains("ada-1"), "\(found)")
    #expect(try lap.sync().put == nil && desk.sync().put == nil)
  }

  @Test func `a deleted item of a login's name is kept with a number`() throws {
    try lap.set("token", "deleted")
    try lap.delete("token")
    for laptop in [lap, desk, lap, desk] { try laptop.sync() }
    #expect(try desk.value("token") == "desk's")
    for laptop in [desk, lap] {
      let deleted = try laptop.withVault { vault in try vault.deleted().map(\.item.name.account) }
      #expect(deleted.count == 1 && deleted[0].hasPrefix("token"))
    }
    #expect(try lap.sync().put == nil && desk.sync().put == nil)
  }

  @Test func `the anchor of a log alone is nothing to put`() throws {
    try desk.withVault { vault in
      let name = ItemName(sealed: ItemName.logsOfUses, "machine")
      let key = try SecretForm(SecretBytes.random(32), metadata: ItemMetadata(attributes: ["coffer.use": "only"]))
      try vault.changeInternal(.set(key, for: name))
    }
    #expect(try desk.sync().put == nil)
    #expect(try desk.store.isInStep(desk.locked))
  }
}
