import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite(.tags(.campaign), .wholeRun)
struct RemovedForGoodTests {
  private static let name = ItemName(sealed: "web", "ada")
  private static let other = ItemName(sealed: "web", "bob")

  private let place: TemporaryVault

  init() throws { place = try TemporaryVault() }

  private func sealed() throws -> Set<Data> {
    var all: Set<Data> = []
    for table in ["rec", "old"] {
      let hex = try place.hex("SELECT coalesce(group_concat(hex(meta)||':'||hex(value), ':'), '') FROM \(table)")
      for part in hex.split(separator: ":") { all.insert(try #require(Data(hex: String(part)))) }
    }
    return all
  }

  /// How many of `parts` any file of the vault holds, by their last 24 bytes.
  private func found(_ parts: Set<Data>) throws -> Int {
    let files = try FileManager.default.contentsOfDirectory(atPath: place.folder.string).map {
      try Data(contentsOf: URL(fileURLWithPath: place.folder.appending($0).string))
    }
    return parts.count { part in files.contains { $0.range(of: part.suffix(24)) != nil } }
  }

  struct Way: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let remove: @Sendable (borrowing UnlockedVault) throws -> Void
  }

  static let ways = [
    Way(testDescription: "delete") { vault in try vault.remove(name) },
    Way(testDescription: "delete of what was deleted before") { vault in
      try vault.remove(name, keptUntil: .distantFuture)
      try vault.remove(name)
    },
    Way(testDescription: "delete of a field") { vault in try vault.remove(name.field(named: "pin")) },
    Way(testDescription: "prune") { vault in try vault.prune(.allBut(0)) },
    Way(testDescription: "prune of what was deleted") { vault in
      try vault.remove(name, keptUntil: .distantFuture)
      try vault.prune(.allBut(0), of: name)
    },
    Way(testDescription: "a deletion that is over") { vault in
      try vault.remove(name, keptUntil: Date(timeIntervalSinceNow: -1))
      try vault.set(form("again"), for: name)
      try vault.remove(name, keptUntil: .distantFuture)
    },
    Way(testDescription: "no history") { vault in try vault.set(form("new"), for: name, keeping: 0) },
    Way(testDescription: "no history of a description") { vault in
      try vault.apply([.describe(name, as: ItemMetadata(label: "new"), keeping: 0)])
    },
    Way(testDescription: "a batch") { vault in
      var batch = Batch<Vault>()
      batch.writes[name.account] = .remove
      try vault.commit(batch, service: name.service)
    },
    Way(testDescription: "a login in its place") { vault in
      try vault.set(form("login", ItemMetadata(attributes: [ItemMetadata.endsWithSession: "true"])), for: name)
    },
    Way(testDescription: "a rename to its name") { vault in
      try vault.set(form("bob"), for: other)
      try vault.apply([.move(other, to: name, if: .always)])
    },
  ]

  @Test(arguments: ways)
  func `what is removed for good leaves the file and its log at once while the vault stays open elsewhere`(_ way: Way) throws {
    let vault = try place.create()
    let agent = try place.unlock()
    for number in 0..<3 { try vault.set(form("value \(number)"), for: Self.name, keeping: 10) }
    try vault.set(form("4711"), for: Self.name.field(named: "pin"))
    _ = try agent.list()
    let before = try sealed()
    #expect(try found(before) == before.count && before.count == 8, "the search finds what is there")
    try way.remove(vault)
    let gone = try before.subtracting(sealed())
    #expect(try !gone.isEmpty && found(gone) == 0)
    #expect(try !vault.status().oldBytesRemain && !agent.status().oldBytesRemain)
    _ = try agent.verify()
  }

  @Test func `what is removed for good leaves a log, too, that the vault was given while it was open`() throws {
    _ = try place.create().lock()
    try place.attack("PRAGMA journal_mode=DELETE")
    let vault = try place.unlock()
    try vault.set(form("value 0"), for: Self.name, keeping: 10)
    try place.attack("PRAGMA journal_mode=WAL")
    // While it is open, no other close removes the log.
    let agent = try place.unlock()
    _ = try agent.list()
    for number in 1..<3 { try vault.set(form("value \(number)"), for: Self.name, keeping: 10) }
    let before = try sealed()
    #expect(try !before.isEmpty && found(before) == before.count, "the search finds what is there")
    try vault.remove(Self.name)
    let gone = try before.subtracting(sealed())
    #expect(try !gone.isEmpty && found(gone) == 0)
    #expect(try !vault.status().oldBytesRemain && !agent.status().oldBytesRemain)
    _ = try agent.verify()
  }

  @Test func `the file is rewritten for at most a twentieth of the time`() {
    var pace = ScrubPace()
    let start = ContinuousClock.now
    #expect(pace.allows(start))
    pace.note(from: start, to: start + .milliseconds(10))
    #expect(!pace.allows(start + .milliseconds(199)) && pace.allows(start + .milliseconds(200)))
  }

  @Test func `what many removals in a row left is gone when the vault is closed`() throws {
    let vault = try place.create()
    let agent = try place.unlock()
    for number in 0..<30 { try vault.set(form("value \(number)"), for: Self.name(number)) }
    let before = try sealed()
    var waited = false
    for number in 0..<30 {
      try vault.remove(Self.name(number))
      if try vault.status().oldBytesRemain { waited = true }
    }
    #expect(waited, "not each of them rewrote the file")
    _ = try vault.lock()
    #expect(try found(before) == 0 && !agent.status().oldBytesRemain)
  }

  private static func name(_ number: Int) -> ItemName { ItemName(sealed: "many", "\(number)") }

  /// SQLite leaves copies of moved rows, which `secure_delete` does not find.
  @Test func `no copy of a removed value is left on another page`() throws {
    let vault = try place.create()
    var random = Random(seed: 7)
    var gone: [Data] = []
    for step in 0..<Campaign.size(short: 400, long: 6_000) {
      let name = Self.name(Int.random(in: 0..<120, using: &random))
      if step % 5 == 4 {
        try vault.remove(name)
      } else {
        let size = [60, 300, 900, 3_000, 9_000].randomElement(using: &random) ?? 60
        try vault.set(form(String(repeating: "x", count: size)), for: name)
      }
      if step % 40 == 39 { gone += try sealed() }
    }
    for item in try vault.list() { try vault.remove(item.name) }
    _ = try vault.lock()
    #expect(gone.count > 500)
    #expect(try found(Set(gone)) == 0)
  }

  @Test(.tags(.slow), .defaultRun)
  func `a reader that stays leaves the removed bytes to the next write of whoever writes next, and the status says so`() throws {
    let vault = try place.create()
    try vault.set(form("value"), for: Self.name)
    let before = try sealed()
    let reader = try VaultDatabase.open(place.path)
    try reader.read { () throws(StoreError) in
      _ = try reader.withState { _ in true }
      _ = try vault.remove(Self.name)
    }
    #expect(try found(before) > 0)
    let next = try place.unlock()
    let remained = try next.status().oldBytesRemain
    try next.set(form("unrelated"), for: Self.other)
    #expect(try remained && !next.status().oldBytesRemain && found(before) == 0)
    reader.close()
  }
}
