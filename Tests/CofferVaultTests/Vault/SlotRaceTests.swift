import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// One program changes a vault's slots or key between another's read of the slots and its change.
@Suite(.tags(.campaign), .wholeRun) struct SlotRaceTests {
  enum Command: String, CaseIterable, Sendable {
    case rotate, rotateShown, rotateOnly, removeSlot, removeShown, changePassphrase, keepKey, addKeyFile, addRecipient, addCode,
      relabel,
      restore

    var isShown: Bool { self == .rotateShown || self == .removeShown }
    var removes: Bool { [.rotateOnly, .removeSlot, .removeShown].contains(self) }
    var adds: Bool { [.addKeyFile, .addRecipient, .addCode].contains(self) }
    var changesPassphrase: Bool { self == .changePassphrase || self == .keepKey }
  }

  /// A vault with the slots of two key files, a passphrase and a recovery code, and later ones.
  final class World {
    let place: TemporaryVault
    let victim: SlotSummary.ID
    let passphrase: SlotSummary.ID
    let backup: FilePath
    private let victimKey: [UInt8]
    private(set) var passphrases = ["first words"]
    private(set) var secrets: [(id: SlotSummary.ID, credentials: () throws -> Credentials)] = []
    let vaults: [FullVault.VaultEngineHolder]

    init() throws {
      place = try TemporaryVault()
      let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), cost: .testing)
      victimKey = try KeyFile.generate().revealed
      victim = try vault.addSlot(Credentials(keyFile: SecretBytes(victimKey)), label: "victim").id
      passphrase = try vault.addSlot(Credentials(passphrase: secret("first words")), label: "passphrase", cost: .testing).id
      try vault.set(form("value"), for: .sample)
      _ = try vault.lock()
      backup = place.folder.appending("backup")
      _ = try LockedVault.open(place.path).backup(to: backup)
      let place = place
      vaults = try (0..<2).map { _ in FullVault.VaultEngineHolder(try place.unlock()) }
    }

    /// Runs a command that read the slots when they were `shown`.
    func run(_ command: Command, by number: Int, shown: [VaultStatus.Slot]) throws -> SlotReport? {
      let ids = shown.map(\.summary.id)
      switch command {
      case .rotate: return try vaults[number].unlocked.rotate()
      case .rotateShown: return try vaults[number].unlocked.rotate(shown: ids)
      case .rotateOnly: return try vaults[number].unlocked.rotate(only: ids.filter { $0 != victim })
      case .removeSlot: return try vaults[number].unlocked.removeSlot(victim)
      case .removeShown: return try vaults[number].unlocked.removeSlot(victim, shown: ids)
      case .changePassphrase, .keepKey:
        let next = "words \(number) \(passphrases.count)"
        let report = try vaults[number].unlocked.changePassphrase(
          to: Credentials(passphrase: secret(next)), ofSlot: passphrase, cost: .testing,
          key: command == .keepKey ? .kept : .renewed)
        passphrases.append(next)
        return report
      case .addKeyFile:
        let key = try KeyFile.generate().revealed
        try add(number) { Credentials(keyFile: try SecretBytes(key)) }
      case .addCode:
        let code = try RecoveryCode.generate().revealed
        try add(number) { try MemberVault.credentials(code: code) }
      case .addRecipient:
        let identity = try Identity.generate().revealed
        try add(number) { try MemberVault.credentials(identity: identity) }
      case .relabel: try vaults[number].unlocked.relabelSlot(passphrase, to: "label \(number)")
      case .restore:
        _ = try RestorableBackup(backup, toRestoreAt: place.path).restore(
          with: TemporaryVault.credentials(), options: .withoutPins)
      }
      return nil
    }

    private func add(_ number: Int, _ credentials: @escaping () throws -> Credentials) throws {
      secrets.append((try vaults[number].unlocked.addSlot(credentials()).id, credentials))
    }

    private func opens(_ credentials: consuming Credentials) throws -> Bool {
      var credentials = Optional(credentials)
      let invitation = try place.unlock().invitation()
      return kind {
        let options = VaultOptions(pins: nil, invitations: [invitation])
        let vault = try LockedVault.open(place.path, options: options).unlock(with: credentials.take() ?? Credentials())
        _ = try vault.get(.sample)
      } == nil
    }

    func lost() throws -> [SlotSummary.ID] { try secrets.filter { try !opens($0.credentials()) }.map(\.id) }
    var openingPassphrases: [String] {
      get throws { try passphrases.filter { try opens(Credentials(passphrase: secret($0))) } }
    }
    var victimOpens: Bool { get throws { try opens(Credentials(keyFile: SecretBytes(victimKey))) } }
  }

  @Test(arguments: Command.allCases, Command.allCases)
  func `a slot that was added opens the vault, and what was said of the slots is so`(first: Command, second: Command) throws {
    let world = try World()
    let shown = try world.vaults[0].unlocked.slots()
    _ = try world.run(second, by: 1, shown: shown)
    let isAnother = second.adds || second.removes
    let epoch = try world.place.unlock().status().epoch
    var report: SlotReport?
    let refusal = kind { report = try world.run(first, by: 0, shown: shown) }
    if first.isShown && isAnother {
      #expect(refusal == .conflict || (refusal == .notFound && second.removes))
    } else if first.removes && second.removes && first != .rotateOnly {
      #expect(refusal == .notFound)
    } else {
      #expect(refusal == nil)
    }
    if refusal != nil { #expect(try world.place.unlock().status().epoch == epoch) }
    let vault = try world.place.unlock()
    let slots = try vault.slots()
    // Only a command that names the remaining slots removes an added one, and reports it.
    let lost = try world.lost()
    #expect(lost.isEmpty || first == .rotateOnly)
    #expect(Set(lost).isSubset(of: report?.removed.map(\.summary.id) ?? []))
    #expect(try world.victimOpens == !(second.removes || (first.removes && refusal == nil)))
    #expect(try world.openingPassphrases == Array(world.passphrases.suffix(1)))
    if let report { #expect(report.slots.map(\.summary.id) == slots.map(\.summary.id)) }
    if first == .relabel || second == .relabel { #expect(slots.contains { $0.label.hasPrefix("label ") }) }
    _ = try vault.verify()
    for holder in world.vaults { #expect(text(try holder.unlocked.get(.sample)) == "value") }
  }

  @Test(arguments: [UnlockedVault.KeyChange.renewed, .kept])
  func `of two new passphrases of one slot, made at once, one is refused`(key: UnlockedVault.KeyChange) throws {
    let world = try World()
    let made = try SlotInputs(Credentials(passphrase: secret("made before the other")))
    let other = Credentials(passphrase: try secret("the other"))
    var second = Optional(other)
    var inputs = Optional(made)
    let id = world.passphrase
    let refusal = kind {
      try world.vaults[0].unlocked.core.refreshed { (vault) throws(StoreError) in
        guard let inputs = inputs.take(), let other = second.take() else { return }
        let plan = try vault.slots.replacement(of: id, by: inputs, cost: .testing)
        try world.vaults[1].unlocked.changePassphrase(to: other, ofSlot: id, cost: .testing, key: key)
        _ = try vault.rotate(plan) { _, _ in }
      }
    }
    #expect(refusal == .conflict)
    _ = try LockedVault.open(world.place.path).unlock(with: Credentials(passphrase: secret("the other")))
    #expect(
      kind { _ = try LockedVault.open(world.place.path).unlock(with: Credentials(passphrase: secret("made before the other"))) }
        == .wrongSecret)
  }
}
