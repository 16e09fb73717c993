import CofferTestSupport
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Flips every bit, one at a time, of a 64 KiB vault, its header's copy, a write-ahead log and the pins: the right answer or
/// a named error, never a wrong value.
@Suite(.tags(.campaign), .wholeRun)
struct BitFlipCampaign {
  private static let pages = 17

  /// A vault with pins whose file has exactly ``pages`` pages, and its items.
  private func grown() throws -> (place: TemporaryVault, options: VaultOptions, items: [ItemName: String]) {
    let place = try TemporaryVault()
    let options = VaultOptions(pins: place.folder.appending("pins"))
    var items: [ItemName: String] = [:]
    func size() throws -> Int { try Data(contentsOf: URL(fileURLWithPath: place.path.string)).count }
    func set(_ value: String, _ account: String) throws {
      let name = try ItemName(service: "svc", account: account)
      let vault = items.isEmpty ? try Self.created(place, options) : try place.unlocked(options)
      try vault.set(form(value), for: name)
      _ = try vault.lock()
      items[name] = value
    }
    for number in 0..<6 { try set("value \(number)", "\(number)") }
    while try size() < Self.pages * 4096 - 3 * 4096 {
      try set(String(repeating: "long \(items.count) ", count: 900), "\(items.count)")
    }
    while try size() < Self.pages * 4096 { try set("value \(items.count)", "\(items.count)") }
    #expect(try size() == Self.pages * 4096)
    return (place, options, items)
  }

  private static func created(_ place: TemporaryVault, _ options: VaultOptions) throws -> UnlockedVault {
    try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), options: options)
  }

  private func flip(
    _ name: String, _ bits: [Int], of kept: KeptFiles, _ options: VaultOptions, _ items: [ItemName: String],
    verifying: Bool = true,
    allowed: Set<String>, _ group: String
  ) throws -> Tally {
    let workers = Campaign.isLong ? 2 : 1
    let tallies = Collected()
    let original = try #require(kept.files[name])
    Campaign.concurrently(workers) { worker in
      var tally = Tally()
      let place = try TemporaryVault()
      // A pin names its place, so each copy has its own.
      let hasPins = options.pins != nil
      let options = VaultOptions(pins: hasPins ? place.folder.appending("pins") : nil)
      try kept.put(into: place.folder)
      let files = hasPins ? try kept.moved(to: place) : kept
      let name = kept.nameMoved(name, to: place)
      for (number, bit) in bits.enumerated() where number % workers == worker {
        var changed = original
        changed[bit / 8] ^= 1 << (bit % 8)
        try files.with(name, changed).put(into: place.folder)
        let outcome = place.answer(items, options, verifying: verifying)
        tally.add(group, outcome, allowed: allowed, "bit \(bit)")
      }
      tallies.add(tally)
    }
    return tallies.all
  }

  private static let refusals: Set<String> = [
    "damaged", "tampered", "notAVault", "newerFormat", "wrongSecret", "rolledBack", "replaced",
  ]

  @Test func `every bit of the vault and of its header's copy`() throws {
    let (place, _, items) = try grown()
    let kept = try KeptFiles(place.folder, ["vault.sqlite"])
    let file = try #require(kept.files["vault.sqlite"])
    var tally = try flip(
      "vault.sqlite", Array(Campaign.cases(file.count * 8, short: 14)), of: kept, .withoutPins, items,
      allowed: Self.refusals.union(["right answer"]), "the vault's file")
    #expect(tally["right answer"] > 0, "bytes that SQLite does not use change nothing")
    #expect(tally["tampered"] > 0)

    // Without the first header, its copy opens the vault.
    let header = try #require(Data(hex: place.hex("SELECT hex(bytes) FROM header_copy")))
    try place.attack("UPDATE header SET bytes=zeroblob(10)")
    let mended = try KeptFiles(place.folder, ["vault.sqlite"])
    let range = try #require(mended.files["vault.sqlite"]?.range(of: header))
    #expect(place.answer(items, verifying: false) == "right answer")
    let bits = Campaign.cases(header.count * 8, short: 4).map { range.lowerBound * 8 + $0 }
    tally.add(
      try flip(
        "vault.sqlite", bits, of: mended, .withoutPins, items, verifying: false, allowed: ["damaged"], "the header's only copy")
    )
    tally.report("bits of a vault of \(file.count) bytes, and of its header's copy")
  }

  @Test func `every bit of a write-ahead log`() throws {
    let place = try TemporaryVault()
    let options = VaultOptions(pins: place.folder.appending("pins"))
    _ = try Self.created(place, options).lock()
    var items: [ItemName: String] = [:]
    let vault = try place.unlocked(options)
    for number in 0..<2 {
      let name = try ItemName(service: "svc", account: "\(number)")
      items[name] = "value \(number)"
      try vault.set(form("value \(number)"), for: name)
    }
    let kept = try KeptFiles(place.folder).without("vault.sqlite-shm")
    let log = try #require(kept.files["vault.sqlite-wal"])
    let tally = try flip(
      "vault.sqlite-wal", Array(Campaign.cases(log.count * 8, short: 6)), of: kept, options, items,
      allowed: Self.refusals.union(["right answer"]), "the write-ahead log")
    tally.report("bits of a write-ahead log of \(log.count) bytes")
    #expect(tally["rolledBack"] > 0, "what a log without its end shows is an older vault")
    #expect(try vault.verify().records == 2)
  }

  @Test func `every bit of the pins`() throws {
    let place = try TemporaryVault()
    let options = VaultOptions(pins: place.folder.appending("pins"))
    let name = try ItemName(service: "svc", account: "a")
    let vault = try Self.created(place, options)
    try vault.set(form("first"), for: name)
    try vault.set(form("value"), for: name)
    _ = try vault.lock()
    let kept = try KeptFiles(place.folder)
    let items = [name: "value"]
    var tally = Tally()
    for (file, content) in kept.files where file.hasPrefix("pins/") {
      let isPath = file.hasPrefix("pins/at-")
      let bits = Array(Campaign.cases(content.count * 8, short: isPath ? 3 : 4))
      // One of two records stays whole, and neither is newer than the vault.
      tally.add(
        try flip(
          file, bits, of: kept, options, items, allowed: isPath ? ["replaced"] : ["right answer"],
          isPath ? "the vault expected at a path" : "a pin"))
      guard !isPath else { continue }
      for (gone, left) in [(0, 1), (1, 0)] {
        var alone = content
        let start = PinRecord.offsets[gone]
        alone.replaceSubrange(start..<start + PinRecord.count, with: Data(count: PinRecord.count))
        let bits = Campaign.cases(PinRecord.count * 8, short: 2).map { PinRecord.offsets[left] * 8 + $0 }
        tally.add(
          try flip(file, bits, of: kept.with(file, alone), options, items, allowed: ["damaged"], "a pin's only record"))
      }
    }
    tally.report("bits of the pins")
  }
}

extension KeptFiles {
  func without(_ name: String) -> KeptFiles { KeptFiles(files.filter { $0.key != name }) }

  /// With the place's pin under its name for `place`.
  func moved(to place: TemporaryVault) throws -> KeptFiles {
    var moved = files
    for name in files.keys where name.hasPrefix("pins/at-") {
      moved[nameMoved(name, to: place)] = moved.removeValue(forKey: name)
      unlink("\(place.folder)/\(name)")
    }
    return KeptFiles(moved)
  }

  func nameMoved(_ name: String, to place: TemporaryVault) -> String {
    guard name.hasPrefix("pins/at-") else { return name }
    let digest = Array(place.path.string.utf8).span.bytes.withUnsafeBytes { PlainHash.digest($0) }
    return "pins/at-\(Hex.text(digest.bytes.prefix(16)))"
  }
}

final class Collected: @unchecked Sendable {
  private let lock = NSLock()
  private var tally = Tally()
  func add(_ other: Tally) { lock.withLock { tally.add(other) } }
  var all: Tally { lock.withLock { tally } }
}
