import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// A vault with one slot of every kind, and each slot's secret.
final class FullVault {
  let place: TemporaryVault
  let vault: VaultEngineHolder
  let secrets: SlotSample
  private(set) var ids: [SlotKind: SlotSummary.ID] = [:]
  let invitation: Invitation

  /// Keeps the vault that made the slots: opened by the key file.
  final class VaultEngineHolder {
    let unlocked: UnlockedVault
    init(_ unlocked: consuming UnlockedVault) { self.unlocked = unlocked }
  }

  static let name = ItemName.sample

  init() throws {
    place = try TemporaryVault()
    secrets = try SlotSample()
    vault = VaultEngineHolder(
      try UnlockedVault.create(at: place.path, with: secrets.credentials(.keyFile), cost: .testing, label: "keyFile"))
    invitation = try vault.unlocked.invitation()
    for kind in SlotKind.openable where kind != .keyFile {
      ids[kind] = try vault.unlocked.addSlot(credentials(kind), label: "\(kind)", cost: .testing).id
    }
    ids[.keyFile] = try vault.unlocked.slots().first { $0.summary.kind == .keyFile }?.summary.id
    try vault.unlocked.set(form("hush"), for: Self.name)
  }

  func id(_ kind: SlotKind) throws -> SlotSummary.ID { try #require(ids[kind]) }

  /// The passphrase used with the key file differs from the passphrase slot's, which it would open too.
  func credentials(_ kind: SlotKind) throws -> Credentials {
    try secrets.credentials(kind, passphrase: kind == .passphraseAndKeyFile ? "battery staple" : "correct horse")
  }

  func unlock(_ kind: SlotKind) throws -> UnlockedVault {
    let options = VaultOptions(pins: nil, invitations: kind == .recipient ? [invitation] : [])
    return try LockedVault.open(place.path, options: options).unlock(with: credentials(kind))
  }

  /// The kinds whose secrets open the vault and read the item.
  func opening(_ location: SourceLocation = #_sourceLocation) throws -> Set<SlotKind> {
    var kinds: Set<SlotKind> = []
    for kind in SlotKind.openable {
      do {
        let vault = try unlock(kind)
        #expect(text(try vault.get(Self.name)) == "hush", sourceLocation: location)
        _ = try vault.verify()
        kinds.insert(kind)
      } catch let error as StoreError {
        #expect(error.kind == .wrongSecret, sourceLocation: location)
      }
    }
    return kinds
  }
}

extension ItemName {
  static let sample: ItemName = {
    do { return try ItemName(service: "s", account: "a") } catch { preconditionFailure("\(error)") }
  }()
}

@Suite struct SlotChangeTests {
  @Test func `every kind of slot is added and opens`() throws {
    let full = try FullVault()
    #expect(try full.opening() == Set(SlotKind.openable))
    let slots = try full.vault.unlocked.slots()
    #expect(Set(slots.map(\.summary.kind)) == Set(SlotKind.openable))
    #expect(slots.allSatisfy { $0.isInUse == ($0.summary.kind == .keyFile) })
    #expect(slots.first { $0.summary.kind == .recipient }?.label == "recipient")
    #expect(try full.vault.unlocked.status().epoch == 1, "an added slot needs no new key")
  }

  @Test func `a slot for a recipient opens with their identity alone`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let identity = try Identity.generate()
    let recipient = try Recipient(Identity.recipient(of: identity).description)
    let id = try vault.addSlot(recipient, label: "build machine").id
    var theirs = Credentials()
    theirs.identity = try identity.duplicate()
    let options = VaultOptions(pins: nil, invitations: [try vault.invitation()])
    let opened = try LockedVault.open(place.path, options: options).unlock(with: theirs)
    let inUse = try opened.slots().first(where: \.isInUse)
    #expect(inUse?.summary.id == id)
    let failure = kind {
      var others = Credentials()
      others.identity = try Identity.generate()
      _ = try LockedVault.open(place.path).unlock(with: others)
    }
    #expect(failure == .wrongSecret)
  }

  @Test func `an identity and a recipient have one spelling`() throws {
    let identity = try Identity.generate().revealed
    #expect(identity.count == 79 && identity.starts(with: Array("PVID1-".utf8)))
    let recipient = try Identity.recipient(of: SecretBytes(identity)).description
    #expect(recipient.count == 79 && recipient.hasPrefix("PVPUB1-"))
    for wrong in ["", "PVPUB1-", recipient.uppercased(), String(recipient.dropLast()), recipient + "0", " " + recipient] {
      #expect(kind { _ = try Recipient(wrong) } == .damaged)
    }
    #expect(kind { _ = try Recipient(recipient.replacing(recipient.suffix(1), with: "x")) } == .damaged)
    let zero = "PVPUB1-" + String(repeating: "0", count: 64) + TemporaryVault.zeroKeyCheck
    #expect(kind { _ = try Recipient(zero) } == .damaged, "a point of low order")
    var flipped = identity
    flipped[20] ^= 1
    #expect(kind { _ = try Identity.recipient(of: SecretBytes(flipped)) } == .damaged)
  }

  @Test(arguments: SlotKind.openable) func `a removed slot opens nothing and the others do`(_ removed: SlotKind) throws {
    let full = try FullVault()
    let before = try full.place.copy()
    let other: SlotKind = removed == .keyFile ? .recoveryCode : .keyFile
    let vault = try full.unlock(other)
    try vault.removeSlot(full.id(removed))
    #expect(try full.opening() == Set(SlotKind.openable).subtracting([removed]))
    #expect(try vault.status().epoch == 2)
    #expect(try !vault.status().oldBytesRemain)
    // An earlier copy of the file still opens: a removal promises no more.
    let options = VaultOptions(pins: nil, invitations: removed == .recipient ? [full.invitation] : [])
    let old = try LockedVault.open(before.path, options: options).unlock(with: full.credentials(removed))
    #expect(text(try old.get(FullVault.name)) == "hush")
  }

  @Test func `what an old copy gives away opens nothing new`() throws {
    let full = try FullVault()
    let before = try full.place.copy()
    try full.vault.unlocked.removeSlot(full.id(.recoveryCode))
    // The old slot, with its key pair, put into the new file.
    let old = try before.hex("SELECT hex(bytes) FROM header")
    try full.place.attack("UPDATE header SET bytes=x'\(old)'; UPDATE header_copy SET bytes=x'\(old)'")
    #expect(kind { _ = try full.unlock(.recoveryCode) } == .tampered)
  }

  @Test func `the last slot and unknown ones are not removed`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let id = try #require(try vault.slots().first).summary.id
    #expect(kind { try vault.removeSlot(id) } == .lastSlot)
    #expect(kind { try vault.rotate(only: []) } == .lastSlot)
    #expect(kind { try vault.removeSlot(SlotSummary.ID(bytes: [UInt8](repeating: 7, count: 16))) } == .notFound)
    #expect(try vault.status().epoch == 1)
    _ = try place.unlock().verify()
  }

  @Test func `removing the slot in use locks the vault and leaves the others`() throws {
    let full = try FullVault()
    let vault = try full.unlock(.passphrase)
    try vault.removeSlot(full.id(.passphrase))
    #expect(kind { _ = try vault.get(FullVault.name) } == .closed)
    #expect(try full.opening() == Set(SlotKind.openable).subtracting([.passphrase]))
  }

  @Test func `a passphrase that is changed opens, and the old one does not, where its slot was to be raised`() throws {
    let place = try TemporaryVault()
    let cost = PassphraseCost(passes: 2, mebibytes: 8)
    func unlock(_ passphrase: String) throws -> UnlockedVault {
      try LockedVault.open(place.path, options: VaultOptions(pins: nil, leastCost: cost))
        .unlock(with: Credentials(passphrase: secret(passphrase)))
    }
    _ = try UnlockedVault.create(at: place.path, with: Credentials(passphrase: secret("old")), cost: .testing).lock()
    try unlock("old").changePassphrase(to: Credentials(passphrase: secret("new")), cost: cost, key: .kept)
    #expect(kind { _ = try unlock("old") } == .wrongSecret)
    #expect(try unlock("new").log().filter { $0.event == .slotChanged }.count == 1)
  }

  @Test func `a slot is relabelled`() throws {
    let full = try FullVault()
    try full.vault.unlocked.relabelSlot(full.id(.recoveryCode), to: "in the safe")
    #expect(try full.unlock(.recoveryCode).slots().first(where: \.isInUse)?.label == "in the safe")
    #expect(
      kind { try full.vault.unlocked.relabelSlot(full.id(.passphrase), to: String(repeating: "x", count: 65)) }
        == .tooLarge(limit: 64))
    #expect(try full.opening() == Set(SlotKind.openable))
  }

  @Test func `the seventeenth slot with a secret, a recipient's second, and the 241st recipient's are refused`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let label = String(repeating: "x", count: 64)
    for _ in 1..<16 { try vault.addSlot(Credentials(keyFile: KeyFile.generate()), label: label) }
    let recipients = try (0..<240).map { _ in try Identity.recipient(of: Identity.generate()) }
    for recipient in recipients.dropLast() { try vault.addSlot(recipient, label: label) }
    #expect(kind { try vault.addSlot(recipients[7], label: label) } == .alreadyExists)
    try vault.addSlot(recipients[239], label: label)
    let generation = try vault.status().generation
    #expect(kind { try vault.addSlot(Credentials(keyFile: KeyFile.generate())) } == .tooLarge(limit: 16))
    #expect(kind { try vault.addSlot(Identity.recipient(of: Identity.generate())) } == .tooLarge(limit: 240))
    #expect(try vault.slots().count == 256)
    #expect(try vault.status().generation == generation)
    _ = try place.unlock().verify()
  }

  @Test func `a recovery code opens however it is typed`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let code = try RecoveryCode.generate().revealed
    var credentials = Credentials()
    credentials.recoveryCode = try SecretBytes(code)
    try vault.addSlot(credentials)
    let text = String(decoding: code, as: UTF8.self)
    for typed in [text.lowercased(), text.replacing("-", with: ""), text.replacing("0", with: "O").replacing("1", with: "l")] {
      var credentials = Credentials()
      credentials.recoveryCode = try secret(typed)
      _ = try LockedVault.open(place.path).unlock(with: credentials)
    }
  }

  @Test func `the log names every slot and rotation`() throws {
    let full = try FullVault()
    try full.vault.unlocked.removeSlot(full.id(.recipient))
    let events = try logEvents(full.vault.unlocked)
    let added = events.filter { $0.event == .slotAdded }.map(\.detail)
    let removed = try full.id(.recipient).bytes
    #expect(added.count == 4 && added.contains(removed))
    #expect(events.suffix(2).map(\.event) == [.slotRemoved, .keyRotated])
    #expect(events.suffix(2).first?.detail == removed)
    #expect(events.last?.detail == [2, 0, 0, 0, 0, 0, 0, 0])
  }
}

func logEvents(_ vault: borrowing UnlockedVault) throws -> [LogEntry] {
  try vault.core.run { (vault) throws(StoreError) in
    try vault.read { (_) throws(StoreError) in
      var head = Digest32.zero
      var entries: [LogEntry] = []
      try vault.view.database.log.forEach(from: 0) { (sequence, row) throws(StoreError) in
        entries.append(
          try vault.view.checked { () throws(FormatError) in
            try LogBox.open(row, sequence: sequence, after: head, keys: vault.view.keys)
          })
        head = LogBox.head(after: head, sequence: sequence, row: row, keys: vault.view.keys)
      }
      return entries
    }
  }
}
