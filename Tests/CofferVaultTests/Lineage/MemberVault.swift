import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// A vault of a key file's owner and a recipient, also with slots of a recovery code and of the key file's owner. Its key
/// changed three times, the last time to remove another recipient.
final class MemberVault {
  static let name = ItemName.sample
  static let tables = ["header", "header_copy", "state", "digest", "rec", "old", "log"]
  static let passphrase = "correct horse"
  private static let raisedCost = PassphraseCost(passes: 2, mebibytes: 8)
  static let removal: UInt64 = 4

  let place: TemporaryVault
  let identity: [UInt8]
  let code: [UInt8]
  let memberIdentity: [UInt8]
  private(set) var keys: [EpochKey] = []
  private(set) var headers: [VaultHeader] = []
  private(set) var mixes: [SlotID: [UInt8]] = [:]
  private(set) var files: [KeptFiles] = []
  private let genuine: FilePath

  var vault: VaultSalt { keys[0].vault }
  var header: VaultHeader { headers[1] }
  var marks: [EpochMark] { keys.map(\.mark) }
  func invitation(_ epoch: UInt64) -> Invitation {
    Invitation(vault: VaultID(bytes: vault.bytes), key: keys[Int(epoch) - 1].mark)
  }

  init() throws {
    place = try TemporaryVault()
    identity = try SecretBytes.random(32).revealed
    memberIdentity = try SecretBytes.random(32).revealed
    code = try RecoveryCode.generate().revealed
    genuine = place.folder.appending("genuine")
    let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), cost: .testing)
    try vault.addSlot(Identity.recipient(of: SecretBytes(identity)), label: "ours")
    try vault.addSlot(Credentials(passphrase: secret(Self.passphrase)), label: "raised later", cost: .testing)
    let member = try vault.addSlot(Identity.recipient(of: SecretBytes(memberIdentity)), label: "theirs").id
    try vault.set(form("genuine"), for: Self.name)
    try note(vault)
    for _ in 2..<Self.removal {
      try vault.rotate()
      try note(vault)
    }
    let last = try vault.core.run { (vault) throws(StoreError) in
      let slots = vault.view.header.slots.enumerated().map { ($1.id, vault.view.headerBody.withMix($0) { [UInt8]($0) }) }
      return (vault.view.header, slots)
    }
    mixes = Dictionary(uniqueKeysWithValues: last.1)
    try vault.removeSlot(member)
    try vault.addSlot(Self.credentials(code: code), label: "code")
    // Its key pair and W stay, and it holds the new key's mark from now on.
    let options = VaultOptions(pins: nil, leastCost: Self.raisedCost)
    try LockedVault.open(place.path, options: options).unlock(with: Credentials(passphrase: secret(Self.passphrase)))
      .set(form("genuine"), for: Self.name)
    try vault.core.run { (vault) throws(StoreError) in try vault.refreshNow() }
    try note(vault)
    headers = [last.0, try vault.core.run { (vault) throws(StoreError) in vault.view.header }]
    _ = try vault.lock()
    try FileManager.default.copyItem(atPath: place.path.string, toPath: genuine.string)
  }

  private func note(_ vault: borrowing UnlockedVault) throws {
    let (salt, epoch, key) = try vault.core.run { (vault) throws(StoreError) in
      (vault.view.header.vault, vault.view.header.epoch, vault.view.slot.key.bytes.revealed)
    }
    keys.append(try EpochKey(salt, epoch, key))
    try place.attack("PRAGMA wal_checkpoint(TRUNCATE)")
    files.append(try KeptFiles(place.folder, ["vault.sqlite"]))
  }

  static func credentials(code: [UInt8]) throws -> Credentials {
    var credentials = Credentials()
    credentials.recoveryCode = try SecretBytes(code)
    return credentials
  }

  static func credentials(identity: [UInt8]) throws -> Credentials {
    var credentials = Credentials()
    credentials.identity = try SecretBytes(identity)
    return credentials
  }

  /// A vault of the removed member or of an outsider, with a slot of the forger's own.
  func forged(_ epoch: UInt64, byMember: Bool) throws -> (header: [UInt8], key: EpochKey) {
    let key = try EpochKey(vault, epoch)
    var draft = HeaderDraft(vault: vault, epoch: epoch)
    let mixes = byMember ? mixes : [:]
    let theirs = NewSlot.recipient(Self.attacker)
    let place = SlotPlace(vault: vault)
    draft.slots = try header.slots.map { try $0.sealed(key, mix: mixes[$0.id]) }
    draft.slots.append(try theirs.sealed(key.key(), key.mark, place: place))
    draft.slots.sort { $0.id < $1.id }
    draft.mixes = mixes
    draft.entries = (1..<min(epoch, Self.removal + 1)).map { epoch in
      byMember && epoch < Self.removal ? keys[Int(epoch) - 1].entry : .random(epoch)
    }
    return (try draft.bytes(key), key)
  }

  static let attacker: PublicKey32 = {
    do { return try SecretBytes.random(32).withUnsafeBytes { KeyAgreement.publicKey(of: $0) } } catch {
      preconditionFailure("\(error)")
    }
  }()

  /// Puts the genuine rows back into a file that may be open.
  func putBack() throws {
    let copying = Self.tables.map { "DELETE FROM main.\($0); INSERT INTO main.\($0) SELECT * FROM g.\($0);" }.joined()
    try place.attack("ATTACH '\(genuine)' AS g; PRAGMA synchronous=OFF; BEGIN; \(copying) COMMIT;")
  }

  func put(_ header: [UInt8], under key: EpochKey) throws { try place.put(header, under: key, Self.name, "forged") }
}

/// A reader of a vault, and its knowledge from elsewhere.
final class Onlooker {
  enum Role: String, CaseIterable, Sendable {
    case recipientWithPin = "a recipient's pin"
    case recipientWithInvitation = "a recipient's invitation"
    case ownerWithPin = "a pin beside an older slot"
    case codeAlone = "a slot made since"
    case passphraseAlone = "a slot's mark renewed since"
    case openRecipient = "a recipient's open vault"
    case openOwner = "an owner's open vault"
    case store = "a store"

    /// Whether a writer of the file can seal a key to the slot without a former key.
    var isRecipient: Bool { [.recipientWithPin, .recipientWithInvitation, .openRecipient, .store].contains(self) }
    var isOpen: Bool { [.openRecipient, .openOwner, .store].contains(self) }
  }

  let role: Role
  private let world: MemberVault
  private let pins: FilePath
  private var open: FullVault.VaultEngineHolder?
  private var store: VaultStore?

  /// Create it while the genuine vault is in place.
  init(_ role: Role, of world: MemberVault) throws {
    self.role = role
    self.world = world
    pins = world.place.folder.appending("pins \(role)")
    switch role {
    case .recipientWithPin: _ = try LockedVault.open(world.place.path, options: invited(pins: pins)).unlock(with: credentials())
    case .ownerWithPin: _ = try unlock()
    case .openRecipient, .openOwner: open = FullVault.VaultEngineHolder(try unlock())
    case .store: store = try VaultStore(service: MemberVault.name.service, vault: unlock())
    case .recipientWithInvitation, .codeAlone, .passphraseAlone: break
    }
  }

  private func invited(pins: FilePath?, _ epoch: UInt64 = MemberVault.removal) -> VaultOptions {
    VaultOptions(pins: pins, invitations: [world.invitation(epoch)])
  }

  private func credentials() throws -> Credentials {
    switch role {
    case .codeAlone: try MemberVault.credentials(code: world.code)
    case .passphraseAlone: Credentials(passphrase: try secret(MemberVault.passphrase))
    case .ownerWithPin, .openOwner: try TemporaryVault.credentials()
    default: try MemberVault.credentials(identity: world.identity)
    }
  }

  private func unlock() throws -> UnlockedVault {
    let options =
      switch role {
      case .recipientWithPin, .ownerWithPin: VaultOptions(pins: pins)
      case .recipientWithInvitation: invited(pins: nil)
      // An open vault has an invitation older than the removal: the key that it holds counts.
      case .openRecipient, .store: invited(pins: nil, 1)
      case .codeAlone, .passphraseAlone, .openOwner: VaultOptions.withoutPins
      }
    return try LockedVault.open(world.place.path, options: options).unlock(with: credentials())
  }

  func answer() -> String {
    do {
      if let open { return text(try open.unlocked.get(MemberVault.name)) ?? "nothing" }
      if let store { return text(try store.load(MemberVault.name.account)) ?? "nothing" }
      return text(try unlock().get(MemberVault.name)) ?? "nothing"
    } catch let error as StoreError {
      return error.word
    } catch {
      return "\(error)"
    }
  }

  /// State that a refusal must not change: the pin's files and the key in memory.
  func memory() throws -> [String: Data] {
    if let core = try open?.unlocked.core ?? store?.held.opened() {
      return try core.run { (vault) throws(StoreError) in ["key": Self.key(vault)] }
    }
    guard FileManager.default.fileExists(atPath: pins.string) else { return [:] }
    return try KeptFiles(pins).files
  }

  private static func key(_ vault: OpenVault) -> Data {
    Data(vault.view.slot.key.bytes.revealed + vault.view.keys.epochMark.mark.bytes + "\(vault.view.slot.epoch)".utf8)
  }
}

extension TemporaryVault {
  /// Puts a whole vault under `key` there: with `header`, the most replicas of a state, a generation far above any seen, and
  /// one item.
  func put(_ header: [UInt8], under key: EpochKey, _ name: ItemName, _ text: String) throws {
    let keys = try key.subkeys()
    let value = Array(text.utf8)
    let meta = RecordMeta(
      revision: 1, service: name.service, account: name.account, created: 1, modified: 1, valueCount: value.count)
    let record = try value.span.bytes.withUnsafeBytes { (value) throws(FormatError) in
      try SealedRecord(meta, value: value, keys: keys)
    }
    let bucket = RecordTable.present.bucket(of: record.index)
    let digest = DigestTree.digest(bucket, [record.entry], keys: keys)
    var tree = DigestTree(emptyUnder: keys)
    tree.replace([(bucket, digest)], keys: keys)
    var counts = RecordCounts.none
    (counts.records, counts.items) = (1, 1)
    var state = VaultState(
      generation: 1 << 40, commit: .random(), root: tree.root, counts: counts, time: 1, logSequence: 0, logHead: .zero)
    for _ in 0..<VaultState.mostReplicas { state.note(.random()) }
    let sealed = state.sealed(epoch: key.epoch, header: PlainHash.digest(header), keys: keys)
    func hex(_ bytes: [UInt8]) -> String { "x'\(Hex.text(bytes))'" }
    try attack(
      """
      PRAGMA synchronous=OFF; BEGIN; DELETE FROM rec; DELETE FROM old; DELETE FROM digest; DELETE FROM log;
      UPDATE header SET bytes=\(hex(header)); UPDATE header_copy SET bytes=\(hex(header)); UPDATE state SET bytes=\(hex(sealed));
      INSERT INTO digest VALUES(\(bucket),\(hex(digest.bytes)));
      INSERT INTO rec VALUES(\(hex(record.index.bytes)),\(hex(record.id.bytes)),\(hex(record.meta)),\(hex(record.value ?? []))); COMMIT;
      """)
  }
}
