import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Carefully edited headers: their checksum, which needs no key, is valid in both copies.
@Suite(.tags(.campaign), .wholeRun)
struct SlotForgeryCampaign {
  private static let name = ItemName(sealed: "svc", "a")
  private static let items = [name: "value"]
  /// A carefully edited slot looks like a wrong secret; anything detectable is damage.
  private static let refusals: Set<String> = ["tampered", "wrongSecret", "damaged", "newerFormat"]

  private func prepared() throws -> (place: TemporaryVault, header: [UInt8]) {
    let place = try TemporaryVault()
    let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), cost: .testing)
    try vault.set(form("value"), for: Self.name)
    try vault.addSlot(Credentials(passphrase: secret("one")), label: "one", cost: .testing)
    var both = Credentials(passphrase: try secret("two"))
    both.keyFile = try KeyFile.generate()
    try vault.addSlot(both, label: "two", cost: .testing)
    var code = Credentials()
    code.recoveryCode = try RecoveryCode.generate()
    try vault.addSlot(code, label: "code")
    try vault.addSlot(Identity.recipient(of: Identity.generate()), label: "team")
    _ = try vault.lock()
    return (place, try bytes(place))
  }

  private func bytes(_ place: TemporaryVault) throws -> [UInt8] {
    [UInt8](try #require(Data(hex: place.hex("SELECT hex(bytes) FROM header"))))
  }

  /// The statements that put `header` and a valid checksum into both places.
  private func put(_ header: [UInt8]) -> String {
    let content = Array(header.dropLast(32))
    let hex = Hex.text(content + PlainHash.digest(content).bytes)
    return "UPDATE header SET bytes=x'\(hex)'; UPDATE header_copy SET bytes=x'\(hex)'"
  }

  @Test func `every bit with a fitting checksum`() throws {
    let (place, header) = try prepared()
    let kept = try KeptFiles(place.folder, ["vault.sqlite"])
    let bits = Array(Campaign.cases((header.count - 32) * 8, short: 9))
    let workers = Campaign.isLong ? 2 : 1
    let tallies = Collected()
    Campaign.concurrently(workers) { worker in
      let forger = try Forger(kept, Self.items)
      for (number, bit) in bits.enumerated() where number % workers == worker {
        var edited = header
        edited[bit / 8] ^= 1 << (bit % 8)
        try forger.forge(put(edited), "a bit of the header, five slots", as: Self.refusals)
      }
      tallies.add(forger.tally)
    }
    tallies.all.report("bits of a header whose checksum was made to fit")
  }

  /// The bytes before the slots, each slot, and the sealed part with its length.
  private func parts(_ header: [UInt8]) throws -> (head: [UInt8], slots: [[UInt8]], sealed: [UInt8]) {
    let decoded = try VaultHeader(decoding: header)
    let slots = decoded.slots.map { slot in ByteWriter.bytes(slot.encodedCount) { slot.write(to: &$0) } }
    let start = 8 + 4 + 4 + 16 + 8 + 2
    let end = start + slots.reduce(0) { $0 + $1.count }
    return (Array(header[..<start]), slots, Array(header[end..<header.count - 32]))
  }

  private func joined(_ head: [UInt8], _ slots: [[UInt8]], _ sealed: [UInt8]) -> [UInt8] {
    Array(head.dropLast(2)) + [UInt8(slots.count), 0] + Array(slots.joined()) + sealed + [UInt8](repeating: 0, count: 32)
  }

  @Test func `slots added removed exchanged and taken from elsewhere`() throws {
    let (place, header) = try prepared()
    let forger = try Forger(KeptFiles(place.folder, ["vault.sqlite"]), Self.items, every: 11)
    let (head, slots, sealed) = try parts(header)
    let (_, foreign, foreignSealed) = try parts(prepared().header)
    func forge(_ group: String, _ slots: [[UInt8]], _ sealed: [UInt8], as kinds: Set<String>) throws {
      try forger.forge(put(joined(head, slots, sealed)), group, as: kinds)
    }
    let ascending = { (slots: [[UInt8]]) in slots.sorted { $0.prefix(16).lexicographicallyPrecedes($1.prefix(16)) } }
    for (number, slot) in slots.enumerated() {
      let isOurs = slot[16] == SlotKind.keyFile.rawValue
      var others = slots
      others.remove(at: number)
      try forge("a slot removed", others, sealed, as: [isOurs ? "wrongSecret" : "tampered"])
      try forge("a slot doubled", ascending(slots + [slot]), sealed, as: ["damaged"])
      for other in foreign {
        try forge("another vault's slot added", ascending(slots + [other]), sealed, as: ["tampered"])
        try forge("another vault's slot in a slot's place", ascending(others + [other]), sealed, as: Self.refusals)
        try forge(
          "another vault's slot under a slot's id", ascending(others + [Array(slot.prefix(16)) + other.dropFirst(16)]), sealed,
          as: Self.refusals)
      }
      for second in slots.indices where second > number {
        var swapped = slots
        swapped.swapAt(number, second)
        try forge("two slots exchanged", swapped, sealed, as: ["damaged"])
        swapped = slots
        swapped[number] = Array(slots[number].prefix(16)) + slots[second].dropFirst(16)
        swapped[second] = Array(slots[second].prefix(16)) + slots[number].dropFirst(16)
        try forge("two slots under each other's id", swapped, sealed, as: ["tampered", "wrongSecret"])
      }
    }
    try forge("another vault's sealed part", slots, foreignSealed, as: ["tampered"])
    // An attacker's own slot, sealed to a key of the attacker.
    let decoded = try VaultHeader(decoding: header)
    for secret in ["mallory's", "another of mallory's"] {
      let place = decoded.place
      let inputs = try SlotInputs(Credentials(passphrase: CofferVaultTests.secret(secret)))
      let made = try NewSlot.make(.passphrase, for: inputs, cost: .testing, memory: 1 << 30, place: place)
      let slot = try made.sealed(VaultKey.random(), .some(decoded.epoch), place: place)
      let bytes = ByteWriter.bytes(slot.encodedCount) { slot.write(to: &$0) }
      try forge("an attacker's slot added", ascending(slots + [bytes]), sealed, as: ["tampered"])
    }
    forger.tally.report("slots added, removed and exchanged")
  }

  /// A slot's boxes are bound to its cost, which is checked before anything runs.
  @Test func `costs edited up and down`() throws {
    let (place, header) = try prepared()
    let (head, slots, sealed) = try parts(header)
    let kept = try KeptFiles(place.folder, ["vault.sqlite"])
    var tally = Tally()
    func refusal(_ place: TemporaryVault) throws -> String {
      do throws(StoreError) {
        guard let passphrase = try? CofferVaultTests.secret("one") else { return "NO MEMORY" }
        _ = try LockedVault.open(place.path).unlock(with: Credentials(passphrase: passphrase))
        return "OPENED"
      } catch { return error.word }
    }
    let number = try #require(slots.firstIndex { $0[16] == SlotKind.passphrase.rawValue })
    let passes: [UInt32] = Campaign.isLong ? [0, 1, 2, 3, 64, 65, .max] : [0, 1, .max]
    let sizes: [UInt32] = Campaign.isLong ? [0, 1, 7, 8, 9, 16, 2_048, 2_049, 16_385, .max] : [7, 9, .max]
    for passes in passes {
      for mebibytes in sizes where (passes, mebibytes) != (1, 8) {
        var edited = slots
        edited[number].replaceSubrange(
          18..<26,
          with: ByteWriter.bytes(8) {
            $0.write(passes)
            $0.write(mebibytes)
          })
        try kept.put(into: place.folder)
        try place.attack(put(joined(head, edited, sealed)))
        // With the key file only the header's seal reports the cost; with the passphrase the slot does.
        tally.add("with the key file", place.answer(Self.items), allowed: ["tampered", "damaged"], "\(passes)/\(mebibytes)")
        let isCheap = passes <= 3 && mebibytes <= 16
        let isLegal = 1...64 ~= passes && 8...2_048 ~= mebibytes && passes * mebibytes <= 16_384
        guard isCheap || !isLegal else { continue }
        tally.add(
          "with the passphrase", try refusal(place), allowed: ["wrongSecret", "kdfMemory"], "\(passes)/\(mebibytes)")
      }
    }
    tally.report("costs edited")
  }

  /// Every mixture of headers, states, digests and records of several epochs and sets of slots.
  @Test func `parts of one vault's different times`() throws {
    let place = try TemporaryVault()
    let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), cost: .testing)
    try vault.set(form("value"), for: Self.name)
    var times: [KeptFiles] = []
    func keep(_ change: () throws -> Void) throws {
      try change()
      try place.attack("PRAGMA wal_checkpoint(TRUNCATE)")
      times.append(try KeptFiles(place.folder, ["vault.sqlite"]))
    }
    try keep {}
    try keep { try vault.addSlot(Credentials(passphrase: secret("one")), label: "one", cost: .testing) }
    try keep { try vault.rotate() }
    try keep { try vault.set(form("value"), for: Self.name) }
    try keep { try vault.removeSlot(try #require(vault.slots().first { $0.summary.kind == .passphrase }).summary.id) }
    _ = try vault.lock()
    let newest = try #require(times.last)
    let others = try times.dropLast().map { files in
      let copy = try TemporaryVault()
      try files.put(into: copy.folder)
      return copy
    }
    let forger = try Forger(newest, Self.items, every: 19)
    let groups = [["header", "header_copy"], ["state"], ["digest"], ["rec"], ["log"]]
    for other in others {
      for choice in 1..<(1 << groups.count) - 1 {
        let tables = groups.indices.filter { choice >> $0 & 1 == 1 }.flatMap { groups[$0] }
        let sql =
          "ATTACH '\(other.path)' AS other;"
          + tables.map { "DELETE FROM main.\($0); INSERT INTO main.\($0) SELECT * FROM other.\($0);" }.joined()
        try forger.forge(sql, "tables of another time")
      }
    }
    forger.tally.report("parts of one vault's different times")
  }
}
