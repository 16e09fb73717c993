internal import Coffer
internal import CofferStorage
internal import CofferVault
internal import Foundation

extension VaultBenchmark {
  /// The cost of previous versions: a vault whose 10 000 items keep ten each, beside one without.
  func history() throws {
    let count = 10_000
    let (plain, kept) = (try filled("plain", count, keeping: 0), try filled("kept", count, keeping: 10))
    let names = try (0..<2000).map { try name($0 &* 7919 % count) }
    for name in names {
      _ = try plain.vault.get(name)
      _ = try kept.vault.get(name)
    }
    try Measure.table(
      "get among \(count), with history", rounds: 15,
      [
        Contender(name: "where none is kept", count: 2000) { step in _ = try plain.vault.get(names[step % 2000]) },
        Contender(name: "where ten are kept", count: 2000) { step in _ = try kept.vault.get(names[step % 2000]) },
      ])
    try Measure.table(
      "the whole of \(count) items, with history", rounds: 5,
      [
        Contender(name: "list where none is kept", count: 1) { _ in _ = try plain.vault.list() },
        Contender(name: "list where ten are kept", count: 1) { _ in _ = try kept.vault.list() },
      ])
    let sets = [
      Contender(name: "where none is kept", count: 1) { _ in try plain.vault.set(value, for: names[.random(in: 0..<2000)]) },
      Contender(name: "where ten are kept", count: 1) { _ in try kept.vault.set(value, for: names[.random(in: 0..<2000)]) },
    ]
    try Measure.table("durable set, with history", rounds: 501, clock: .wall, sets)
    try Measure.table("durable set, with history, time on a processor", rounds: 301, sets)
  }

  private func filled(_ file: String, _ count: Int, keeping: Int) throws -> OpenedVault {
    let opened = OpenedVault(try UnlockedVault.create(at: .file(path(file)), with: credentials(), options: .withoutPins))
    let changes = try (0..<count).map { ItemChange.set(value, for: try name($0), keeping: keeping) }
    for _ in 0...10 { _ = try opened.vault.apply(changes) }
    return opened
  }
}
