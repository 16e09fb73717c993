import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Observers learn of another process's commits from the log, or else from a listing.
@Suite struct FollowingTests {
  private let place: TemporaryVault
  private let store: VaultStore
  private let told = CofferTestSupport.Collected<[String: Bool]>()

  init() throws {
    place = try TemporaryVault()
    _ = try place.create()
    store = try VaultStore(service: "svc", vault: place.unlock())
  }

  /// The count before the current change.
  private final class Seen { var value = 0 }
  private let seen = Seen()

  private static func versions(_ vault: borrowing UnlockedVault) throws -> [String: RecordVersion] {
    try vault.core.run { (vault) throws(StoreError) in
      var versions: [String: RecordVersion] = [:]
      for item in try vault.items.list(service: "svc") { versions[item.name.account] = try vault.items.version(of: item.name) }
      return versions
    }
  }

  /// Makes `change` by another handle, and compares the reported changes with two listings.
  private func expectTold(_ vault: borrowing UnlockedVault, _ why: String, _ change: () throws -> Void) throws {
    let before = try Self.versions(vault)
    try change()
    let after = try Self.versions(vault)
    let names = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
    let expected = Dictionary(uniqueKeysWithValues: names.map { ($0, after[$0] != nil) })
    if expected.isEmpty { return }
    let seen = seen.value
    eventually("observers are told: \(why)") { told.all.dropFirst(seen).reduce(into: [:]) { $0.merge($1) { $1 } } == expected }
    self.seen.value = told.all.count
  }

  @Test func `observers are told of exactly what others changed, whatever it was`() throws {
    let told = told
    let subscription = try store.changes.subscribe { event in
      guard case .changes(let changes) = event else { return }
      told.add(Dictionary(changes.map { ($0.name, $0.cause != .removed) }) { $1 })
    }
    defer { subscription.cancel() }
    let vault = try place.unlock()
    var random = Random(seed: 7)
    let accounts = (0..<6).map { "account \($0)" }
    for step in 0..<120 {
      let name = try ItemName(service: "svc", account: accounts[Int.random(in: 0..<6, using: &random)])
      let other = try ItemName(service: "svc", account: accounts[Int.random(in: 0..<6, using: &random)])
      let choice = Int.random(in: 0..<14, using: &random)
      try expectTold(vault, "step \(step), \(choice)") {
        do {
          switch choice {
          case 0...3: try vault.set(form("value \(step)"), for: name, keeping: choice)
          case 4: try vault.set(form("field"), for: name.field(named: "f"))
          case 5: _ = try vault.apply([.describe(name, as: ItemMetadata(label: "\(step)"))])
          case 6: _ = try vault.apply([.remove(name)])
          case 7: _ = try vault.apply([.remove(name, keptUntil: .distantFuture)])
          case 8: _ = try vault.undelete(name)
          case 9: _ = try vault.apply([.move(name, to: other, if: .always)])
          case 10: try vault.set(form("elsewhere"), for: ItemName(service: "other", account: name.account))
          case 11: try vault.rotate()
          case 12:
            // More log rows than are followed.
            let many = try (0..<70).map { try ItemName(service: "svc", account: "many \($0)") }
            _ = try vault.apply(many.map { .set(try form("\(step)"), for: $0) })
          default: _ = try vault.apply([.set(form("a"), for: name)] + (name == other ? [] : [.remove(other)]))
          }
        } catch let error as StoreError {
          guard [.notFound, .alreadyExists, .refused, .conflict].contains(error.kind) else { throw error }
        }
      }
    }
  }
}
