internal import CCofferSodium
internal import Coffer
internal import Foundation

/// The costs of the vault against raw SQLite (WAL, FULL) and raw libsodium in the same run.
enum VaultBenchmark {
  static func run(in folder: String) throws {
    let key = try KeyFile.generate()
    let vault = try UnlockedVault.create(
      at: FilePath(folder).appending("vault.sqlite"), with: Credentials(keyFile: key.duplicate()))
    let pinned = try UnlockedVault.create(
      at: FilePath(folder).appending("pinned.sqlite"), with: Credentials(keyFile: key.duplicate()),
      options: VaultOptions(pins: FilePath(folder).appending("pins")))
    let peer = try SQLitePeer(path: folder + "/peer.sqlite", valueBytes: 272)
    let names = try (0..<10_000).map { try ItemName(service: "bench", account: "item \($0)") }
    let form = try secret(bytes: 64)

    // Both files past their first growth, so that the log's steady state is measured.
    for step in 0..<1500 {
      try vault.set(form, for: names[step])
      try pinned.set(form, for: names[step])
      try peer.set(step)
    }
    try Measure.table(
      "durable set, stores interleaved",
      rounds: 301,
      clock: .wall,
      [
        Contender(name: "coffer", count: 1) { _ in try vault.set(form, for: names[Int.random(in: 0..<1500)]) },
        Contender(name: "coffer with rollback pins", count: 1) { _ in
          try pinned.set(form, for: names[Int.random(in: 0..<1500)])
        },
        Contender(name: "raw SQLite", count: 1) { _ in try peer.set(.random(in: 0..<1500)) },
      ])

    try peer.transaction { for step in 1500..<10_000 { try peer.put(step) } }
    let store = try VaultStore(
      service: "bench",
      vault: LockedVault.open(FilePath(folder).appending("vault.sqlite")).unlock(with: Credentials(keyFile: key.duplicate())))
    var batch = Batch<Vault>()
    for name in names { batch.writes[name.account] = .set(form) }
    try Measure.table(
      "10 000 sets in one transaction, a set",
      rounds: 3,
      clock: .wall,
      [
        Contender(name: "coffer", count: 1) { _ in try store.commit(batch, decision: nil) },
        Contender(name: "raw SQLite", count: 1) { _ in try peer.transaction { for step in 0..<10_000 { try peer.put(step) } } },
      ])
    try store.lock()

    let open = try LockedVault.open(FilePath(folder).appending("vault.sqlite")).unlock(
      with: Credentials(keyFile: key.duplicate()))
    try Measure.table(
      "get among 10 000",
      clock: .wall,
      [
        Contender(name: "coffer", count: 2000) { step in _ = try open.get(names[step &* 7919 % 10_000]) },
        Contender(name: "raw SQLite, one row", count: 2000) { step in _ = try peer.get(step &* 7919 % 10_000) },
      ])
    try Measure.table(
      "whole-vault work on 10 000 items",
      rounds: 5,
      clock: .wall,
      [
        Contender(name: "list names", count: 1) { _ in _ = try open.list() },
        Contender(name: "verify", count: 1) { _ in _ = try open.verify() },
        Contender(name: "unlock with a key file", count: 1) { _ in
          _ = try LockedVault.open(FilePath(folder).appending("vault.sqlite")).unlock(
            with: Credentials(keyFile: key.duplicate()))
        },
      ])
  }

  private static func secret(bytes: Int) throws -> SecretForm { SecretForm(try SecretBytes.random(bytes)) }
}
