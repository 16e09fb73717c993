internal import Coffer
internal import CofferStorage
internal import CofferVault
internal import Foundation

final class OpenedVault {
  let vault: UnlockedVault
  init(_ vault: consuming UnlockedVault) { self.vault = vault }
}

extension VaultBenchmark {
  /// The operations on a vault of `count` items.
  func work(on count: Int, _ wanted: Set<String>) throws {
    let file = "of \(count)"
    try fill(file, count)
    try peer.transaction { for step in 0..<count { try peer.put(step) } }
    let memory = Memory()
    let opened = OpenedVault(try unlock(file))
    if wanted.contains("get") { try reads(opened, among: count) }
    if wanted.contains("all") { try whole(opened, of: count) }
    if wanted.contains("memory") { memory.print(against: count * (32 + 144 + 272), "\(count) items") }
    if wanted.contains("unlock") { try unlocking(file) }
    if wanted.contains("rotate") { try rotation(opened, of: count) }
  }

  private func fill(_ file: String, _ count: Int, afterRotations rotations: Int = 0) throws {
    let vault = try UnlockedVault.create(at: .file(path(file)), with: credentials(), options: .withoutPins)
    for _ in 0..<rotations { try vault.rotate() }
    let store = try VaultStore(service: "bench", vault: unlock(file))
    for first in stride(from: 0, to: count, by: 10_000) {
      var batch = Batch<Vault>()
      for number in first..<first + 10_000 { batch.writes[try name(number).account] = .set(value) }
      try store.commit(batch, decision: nil)
    }
    try store.lock()
  }

  private func reads(_ opened: OpenedVault, among count: Int) throws {
    let names = try (0..<2000).map { try name($0 &* 7919 % count) }
    // Each bucket's list is read once, as in a vault in use.
    for name in names { _ = try opened.vault.get(name) }
    try Measure.table(
      "get among \(count)", rounds: 15,
      [
        Contender(name: "coffer", count: 2000, goals: [.microseconds(10)]) { step in _ = try opened.vault.get(names[step % 2000])
        },
        Contender(name: "raw libsodium", count: 2000) { _ in sodium.openRecord() },
        Contender(name: "raw SQLite, one row", count: 2000) { step in _ = try peer.get(step % 2000 &* 7919 % count) },
      ])
  }

  private func whole(_ opened: OpenedVault, of count: Int) throws {
    try Measure.table(
      "the whole of \(count) items", rounds: 5,
      [
        Contender(name: "list", count: 1, goals: [.microseconds(8 * Double(count))]) { _ in _ = try opened.vault.list() },
        Contender(name: "verify, every record and every page", count: 1, goals: [.microseconds(5 * Double(count))]) { _ in
          _ = try opened.vault.verify()
        },
        Contender(name: "the log, every row opened", count: 1) { _ in _ = try opened.vault.log() },
        Contender(name: "raw SQLite, every row looked up", count: 1) { _ in for step in 0..<count { _ = try peer.get(step) } },
      ])
  }

  private func unlocking(_ file: String) throws {
    let cost = PassphraseCost(passes: 3, mebibytes: 64)
    let passphrase = SecretForm(try SecretBytes.random(20))
    let vault = try unlock(file)
    try vault.addSlot(Credentials(passphrase: passphrase.bytes.duplicate()), cost: cost)
    try fill("rotated", 10_000, afterRotations: 1_024)
    try Measure.table(
      "unlock", rounds: 9,
      [
        Contender(name: "with a key file", count: 1) { _ in _ = try unlock(file) },
        Contender(name: "with a key file, after 1 024 rotations", count: 1) { _ in _ = try unlock("rotated") },
        Contender(name: "with a passphrase, 3 passes over 64 MiB", count: 1, goals: [.microsecondsMore(20_000)]) { _ in
          _ = try LockedVault.open(.file(path(file)), options: .withoutPins)
            .unlock(with: Credentials(passphrase: passphrase.bytes.duplicate()))
        },
        Contender(name: "raw libsodium, Argon2id alone", count: 1) { _ in
          sodium.hashPassphrase(passes: cost.passes, mebibytes: cost.mebibytes)
        },
      ])
  }

  private func rotation(_ opened: OpenedVault, of count: Int) throws {
    try Measure.table(
      "a new key for \(count) items", rounds: 3,
      [
        Contender(name: "rotate, with the file rewritten", count: 1, goals: [.microseconds(50 * Double(count))]) { _ in
          try opened.vault.rotate()
        },
        Contender(name: "raw SQLite, every row replaced", count: 1) { _ in
          try peer.transaction { for step in 0..<count { try peer.put(step) } }
        },
      ])
  }
}

/// The memory that this process took from the system.
struct Memory {
  private let before = Memory.resident()

  /// Prints the growth since, relative to `bytes`.
  func print(against bytes: Int, _ what: String) {
    let taken = Memory.resident() - before
    Swift.print(
      "\nmemory of an open vault with \(what): \(taken >> 20) MiB, \(String(format: "%.2f", Double(taken) / Double(bytes)))× "
        + "the sealed records"
    )
  }

  /// Bytes, from the second number of /proc/self/statm, in pages.
  private static func resident() -> Int {
    do {
      let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
      return pages.count > 1 ? (Int(pages[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    } catch {
      return 0
    }
  }
}
