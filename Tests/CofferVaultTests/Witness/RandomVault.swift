import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage

@testable import CofferVault
@testable import CofferVaultFormat

struct RandomVault {
  let place: TemporaryVault
  private(set) var keys: [SlotSummary.ID: Witness.Key] = [:]
  private(set) var holds: WitnessedVault
  private let invitations: [String]
  private var random: Random

  private static let calls = 3...8

  init(_ seed: UInt64) throws {
    random = Random(seed: seed)
    place = try TemporaryVault()
    let pins = place.folder.appending("pins")
    let first = try Self.key(SlotKind.openable.filter { $0 != .recipient }.randomElement(using: &random) ?? .keyFile, &random)
    let vault = try UnlockedVault.create(
      at: place.path, with: first.credentials(), cost: .testing, label: Self.text(12, &random), options: VaultOptions(pins: pins))
    let use = try vault.slots()[0].summary.id
    keys[use] = first
    var told = [try vault.invitation().description]
    for _ in 0..<Int.random(in: Self.calls, using: &random) {
      try Self.change(vault, use: use, &keys, &random)
      told.append(try vault.invitation().description)
    }
    if Bool.random(using: &random) { try Self.trim(vault) }
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      try vault.core.write { (vault, _) throws(StoreError) in
        try vault.view.database.outcomes.commit(.random(), now: 1_767_225_600_000)
      }
    }
    let decided = try place.decided()
    invitations = told
    // Closing a vault may commit once more, to leave nothing of removed values in the file.
    _ = try vault.lock()
    let closed = try LockedVault.open(place.path, options: VaultOptions(pins: pins)).unlock(with: first.credentials())
    holds = try closed.core.read { (vault) throws(StoreError) in try WitnessedVault(vault, decided: decided) }
  }

  /// One for each slot with this machine's pins, and one with only an invitation of any epoch.
  var requests: [WitnessReadingTests.Request] {
    let pins = place.folder.appending("pins").string
    return keys.values.enumerated().map { number, key in
      let isAlone = number % 2 == 1 || key.identity != nil
      let invitation = invitations[number % invitations.count]
      return WitnessReadingTests.Request(
        path: place.path.string, pins: isAlone ? nil : pins, invitations: isAlone ? [invitation] : [], key: key)
    }
  }

  // MARK: Changes

  private static func change(
    _ vault: borrowing UnlockedVault, use: SlotSummary.ID, _ keys: inout [SlotSummary.ID: Witness.Key], _ random: inout Random
  ) throws {
    switch Int.random(in: 0..<12, using: &random) {
    case 0..<4: try setItems(vault, &random)
    case 4..<8: try changeItem(vault, &random)
    case 8..<10: try addSlot(vault, &keys, &random)
    case 10: try vault.rotate()
    default:
      if let id = keys.keys.filter({ $0 != use }).randomElement(using: &random) {
        try vault.removeSlot(id)
        keys[id] = nil
      } else {
        try vault.relabelSlot(use, to: text(20, &random))
      }
    }
  }

  private static func setItems(_ vault: borrowing UnlockedVault, _ random: inout Random) throws {
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      var attributes: [String: String] = [:]
      for number in 0..<Int.random(in: 0...3, using: &random) { attributes["\(number)" + text(5, &random)] = text(30, &random) }
      let metadata = ItemMetadata(
        label: text(30, &random), contentType: ["", "text/plain"].randomElement(using: &random) ?? "", attributes: attributes,
        expires: Bool.random(using: &random) ? Date(timeIntervalSince1970: 4_102_444_800) : nil)
      try vault.set(SecretForm(try value(&random), metadata: metadata), for: name(&random), keeping: keeping(&random))
    }
  }

  private static func changeItem(_ vault: borrowing UnlockedVault, _ random: inout Random) throws {
    if let gone = try vault.deleted().randomElement(using: &random), Bool.random(using: &random) {
      if gone.item.name.field.isEmpty, try vault.item(gone.item.name) == nil { try vault.undelete(gone.item.name) }
      return
    }
    guard let item = try vault.list().randomElement(using: &random) else { return try setItems(vault, &random) }
    switch Int.random(in: 0..<7, using: &random) {
    case 0:
      let dates = [nil, Date.distantFuture, Date(timeIntervalSince1970: 4_102_444_800)]
      try vault.remove(item.name, if: .always, keptUntil: dates.randomElement(using: &random) ?? nil)
    case 1:
      guard let former = try vault.revisions(of: item.name).last else { return }
      try vault.revert(item.name, to: former.item.revision)
    case 2: try vault.set(SecretForm(value(&random)), for: item.name, keeping: 100)
    case 3: try vault.apply([.describe(item.name, as: ItemMetadata(label: text(30, &random)), keeping: keeping(&random))])
    case 4:
      let new = try name(&random)
      if new != item.name { try vault.apply([.move(item.name, to: new, if: .always)]) }
    default:
      for _ in 0...1 {
        let field = try item.name.field(named: ["pin", "seed", "key"].randomElement(using: &random) ?? "")
        try vault.set(SecretForm(value(&random)), for: field, keeping: keeping(&random))
      }
    }
  }

  private static func keeping(_ random: inout Random) -> Int? { [nil, 0, 1, 3].randomElement(using: &random) ?? nil }

  private static func addSlot(
    _ vault: borrowing UnlockedVault, _ keys: inout [SlotSummary.ID: Witness.Key], _ random: inout Random
  ) throws {
    let kind = SlotKind.openable.randomElement(using: &random) ?? .passphrase
    let (key, label) = (try key(kind, &random), text(20, &random))
    let slot: SlotSummary
    if let identity = key.identity {
      slot = try vault.addSlot(Identity.recipient(of: identity.secret()), label: label)
    } else {
      slot = try vault.addSlot(key.credentials(), label: label, cost: .testing)
    }
    keys[slot.id] = key
  }

  private static func trim(_ vault: borrowing UnlockedVault) throws {
    try vault.core.run { (vault) throws(StoreError) in vault.log.longest = 4 }
    try vault.set(form("the last"), for: ItemName(service: "last"))
  }

  // MARK: Choices

  private static func key(_ kind: SlotKind, _ random: inout Random) throws -> Witness.Key {
    func content(_ secret: borrowing SecretBytes) -> HexBytes { HexBytes(secret.revealed) }
    let phrase = HexBytes(bytes(Int.random(in: 1...40, using: &random), &random))
    switch kind {
    case .passphrase: return Witness.Key(passphrase: phrase)
    case .passphraseAndKeyFile: return Witness.Key(passphrase: phrase, keyFile: HexBytes(bytes(32, &random)))
    case .keyFile: return Witness.Key(keyFile: content(try KeyFile.generate()))
    case .recoveryCode: return Witness.Key(recovery: content(try RecoveryCode.generate()))
    case .recipient, .foreign: return Witness.Key(identity: content(try Identity.generate()))
    }
  }

  private static func value(_ random: inout Random) throws -> SecretBytes {
    let sizes = [0, 1, 255, 256, 2047, 2048, Int.random(in: 0...9_000, using: &random)]
    return try secret(bytes(sizes.randomElement(using: &random) ?? 0, &random))
  }

  private static func bytes(_ count: Int, _ random: inout Random) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  private static let letters = "aZ7-/ \u{e9}e\u{301}\u{6f22}\u{1F511}\u{feff}\u{200b}".unicodeScalars.map { String($0) }

  private static func text(_ most: Int, _ random: inout Random) -> String {
    (0..<Int.random(in: 0...most / 4, using: &random)).map { _ in letters.randomElement(using: &random) ?? "" }.joined()
  }

  private static func name(_ random: inout Random) throws -> ItemName {
    try ItemName(service: "s" + text(12, &random), account: text(12, &random))
  }
}
