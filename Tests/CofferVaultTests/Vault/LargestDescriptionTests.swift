import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// A description may fill its room; after any change of the item the vault stays readable.
@Suite struct LargestDescriptionTests {
  private let place: TemporaryVault
  private let name = ItemName(sealed: "svc", "a")

  init() throws { place = try TemporaryVault() }

  private func filled(_ count: Int) throws -> SecretForm {
    var attributes: [String: String] = [:]
    for number in 10..<25 { attributes["\(number)"] = String(repeating: "v", count: RecordMeta.longestAttribute) }
    let bare = RecordMeta(
      revision: 1, service: name.service, account: name.account, created: 1, modified: 1,
      attributes: (attributes.map { ($0.key, $0.value) } + [("25", "")]).map { RecordMeta.Attribute(name: $0.0, value: $0.1) })
    attributes["25"] = String(repeating: "v", count: count - bare.encodedCount)
    return try form("value", ItemMetadata(attributes: attributes))
  }

  @Test func `an item whose description has no more room is deleted, kept, and brought back`() throws {
    let vault = try place.create()
    #expect(kind { try vault.set(filled(RecordMeta.largest + 1), for: name) } == .tooLarge(limit: RecordMeta.largest))
    try vault.set(filled(RecordMeta.largest), for: name, keeping: 1)
    #expect(try vault.remove(name, keptUntil: .distantFuture))
    #expect(try vault.verify().records == 1)
    try vault.rotate()
    #expect(try vault.undelete(name).metadata.attributes.count == 16)
    #expect(try vault.verify().records == 1)
    #expect(text(try vault.get(name)) == "value")
  }

  @Test func `a rename is refused where the description of a former content has no room for the new name`() throws {
    let vault = try place.create()
    let new = ItemName(sealed: "service", "a")
    try vault.set(filled(RecordMeta.largest), for: name, keeping: 1)
    try vault.set(form("short", ItemMetadata(attributes: ["a": "b"])), for: name)
    #expect(kind { try vault.apply([.move(name, to: new)]) } == .tooLarge(limit: RecordMeta.largest))
    #expect(try vault.verify().records == 2)
    #expect(try vault.prune(.allBut(0), of: name) == 1)
    try vault.apply([.move(name, to: new)])
    #expect(try text(vault.get(new)) == "short" && vault.verify().records == 1)
  }
}
