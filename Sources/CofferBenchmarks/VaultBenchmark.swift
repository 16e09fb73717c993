internal import Coffer
internal import CofferStorage
internal import CofferVault
internal import Foundation

/// The costs of the vault against raw SQLite (WAL, FULL) and raw libsodium in the same run.
struct VaultBenchmark {
  let folder: String
  let key: SecretForm
  let peer: SQLitePeer
  let sodium = SodiumPeer()
  let value: SecretForm

  static let tables = ["init", "set", "batch", "get", "all", "unlock", "rotate", "history", "large"]

  static func run(in folder: String, _ wanted: Set<String>) throws {
    let benchmark = try VaultBenchmark(folder: folder)
    if wanted.contains("init") { try benchmark.creation() }
    if wanted.contains("set") { try benchmark.durableSets() }
    if wanted.contains("batch") { try benchmark.batches() }
    if !wanted.isDisjoint(with: ["get", "all", "unlock", "rotate"]) { try benchmark.work(on: 10_000, wanted) }
    if wanted.contains("history") { try benchmark.history() }
    if wanted.contains("large") { try benchmark.work(on: 100_000, ["get", "all", "memory"]) }
  }

  init(folder: String) throws {
    self.folder = folder
    key = SecretForm(try KeyFile.generate())
    value = SecretForm(try SecretBytes.random(64))
    peer = try SQLitePeer(path: folder + "/peer.sqlite", valueBytes: 272)
  }

  func fresh() -> String { UUID().uuidString }
  func path(_ name: String) -> FilePath { FilePath(folder).appending(name + ".sqlite") }
  func credentials() throws -> Credentials { Credentials(keyFile: try key.bytes.duplicate()) }
  func unlock(_ name: String) throws -> UnlockedVault {
    try LockedVault.open(.file(path(name)), options: .withoutPins).unlock(with: credentials())
  }
  func name(_ number: Int) throws -> ItemName { try ItemName(service: "bench", account: "item \(number)") }

  private func creation() throws {
    try Measure.table(
      "a new vault", rounds: 15, clock: .wall,
      [
        Contender(name: "create with a key file", count: 1) { _ in
          _ = try UnlockedVault.create(at: .file(path(fresh())), with: credentials(), options: .withoutPins)
        },
        Contender(name: "raw SQLite, a new file with one row", count: 1) { _ in
          try SQLitePeer(path: path(fresh()).string, valueBytes: 272).set(0)
        },
      ])
  }

  /// Both files are past their first growth and checkpoints, so that the steady state is measured.
  private func durableSets() throws {
    let plain = try UnlockedVault.create(at: .file(path("set")), with: credentials(), options: .withoutPins)
    let pinned = try UnlockedVault.create(
      at: .file(path("pinned")), with: credentials(), options: VaultOptions(pins: FilePath(folder).appending("pins")))
    let names = try (0..<1500).map { try name($0) }
    for step in 0..<3000 {
      try plain.set(value, for: names[step % 1500])
      try pinned.set(value, for: names[step % 1500])
      try peer.set(step % 1500)
    }
    let shared = try written(by: 255, names)
    let contenders = [
      Contender(name: "coffer", count: 1, goals: [.times(1.3)]) { _ in try plain.set(value, for: names[.random(in: 0..<1500)]) },
      Contender(name: "coffer with rollback pins", count: 1) { _ in
        try pinned.set(value, for: names[.random(in: 0..<1500)])
      },
      Contender(name: "coffer where 255 machines write", count: 1) { _ in
        try shared.vault.set(value, for: names[.random(in: 0..<1500)])
      },
      Contender(name: "raw SQLite, WAL and FULL", count: 1) { _ in try peer.set(.random(in: 0..<1500)) },
    ]
    try Measure.table("durable set, stores interleaved", rounds: 501, clock: .wall, contenders)
    try Measure.table(
      "durable set, time on a processor", rounds: 301, contenders.map { Contender(name: $0.name, count: 1, body: $0.body) })
  }

  /// A vault with as many machines as it can have, opened by the last of them.
  private func written(by machines: Int, _ names: [ItemName]) throws -> OpenedVault {
    func pins(_ machine: Int) -> VaultOptions { VaultOptions(pins: FilePath(folder).appending("pins of \(machine)")) }
    let place = VaultPlace.file(path("shared"))
    _ = try UnlockedVault.create(at: place, with: credentials(), options: pins(0))
    for machine in 1..<machines {
      try LockedVault.open(place, options: pins(machine)).unlock(with: credentials()).set(value, for: names[machine])
    }
    let last = OpenedVault(try LockedVault.open(place, options: pins(0)).unlock(with: credentials()))
    for name in names { try last.vault.set(value, for: name) }
    return last
  }

  private func batches() throws {
    var batch = Batch<Vault>()
    for number in 0..<10_000 { batch.writes[try name(number).account] = .set(value) }
    let most = Goal.microseconds(10_000 / 60_000 * 1e6)
    let made = fresh()
    _ = try UnlockedVault.create(at: .file(path(made)), with: credentials(), options: .withoutPins).lock()
    let replaced = try VaultStore(service: "bench", vault: unlock(made))
    try replaced.commit(batch, decision: nil)
    try Measure.table(
      "10 000 sets in one transaction, all of them", rounds: 5,
      [
        Contender(name: "coffer, new items and a new vault", count: 1, goals: [most]) { _ in
          let vault = try UnlockedVault.create(at: .file(path(fresh())), with: credentials(), options: .withoutPins)
          let store = try VaultStore(service: "bench", vault: vault)
          try store.commit(batch, decision: nil)
        },
        Contender(name: "coffer, replaced items", count: 1, goals: [most]) { _ in try replaced.commit(batch, decision: nil) },
        Contender(name: "raw libsodium", count: 1) { _ in for _ in 0..<10_000 { sodium.sealRecord() } },
        Contender(name: "raw SQLite", count: 1) { _ in try peer.transaction { for step in 0..<10_000 { try peer.put(step) } } },
      ])
  }
}
