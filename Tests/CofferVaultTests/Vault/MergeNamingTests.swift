import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Names, also deleted ones, come out alike whichever vault merges first.
@Suite final class MergeNamingTests: MergingTests {
  private let target = ItemName(sealed: "svc", "x")
  /// As many attributes as a description can hold.
  private let full = ItemMetadata(attributes: Dictionary(uniqueKeysWithValues: (0..<64).map { ("k\($0)", "v") }))

  private func numbered(_ number: Int) -> ItemName { ItemName(sealed: "svc", "x (\(number))") }

  /// Two vaults that have items of these names with one content.
  private func twins(_ names: ItemName...) throws -> MergedPair {
    let here = try home.create()
    for name in names { try here.set(form("same"), for: name, keeping: 5) }
    let pair = try home.pair(here)
    home.tick()
    return pair
  }

  /// Makes an item here whose name an item of both takes later, so that this one gets a number.
  private func crowd(_ pair: MergedPair, movingThere name: ItemName) throws {
    try pair.here.set(form("same"), for: target, keeping: 5)
    home.tick()
    try pair.there.apply([.move(name, to: target)])
    home.tick()
  }

  @Test(arguments: [false, true])
  func `a field that both made stays, though one deleted its own under another name of the item`(isThereFirst: Bool) throws {
    let pair = try twins(ada)
    try pair.here.set(form("pin"), for: ada.field(named: "pin"))
    home.tick()
    try pair.there.set(form("pin"), for: ada.field(named: "pin"))
    home.tick()
    try pair.there.apply([.move(ada, to: bob)])
    try pair.there.remove(bob.field(named: "pin"), keptUntil: .distantFuture)
    home.tick()
    try pair.expectAlike(isThereFirst: isThereFirst)
    #expect(try pair.there.fields(of: bob).map(\.name) == [bob.field(named: "pin")])
    try pair.expectSettled()
  }

  @Test(arguments: [false, true])
  func `a field that one side moved to another item is in both items afterwards`(isThereFirst: Bool) throws {
    let here = try home.create()
    for name in [ada, bob] { try here.set(form("same"), for: name) }
    try here.set(form("pin"), for: ada.field(named: "pin"))
    let pair = try home.pair(here)
    home.tick()
    try pair.there.apply([.move(ada.field(named: "pin"), to: bob.field(named: "pin"))])
    home.tick()
    try pair.expectAlike(isThereFirst: isThereFirst)
    for item in [ada, bob] { #expect(try pair.here.fields(of: item).map(\.name) == [item.field(named: "pin")]) }
    try pair.expectSettled()
    home.tick()
    try pair.there.remove(ada.field(named: "pin"), keptUntil: .distantFuture)
    home.tick()
    try pair.expectAlike(isThereFirst: isThereFirst)
    #expect(try pair.here.fields(of: ada).isEmpty)
    #expect(try pair.here.fields(of: bob).map(\.name) == [bob.field(named: "pin")])
    try pair.expectSettled()
  }

  @Test(arguments: [false, true])
  func `an item that gets a number is not taken for a deleted one of that name and content`(isThereFirst: Bool) throws {
    let pair = try twins(bob)
    try crowd(pair, movingThere: bob)
    try pair.there.set(form("same"), for: numbered(2))
    home.tick()
    try pair.there.remove(numbered(2), keptUntil: .distantFuture)
    try pair.expectAlike(isThereFirst: isThereFirst)
    #expect(try pair.there.list().map(\.name) == [target, numbered(2)])
    try pair.expectSettled()
  }

  @Test(arguments: [false, true])
  func `an item does not get the number of one that is about to be deleted`(isThereFirst: Bool) throws {
    let pair = try twins(bob, numbered(2))
    try pair.here.remove(numbered(2), keptUntil: .distantFuture)
    home.tick()
    try pair.here.set(form("older"), for: target)
    home.now += 10
    try pair.there.apply([.move(bob, to: target)])
    try pair.expectAlike(isThereFirst: isThereFirst)
    #expect(try pair.there.list().map(\.name) == [target, numbered(3)])
    try pair.expectSettled()
  }

  @Test(arguments: [false, true])
  func `an item does not get the number of a login of the other vault`(isThereFirst: Bool) throws {
    let pair = try twins(bob)
    try crowd(pair, movingThere: bob)
    try pair.there.set(form("token", ItemMetadata(attributes: [ItemMetadata.endsWithSession: "true"])), for: numbered(2))
    try pair.mergeBoth(isThereFirst: isThereFirst)
    #expect(try pair.here.list().map(\.name) == [target, numbered(3)])
    #expect(try pair.there.list().map(\.name) == [target, numbered(2), numbered(3)])
    #expect(try pair.mergeHere().isEmpty && pair.mergeThere().isEmpty)
  }

  @Test(arguments: [false, true])
  func `an item that is renamed to the name of a login of the other vault gets a number in both`(isThereFirst: Bool) throws {
    let pair = try twins(ada)
    try pair.there.set(form("token", ItemMetadata(attributes: [ItemMetadata.endsWithSession: "true"])), for: target)
    try pair.here.apply([.move(ada, to: target)])
    try pair.mergeBoth(isThereFirst: isThereFirst)
    #expect(try pair.here.list().map(\.name) == [numbered(2)])
    #expect(try pair.there.list().map(\.name) == [target, numbered(2)])
    #expect(try pair.mergeHere().isEmpty && pair.mergeThere().isEmpty)
  }

  @Test(arguments: [false, true])
  func `a name without room for its time is the greater one in both`(isThereFirst: Bool) throws {
    let pair = try twins(bob)
    try pair.here.apply([.move(bob, to: ada)])
    home.tick()
    try pair.there.apply([.describe(bob, as: full)])
    let trial = try pair.here.merge(pair.there, isTrial: true)
    #expect(trial.undated == [MergeReport.Renamed(from: ada, to: bob)])
    try pair.expectAlike(isThereFirst: isThereFirst)
    #expect(try pair.there.list().map(\.name) == [bob] && pair.mergeHere().undated.isEmpty)
    try pair.expectSettled()
  }

  @Test(arguments: [false, true])
  func `a number without room for its time stays in both`(isThereFirst: Bool) throws {
    let pair = try twins(ada, bob)
    for name in [ada, bob] { try pair.here.apply([.describe(name, as: full)]) }
    try pair.here.apply([.move(ada, to: target)])
    home.tick()
    try pair.there.apply([.move(bob, to: target)])
    try pair.expectAlike(isThereFirst: isThereFirst)
    #expect(try pair.there.list().map(\.name) == [target, numbered(2)])
    try pair.expectSettled()
  }
}
