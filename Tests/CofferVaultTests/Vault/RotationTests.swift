import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct RotationTests {
  private func fill(_ vault: borrowing UnlockedVault, _ count: Int) throws {
    for number in 0..<count {
      let metadata = ItemMetadata(label: "label \(number)", attributes: ["n": "\(number)"])
      try vault.set(form("value \(number)", metadata), for: ItemName(service: "svc \(number % 7)", account: "\(number)"))
    }
  }

  @Test func `everything is there under the new key and nothing stands where it stood`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try fill(vault, 300)
    try vault.set(form("gone"), for: ItemName.sample)
    try vault.remove(ItemName.sample)
    let items = try vault.list()
    let rows = try Set(place.rows())
    var reports: [Int] = []
    try vault.rotate { done, total in
      reports.append(done)
      #expect(total == 300)
    }
    #expect(reports == [256, 300])
    #expect(try vault.list() == items)
    for number in 0..<300 {
      #expect(text(try vault.get(ItemName(service: "svc \(number % 7)", account: "\(number)"))) == "value \(number)")
    }
    #expect(try Set(place.rows()).isDisjoint(with: rows))
    #expect(try vault.verify().records == 300)
    let status = try vault.status()
    #expect(status.epoch == 2 && status.items == 300 && !status.oldBytesRemain)
    #expect(status.rotated >= status.created)
    let again = try place.unlock()
    #expect(try again.list() == items)
    try again.rotate()
    #expect(try vault.status().epoch == 3)
    #expect(try vault.verify().records == 300)
  }

  @Test func `a vault without items rotates`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.rotate()
    #expect(try vault.verify().records == 0)
    try vault.set(form("v"), for: .sample)
    #expect(text(try place.unlock().get(.sample)) == "v")
  }

  @Test func `the log survives with its order times and the new places of its items`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try fill(vault, 40)
    try vault.set(form("gone"), for: .sample)
    try vault.remove(.sample)
    let before = try logEvents(vault)
    try vault.rotate()
    let after = try logEvents(vault)
    #expect(after.count == before.count + 1 && after.last?.event == .keyRotated)
    #expect(zip(before, after).allSatisfy { $0.event == $1.event && $0.time == $1.time && $0.process == $1.process })
    let places = try vault.core.run { (vault) throws(StoreError) in
      try vault.read { (_) throws(StoreError) in
        Set(try vault.items.list(service: nil).map { vault.items.index(of: $0.name) })
      }
    }
    #expect(places.count == 40)
    #expect(places.isSuperset(of: after.dropFirst().prefix(40).map(\.index)))
    #expect(before.suffix(2).map(\.index) == after.dropLast().suffix(2).map(\.index), "of a deleted item no new place is known")
  }

  @Test func `open vaults follow without being asked and a removed slot is locked`() throws {
    let full = try FullVault()
    let others = try SlotKind.openable.map { VaultBox(kind: $0, try full.unlock($0)) }
    try full.vault.unlocked.rotate()
    for other in others { #expect(text(try other.vault.get(FullVault.name)) == "hush") }
    #expect(text(try full.unlock(.recipient).get(FullVault.name)) == "hush")
    try others[0].vault.set(form("new"), for: FullVault.name)
    #expect(text(try full.vault.unlocked.get(FullVault.name)) == "new")

    try full.vault.unlocked.rotate(only: [full.id(.keyFile), full.id(.recipient)])
    for other in others {
      let stays = [.keyFile, .recipient].contains(other.kind)
      #expect(kind { _ = try other.vault.get(FullVault.name) } == (stays ? nil : .locked))
      #expect(kind { try other.vault.set(form("x"), for: FullVault.name) } == (stays ? nil : .closed))
    }
    #expect(text(try full.unlock(.recipient).get(FullVault.name)) == "x")
    #expect(try full.vault.unlocked.slots().count == 2)
  }

  @Test func `nothing that the old key opens is left in any file`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try fill(vault, 60)
    try vault.set(SecretForm(SecretBytes.random(40_000)), for: .sample)
    let second = try place.unlock()
    _ = try second.list()
    let old = try place.hex("SELECT group_concat(hex(meta) || ':' || hex(coalesce(value, '')), ':') FROM rec")
      .split(separator: ":").map { try #require(Data(hex: String($0))) }
    let headers = [try #require(Data(hex: place.hex("SELECT hex(bytes) FROM header")))]
    let logs = try place.hex("SELECT group_concat(hex(box), ':') FROM log").split(separator: ":")
      .map { try #require(Data(hex: String($0))) }
    #expect(try found(old + headers + logs, place) > 0, "the search finds what is there")
    try vault.rotate()
    #expect(try !vault.status().oldBytesRemain)
    #expect(try found(old + headers + logs, place) == 0)
    #expect(try second.verify().records == 61)
  }

  /// The sealed texts in the vault's files, whole or by their first 16 bytes.
  private func found(_ texts: [Data], _ place: TemporaryVault) throws -> Int {
    let files = try FileManager.default.contentsOfDirectory(atPath: place.folder.string).map {
      try Data(contentsOf: URL(fileURLWithPath: place.folder.appending($0).string))
    }
    return texts.count { text in files.contains { $0.range(of: text.suffix(24)) != nil } }
  }

  @Test(.tags(.slow), .defaultRun) func `a reader that stays leaves the old bytes to the next write`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try fill(vault, 20)
    let reader = try VaultDatabase.open(place.path)
    try reader.read { () throws(StoreError) in
      _ = try reader.withState { _ in true }
      do { try vault.rotate() } catch { Issue.record(error) }
      do { #expect(try vault.status().oldBytesRemain) } catch { Issue.record(error) }
    }
    let next = try place.unlock()
    #expect(try next.status().oldBytesRemain, "a vault that is only read is not written to")
    try next.set(form("v"), for: .sample)
    #expect(try !next.status().oldBytesRemain)
    #expect(try vault.verify().records == 21)
  }

  @Test func `a rotation seals nothing that was put into the file`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try fill(vault, 3)
    let attacks = [
      "UPDATE rec SET meta=\(changed("meta", byte: 1)) WHERE idx=(SELECT idx FROM rec LIMIT 1)",
      "DELETE FROM rec WHERE idx=(SELECT idx FROM rec LIMIT 1)",
      "INSERT INTO rec SELECT x'ffffffffffffffffffffffffffffffff', rid, meta, value FROM rec LIMIT 1",
      "DELETE FROM log WHERE seq=2",
      "UPDATE log SET box=\(changed("box", byte: 1)) WHERE seq=3",
      "UPDATE header_copy SET bytes=zeroblob(300)",
    ]
    for attack in attacks {
      let copy = try place.copy()
      let opened = try copy.unlock()
      try copy.attack(attack)
      let error = try #require(kind { try opened.rotate() }, "\(attack)")
      #expect([.tampered, .damaged].contains(error), "\(attack)")
      #expect(try copy.unlock().status().epoch == 1)
    }
    try vault.rotate()
    #expect(try vault.verify().records == 3)
  }

  @Test func `a failed rotation leaves the vault usable`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try fill(vault, 5)
    try place.attack("PRAGMA max_page_count=1; UPDATE rec SET value=NULL WHERE idx=(SELECT idx FROM rec LIMIT 1)")
    #expect(kind { try vault.rotate() } == .tampered)
    #expect(try vault.status().epoch == 1)
    try vault.set(form("still here"), for: .sample)
    #expect(text(try vault.get(.sample)) == "still here")
  }
}

final class VaultBox {
  let kind: SlotKind
  let vault: UnlockedVault
  init(kind: SlotKind, _ vault: consuming UnlockedVault) {
    self.kind = kind
    self.vault = vault
  }
}

extension Data {
  init?(hex: String) {
    var bytes: [UInt8] = []
    var rest = hex[...]
    while let byte = UInt8(rest.prefix(2), radix: 16) {
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    guard rest.isEmpty else { return nil }
    self = Data(bytes)
  }
}
