import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Coffer accepts vaults that a Python program, made from the format's text alone, writes.
@Suite(.enabled(if: Witness.isThere, Witness.missing)) struct WitnessWritingTests {
  struct Request: Encodable {
    let path: String, seed: UInt64, light: Bool
    /// `fmt` and `min_reader`.
    var versions = [1, 1]
  }

  struct Made: Decodable {
    /// The secret of each slot, by label.
    let secrets: [String: Secret]
    /// One for each epoch, latest last.
    let invitations: [String]
    let holds: WitnessedVault

    struct Secret: Decodable {
      let type: UInt8
      let key: Witness.Key

      init(from decoder: any Decoder) throws {
        type = try decoder.container(keyedBy: Keys.self).decode(UInt8.self, forKey: .type)
        key = try Witness.Key(from: decoder)
      }
      private enum Keys: CodingKey { case type }
    }
  }

  @Test(.tags(.campaign, .process), .wholeRun)
  func `vaults written from the text alone open with every slot, are written to and rotated, and are read again`() throws {
    let count = Campaign.size(short: 8, long: 300)
    var random = Random(campaign: "vaults of another writer")
    var (openings, records) = (0, 0)
    for first in stride(from: 0, to: count, by: 25) {
      let places = try (first..<min(first + 25, count)).map { _ in try TemporaryVault() }
      let requests = places.map { Request(path: $0.path.string, seed: random.next(), light: !Campaign.isLong) }
      let made = try Witness.ask("write", requests, as: Made.self)
      var again: [WitnessReadingTests.Request] = []
      var holds: [WitnessedVault] = []
      for (place, made) in zip(places, made) {
        let isPinned = Bool.random(using: &random)
        for secret in made.secrets.values {
          try expect(made, at: place, with: secret, invitation: made.invitations.randomElement(using: &random), isPinned)
        }
        let secret = try #require(made.secrets.values.randomElement(using: &random))
        holds.append(try goOn(made, at: place, with: secret))
        again.append(
          WitnessReadingTests.Request(
            path: place.path.string, pins: nil, invitations: [made.invitations[0]], key: secret.key))
        openings += made.secrets.count
        records += made.holds.records.count
      }
      for (answer, holds) in zip(try Witness.ask("read", again, as: Witness.Answer.self), holds) { answer.expect(holds) }
    }
    print("another writer: \(count) vaults, \(records) records, \(openings) openings")
  }

  @Test(.tags(.process), .defaultRun)
  func `a vault of a later format is read and not written to, where it says that this reader may, and else is refused`() throws {
    let (open, closed) = (try TemporaryVault(), try TemporaryVault())
    let made = try Witness.ask(
      "write",
      [
        Request(path: open.path.string, seed: 1, light: true, versions: [7, 1]),
        Request(path: closed.path.string, seed: 1, light: true, versions: [2, 2]),
      ], as: Made.self)
    let before = try Data(contentsOf: URL(filePath: open.path.string))
    #expect(made[0].holds.format == 7 && made[0].secrets.count > 3)
    #expect(made[0].holds.count == UInt64(made[0].holds.records.count) + 6)
    for secret in made[0].secrets.values {
      try expect(made[0], at: open, with: secret, invitation: made[0].invitations[0], true)
      let locked = try LockedVault.open(open.path, options: options(open, made[0].invitations[0], true))
      let vault = try locked.unlock(with: secret.key.credentials())
      #expect(kind { try vault.set(form("new"), for: ItemName(service: "new")) } == .newerFormat(found: 7, supported: 1))
      #expect(kind { try vault.rotate() } == .newerFormat(found: 7, supported: 1))
    }
    #expect(try Data(contentsOf: URL(filePath: open.path.string)) == before)
    #expect(kind { _ = try LockedVault.open(closed.path) } == .newerFormat(found: 2, supported: 1))
  }

  @Test(.tags(.process), .defaultRun)
  func `a vault whose structures are all as long as the text allows is read by both readers`() throws {
    struct Request: Encodable { let path: String, keyFile: HexBytes }
    let place = try TemporaryVault()
    let keyFile = HexBytes([UInt8](TemporaryVault.keyFile.utf8))
    let lengths = try Witness.ask("bounds", [Request(path: place.path.string, keyFile: keyFile)], as: [String: Int].self)
    #expect(lengths == [["header": 930_195, "state": 14_500, "row": 4_752, "meta": 69_776, "oldMeta": 69_776]])
    let vault = try LockedVault.open(place.path, options: VaultOptions(pins: nil)).unlock(with: TemporaryVault.credentials())
    #expect(try vault.verify().records == 3)
    let found = try vault.core.read { (vault) throws(StoreError) in try WitnessedVault(vault, decided: []) }
    #expect(found.slots.count == 256 && found.earlierEpochs.count == 1024 && found.replicas.count == 255)
    let read = WitnessReadingTests.Request(
      path: place.path.string, pins: nil, invitations: [], key: Witness.Key(keyFile: keyFile))
    try Witness.ask("read", [read], as: Witness.Answer.self)[0].expect(found)
  }

  private func options(_ place: TemporaryVault, _ invitation: String?, _ isPinned: Bool) throws -> VaultOptions {
    VaultOptions(
      pins: isPinned ? place.folder.appending("pins") : nil, invitations: try invitation.map { [try Invitation($0)] } ?? [])
  }

  private func expect(
    _ made: Made, at place: TemporaryVault, with secret: Made.Secret, invitation: String?, _ isPinned: Bool
  ) throws {
    let locked = try LockedVault.open(place.path, options: options(place, invitation, isPinned))
    let vault = try locked.unlock(with: secret.key.credentials())
    #expect(try vault.status().slots.first { $0.isInUse }?.summary.kind.rawValue == secret.type)
    let decided = try place.decided()
    let found = try vault.core.read { (vault) throws(StoreError) in try WitnessedVault(vault, decided: decided) }
    let isSame = found == made.holds
    #expect(isSame, "vault \(made.holds.vault): \(found.differences(from: made.holds))")
    #expect(try vault.verify().records == Int(made.holds.count))
    try expect(made.holds, in: vault)
  }

  private func expect(_ holds: WitnessedVault, in vault: borrowing UnlockedVault) throws {
    let items = holds.records.filter { $0.kind == 0 && $0.field == "" }
    let listed = try vault.list()
    #expect(
      listed.map { [ExactText($0.name.service), ExactText($0.name.account)] } == items.map { [$0.service, $0.account] })
    let now = Milliseconds.count(Date())
    for (item, record) in zip(listed, items) {
      let bytes = record.value.map { HexBytes(stringLiteral: $0).bytes }
      #expect(item.revision == record.revision && item.valueBytes == bytes?.count ?? 0)
      #expect(ExactText(item.metadata.label) == record.label && ExactText(item.metadata.contentType) == record.contentType)
      let refusal = kind {
        let isSame = try vault.get(item.name).map { $0.bytes.withUnsafeBytes { [UInt8]($0) } } == bytes
        #expect(isSame)
      }
      #expect(refusal == (1...now ~= record.expires ? .expired : bytes == nil ? .damaged : nil))
      #expect(item.id.uuidString.replacing("-", with: "").lowercased() == record.id)
      #expect(Milliseconds.count(item.written) == record.written)
    }
    for gone in try vault.deleted() {
      let name = [gone.item.name.service, gone.item.name.account, gone.item.name.field].map { ExactText($0) }
      let kept = try #require(
        holds.records.first { $0.kind == 2 && $0.names == name && $0.revision == gone.item.revision }?.until)
      #expect(gone.until.map { Milliseconds.count($0) } == (kept == 0 ? nil : kept) && !(1...now ~= kept))
    }
    let entries = try vault.log()
    for limit in [0, 1, entries.count / 2, entries.count, entries.count + 1] {
      #expect(try vault.log(limit: limit) == entries.suffix(limit))
    }
  }

  /// Writes to a vault and rotates its key, removing a slot that another program opens, if possible.
  private func goOn(_ made: Made, at place: TemporaryVault, with secret: Made.Secret) throws -> WitnessedVault {
    let locked = try LockedVault.open(place.path, options: options(place, made.invitations.last, false))
    let vault = try locked.unlock(with: secret.key.credentials())
    try vault.set(form("new"), for: ItemName(service: "new"))
    let foreign = try vault.slots().map(\.summary).filter { $0.kind == .foreign }
    for slot in foreign { try vault.relabelSlot(slot.id, to: "chip") }
    let removed = foreign.count > 1 ? foreign[0].id : nil
    if let removed { try vault.removeSlot(removed) } else { try vault.rotate() }
    #expect(try vault.verify().records == made.holds.records.count + 1)
    let decided = try place.decided()
    let found = try vault.core.read { (vault) throws(StoreError) in try WitnessedVault(vault, decided: decided) }
    #expect(found.epoch == made.holds.epoch + 1 && found.earlierEpochs == made.holds.earlierEpochs + [made.holds.epoch])
    var slots = made.holds.slots.filter { $0.id != removed.map { "\($0)" } }
    for index in slots.indices where slots[index].type == SlotKind.foreign.rawValue { slots[index].label = "chip" }
    #expect(found.slots == slots)
    _ = try vault.lock()
    return found
  }
}
