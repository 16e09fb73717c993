import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// No content ending with a session or permanently removed is kept, even if a history is requested.
@Suite struct NothingKeptTests {
  private let place: TemporaryVault
  private let name = ItemName(sealed: "app", "refresh token")
  private let ofSession = ItemMetadata(attributes: [ItemMetadata.endsWithSession: "true"])

  init() throws { place = try TemporaryVault() }

  private func sealed() throws -> [Data] {
    try ["rec", "old"].flatMap { table in
      try place.hex("SELECT coalesce(group_concat(hex(meta)||':'||hex(value), ':'), '') FROM \(table)").split(separator: ":")
        .map { try #require(Data(hex: String($0))) }
    }
  }

  private func found(_ parts: [Data]) throws -> Int {
    let files = try FileManager.default.contentsOfDirectory(atPath: place.folder.string).map {
      try Data(contentsOf: URL(fileURLWithPath: place.folder.appending($0).string))
    }
    return parts.count { part in files.contains { $0.range(of: part) != nil } }
  }

  private func rows() throws -> [String] { try ["rec", "old"].map { try place.hex("SELECT count(*) FROM \($0)") } }

  @Test func `an item of a session keeps nothing of its past, and a logout leaves no byte of it`() throws {
    let vault = try place.create()
    var seen: [Data] = []
    for number in 0..<4 {
      let item = try vault.set(form("refresh \(number)", ofSession), for: name, keeping: 10)
      #expect(item.history == 0)
      seen += try sealed()
      #expect(try rows() == ["1", "0"])
    }
    // Through a store, as a session writes, after another writer requested a history.
    let store = try VaultStore(service: name.service, vault: place.unlock())
    try store.save(form("refresh 4", ofSession), for: name.account)
    seen += try sealed()
    #expect(try rows() == ["1", "0"])
    #expect(try store.sessionItems().keys.sorted() == [name.account])
    // As a logout: all of them, removed in one transaction.
    var batch = Batch<Vault>()
    for item in try store.sessionItems().keys { batch.writes[item] = .remove }
    try store.commit(batch, decision: nil)
    try store.lock()
    #expect(try rows() == ["0", "0"] && vault.deleted().isEmpty && vault.revisions(of: name).isEmpty)
    // Rewrites the file and empties its log.
    try vault.rotate()
    #expect(try !vault.status().oldBytesRemain && found(seen) == 0 && seen.count >= 10)
  }

  @Test func `deleting an item of a session on purpose so that it can come back keeps nothing either`() throws {
    let vault = try place.create()
    try vault.set(form("refresh", ofSession), for: name)
    try vault.set(form("field"), for: name.field(named: "id token"))
    #expect(try vault.remove(name, keptUntil: .distantFuture))
    #expect(try rows() == ["0", "0"] && kind { try vault.undelete(name) } == .notFound)
  }

  @Test func `the content of a session is not kept by the write that makes the item another, nor the other's by it`() throws {
    let vault = try place.create()
    try vault.set(form("before"), for: name, keeping: 10)
    try vault.set(form("login", ofSession), for: name)
    #expect(try rows() == ["1", "0"])
    try vault.set(form("no login", ItemMetadata(attributes: ["a": "b"])), for: name, keeping: 10)
    #expect(try rows() == ["1", "0"], "the login's content is not kept")
    try vault.set(form("no login either"), for: name)
    #expect(try rows() == ["1", "1"])
    #expect(try vault.get(name, revision: 2) == nil && text(vault.get(name, revision: 3)) == "no login")
  }

  @Test func `what is removed without a word leaves no byte of what was kept before`() throws {
    let vault = try place.create()
    for number in 0..<5 { try vault.set(form("git \(number)"), for: name, keeping: 10) }
    try vault.set(form("field 1"), for: name.field(named: "f"), keeping: 3)
    try vault.set(form("field 2"), for: name.field(named: "f"))
    let seen = try sealed()
    #expect(try rows() == ["2", "5"] && found(seen) == seen.count)
    #expect(try vault.remove(name))
    #expect(try rows() == ["0", "0"])
    try vault.rotate()
    #expect(try found(seen) == 0 && seen.count == 14)
  }
}
