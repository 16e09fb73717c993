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

  /// Both make a field of one content at one moment, so that each vault needs only one of the two.
  private func makeField(here name: ItemName, there other: ItemName, _ pair: MergedPair) throws {
    try pair.here.set(form("pin"), for: name.field(named: "pin"))
    try pair.there.set(form("pin"), for: other.field(named: "pin"))
    home.tick()
  }

  @Test func `a field that was deleted with its item is found under the name that the item had elsewhere`() throws {
    let pair = try twins(ada)
    try pair.here.apply([.move(ada, to: bob)])
    try makeField(here: bob, there: ada, pair)
    try pair.here.remove(bob.field(named: "pin"), keptUntil: .distantFuture)
    home.tick()
    try pair.here.remove(bob, keptUntil: .distantFuture)
    try pair.expectSettled()
    #expect(try pair.here.deleted().map(\.item.name) == [bob, bob.field(named: "pin")])
  }

  @Test func `a deleted field that another one of its name replaced gets no number where its content is known`() throws {
    let pair = try twins(ada, bob)
    try makeField(here: ada, there: ada, pair)
    try pair.here.remove(ada, keptUntil: .distantFuture)
    home.tick()
    try pair.here.apply([.move(bob, to: ada)])
    try pair.here.set(form("new"), for: ada.field(named: "pin"))
    try pair.expectSettled()
    #expect(try pair.here.deleted().isEmpty)
  }

  @Test func `a deleted item whose name is taken gets the same number at each merge`() throws {
    let pair = try twins(ada)
    try pair.here.set(form("same"), for: numbered(2))
    try pair.there.set(form("same"), for: target)
    try pair.here.remove(numbered(2), keptUntil: .distantFuture)
    home.tick()
    try pair.there.remove(target, keptUntil: .distantFuture)
    try pair.there.set(form("new"), for: target)
    try pair.expectSettled()
    #expect(try pair.here.deleted().map(\.item.name) == [numbered(2)])
  }

  @Test func `items that were deleted one after the other under one name are all kept, without any history`() throws {
    let pair = try twins(bob)
    for value in ["1", "2", "3"] {
      try pair.here.set(form(value), for: ada)
      home.tick()
      try pair.here.remove(ada, keptUntil: .distantFuture)
    }
    try pair.expectSettled()
    #expect(try Set(pair.there.values(ada)) == ["1", "2", "3"])
  }

  @Test func `a record deleted as a part of another item is known under any name`() throws {
    let pair = try twins(target)
    try pair.here.set(form("ours"), for: ada, keeping: 5)
    home.now -= 1
    try pair.there.set(form("theirs"), for: ada, keeping: 5)
    home.now += 2
    _ = try pair.mergeHere()
    try pair.there.apply([.move(ada, to: bob)])
    try pair.here.remove(ada, keptUntil: .distantFuture)
    try pair.expectSettled()
    #expect(try pair.here.list().map(\.name) == [target] && pair.here.deleted().map(\.item.name) == [ada])
  }

  @Test func `a deleted item gives no room to another one of its name, despite its own history elsewhere`() throws {
    let here = try home.create()
    try here.set(form("0"), for: ada)
    let pair = try home.pair(here)
    home.tick()
    try pair.here.set(form("1"), for: ada, keeping: 1)
    try pair.here.prune(.allBut(0), of: ada)
    try pair.here.remove(ada, keptUntil: .distantFuture)
    try pair.here.set(form("new"), for: ada)
    try pair.there.apply([.move(ada, to: bob)])
    try pair.there.remove(bob, keptUntil: .distantFuture)
    try pair.expectSettled()
  }

  @Test func `an item that was deleted under two names has one name where it comes`() throws {
    let pair = try twins(ada)
    try pair.here.remove(ada, keptUntil: .distantFuture)
    home.tick()
    try pair.there.apply([.move(ada, to: bob)])
    try pair.there.set(form("edit"), for: bob)
    _ = try pair.mergeHere()
    home.tick()
    try pair.here.remove(bob, keptUntil: .distantFuture)
    let place = try TemporaryVault()
    let other = try home.create(at: place)
    try other.set(form("another"), for: bob)
    try other.remove(bob, keptUntil: .distantFuture)
    _ = try (other.merge(pair.here), pair.here.merge(other))
    #expect(try other.merge(pair.here).isEmpty && pair.here.merge(other).isEmpty)
  }
}
