import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// Random changes of two vaults between their merges.
enum RandomHistory {
  static let names = ["a", "b", "c", "d"].flatMap { account in
    ["", "f", "g"].map { ItemName(sealed: "svc", account, field: $0) }
  }
  /// As a merge makes them.
  private static let numberedNames =
    ["a (2)", "b (2)"].flatMap { account in ["", "f"].map { ItemName(sealed: "svc", account, field: $0) } }
    + [ItemName(sealed: "svc", "a", field: "f (2)")]
  /// As many attributes as a description can hold.
  private static let full = Dictionary(uniqueKeysWithValues: (0..<64).map { ("k\($0)", "v") })

  private static func name(_ random: inout Random) -> ItemName { one(of: names + names + names + numberedNames, &random) }

  private static func one(of names: [ItemName], _ random: inout Random) -> ItemName {
    names.randomElement(using: &random) ?? RandomHistory.names[0]
  }

  private static func present(_ vault: borrowing UnlockedVault) throws -> [ItemName] {
    var found: [ItemName] = []
    try vault.forEachItem(withFields: true) { item, _ in found.append(item.name) }
    return found
  }

  /// One random change of one vault; an impossible one is skipped.
  static func change(_ vault: borrowing UnlockedVault, _ step: Int, _ random: inout Random) throws -> String {
    let there = one(of: try present(vault), &random)
    let keeping: Int? = [nil, nil, 3, 20].randomElement(using: &random) ?? nil
    let what: String
    let outcome: StoreError.Kind?
    switch Int.random(in: 0..<16, using: &random) {
    case 0..<6:
      // Few values, so that both sides may set the same one.
      let name = Bool.random(using: &random) ? name(&random) : there
      (what, outcome) = ("set", kind { try vault.set(form("value \(step % 5)"), for: name, keeping: keeping) })
    case 6..<8:
      let attributes = [full, ["k": "\(step % 3)"], [:], [:]].randomElement(using: &random) ?? [:]
      let metadata = ItemMetadata(label: "label \(step % 5)", attributes: attributes)
      (what, outcome) = ("describe", kind { try vault.apply([.describe(there, as: metadata, keeping: keeping)]) })
    case 8..<10: (what, outcome) = ("remove", kind { try vault.remove(there, keptUntil: .distantFuture) })
    case 10:
      let deleted = try vault.deleted().map(\.item.name)
      (what, outcome) = ("undelete", kind { try vault.undelete(one(of: deleted, &random)) })
    case 11:
      (what, outcome) = ("revert", kind { try vault.revert(there, to: UInt64.random(in: 1...6, using: &random)) })
    default: (what, outcome) = ("move", move(there, in: vault, &random))
    }
    return outcome == nil ? what : "\(what) refused"
  }

  /// Renames an item, or less often a field, to a name that may be taken.
  private static func move(_ name: ItemName, in vault: borrowing UnlockedVault, _ random: inout Random) -> StoreError.Kind? {
    let moved = Bool.random(using: &random) ? name : name.item
    let others = (names + numberedNames).filter { $0.field.isEmpty == moved.field.isEmpty && $0 != moved }
    let other = one(of: others, &random)
    let condition: WriteCondition = Int.random(in: 0..<4, using: &random) == 0 ? .always : .absent
    return kind { try vault.apply([.move(moved, to: other, if: condition)]) }
  }

  /// A few related changes of both vaults, by random actors on random items.
  static func tell(_ pair: MergedPair, _ random: inout Random) throws -> String {
    if Bool.random(using: &random) { return try tell(pair.here, pair.there, &random) }
    return try tell(pair.there, pair.here, &random)
  }

  private static func tell(
    _ one: borrowing UnlockedVault, _ other: borrowing UnlockedVault, _ random: inout Random
  ) throws -> String {
    let value = try form("both")
    var outcomes: [StoreError.Kind?] = []
    switch Int.random(in: 0..<3, using: &random) {
    case 0:
      // Both make one content, and one of them deletes it under another item name.
      let name = try RandomHistory.one(of: present(one), &random).item.field(named: "h")
      outcomes.append(kind { try one.set(form("both"), for: name) })
      outcomes.append(kind { try other.set(value, for: name) })
      let item = RandomHistory.one(of: names.filter(\.field.isEmpty), &random)
      outcomes.append(kind { try one.apply([.move(name.item, to: item)]) })
      let renamed = ItemName(sealed: item.service, item.account, field: name.field)
      outcomes.append(kind { try one.remove(renamed, keptUntil: .distantFuture) })
      return told("both made it", outcomes)
    case 1:
      let item = ItemName(sealed: "svc", ["d", "e"].randomElement(using: &random) ?? "d")
      let numbered = ItemName(sealed: item.service, "\(item.account) (2)")
      outcomes.append(kind { try one.set(value, for: item) })
      outcomes.append(kind { try other.set(form("both"), for: numbered) })
      outcomes.append(kind { try other.remove(numbered, keptUntil: .distantFuture) })
      outcomes.append(kind { try other.apply([.move(present(other).randomElement(using: &random)?.item ?? item, to: item)]) })
      return told("two of one name", outcomes)
    default:
      // One renames it, and the other gives it the most attributes allowed.
      let moved = RandomHistory.one(of: try present(one), &random)
      outcomes.append(kind { try other.apply([.describe(moved, as: ItemMetadata(attributes: full))]) })
      outcomes.append(move(moved, in: one, &random))
      return told("no room for the time", outcomes)
    }
  }

  private static func told(_ story: String, _ outcomes: [StoreError.Kind?]) -> String {
    outcomes.allSatisfy { $0 == nil } ? story : "\(story), in part"
  }
}
