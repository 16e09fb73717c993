import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// The vaults in `Fixtures/Vaults/v1`, written by the version that froze the format and read by every later one.
enum GoldenVaults {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures/Vaults/v1")

  struct Item: Sendable {
    let service: String, account: String, value: [UInt8], metadata: ItemMetadata
    var revision: UInt64 = 1
    var isExpired = false
    func name() throws(StoreError) -> ItemName { try ItemName(service: service, account: account) }
  }

  static let items: [Item] = [
    Item(
      service: "github.com", account: "octocat", value: Array("ghp_0123456789".utf8),
      metadata: ItemMetadata(label: "CI token", contentType: "text/plain", attributes: ["env": "ci", "scope": "repo"])),
    Item(service: "empty", account: "", value: [], metadata: ItemMetadata()),
    Item(
      service: "caf\u{e9}", account: "\u{1F511}", value: (0...255).map { UInt8($0) }, metadata: ItemMetadata(label: "B\u{e4}r")),
    Item(
      service: "com.example.app", account: "token", value: [UInt8](repeating: 7, count: 5000),
      metadata: ItemMetadata(
        contentType: "application/octet-stream", attributes: ["ends": "2100"], expires: Date(timeIntervalSince1970: 4_102_444_800)
      )),
    Item(
      service: "expired", account: "since 2020", value: Array("stale".utf8),
      metadata: ItemMetadata(expires: Date(timeIntervalSince1970: 1_577_836_800)), isExpired: true),
    Item(service: "written", account: "twice", value: Array("second".utf8), metadata: ItemMetadata(label: "kept"), revision: 2),
  ]

  struct Vault: Sendable, CustomTestStringConvertible {
    let name: String
    let slots: [SlotKind]
    var epoch: UInt64 = 1
    var hasTrimmedLog = false
    /// Two more recipients, one of them removed by the first rotation.
    var hasMembers = false
    var testDescription: String { name }
    var file: URL { folder.appending(path: name + ".sqlite") }
  }

  static let all: [Vault] =
    SlotKind.openable.map { Vault(name: fileName($0), slots: [$0]) } + [
      Vault(name: "all-slots", slots: SlotKind.openable, epoch: 2),
      Vault(name: "rotated-twice", slots: [.passphrase, .keyFile], epoch: 3),
      Vault(name: "trimmed-log", slots: [.keyFile], hasTrimmedLog: true),
      Vault(name: "members", slots: [.passphrase, .recipient], epoch: 3, hasMembers: true),
    ]

  /// The Python program's vault with fields, previous and deleted contents, and a list of its content.
  static let other = Vault(name: "another-writer", slots: [.keyFile, .passphrase, .recipient], epoch: 3, hasTrimmedLog: true)
  static let otherContents = "another-writer.json"

  private static func fileName(_ kind: SlotKind) -> String { kind.description.replacing(" ", with: "-") }

  // MARK: What opens them

  static let passphraseFile = "passphrase.txt"
  static let keyFile = "generated.key"
  static let secondFactor = "second-factor.bin"
  static let recoveryCode = "recovery-code.txt"
  /// With an invitation to each vault that it opens.
  static let identity = "identity.txt"
  static let secondIdentity = "second-identity.txt"

  static func credentials(_ kind: SlotKind) throws -> Credentials {
    var credentials = Credentials()
    switch kind {
    case .passphrase: credentials.passphrase = try content(passphraseFile)
    case .passphraseAndKeyFile:
      credentials.passphrase = try content(passphraseFile)
      credentials.keyFile = try content(secondFactor)
    case .keyFile: credentials.keyFile = try content(keyFile)
    case .recoveryCode: credentials.recoveryCode = try content(recoveryCode)
    case .recipient: credentials.identity = try content(identity)
    case .foreign: break
    }
    return credentials
  }

  static func content(_ file: String) throws -> SecretBytes {
    try secret([UInt8](Data(contentsOf: folder.appending(path: file))))
  }
}

// MARK: Writing them

extension GoldenVaults {
  struct Refusal: Error, CustomStringConvertible {
    let description: String
    static let isThere = Refusal(
      description: """
        Fixtures/Vaults/v1 is there, and is not written over: format 1 is frozen, and a new format has a folder of its own
        """)
    static let sideFiles = Refusal(description: "the closed vault left other files than its own")
  }

  static func write() throws {
    guard !FileManager.default.fileExists(atPath: folder.path) else { throw Refusal.isThere }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data("correct horse battery staple".utf8).write(to: folder.appending(path: passphraseFile))
    try Data((0..<64).map { UInt8($0 * 3) }).write(to: folder.appending(path: secondFactor))
    try write(KeyFile.generate(), to: keyFile)
    try write(RecoveryCode.generate(), to: recoveryCode)
    for identity in [identity, secondIdentity] { try write(Identity.generate(), to: identity) }
    try itemsAsJSON().write(to: folder.appending(path: "items.json"))
    for vault in all { try write(vault) }
    try writeOther()
  }

  private static func invite(_ invitation: Invitation, _ identity: String) throws {
    try write(Identity.adding(invitation, to: content(identity)), to: identity)
  }

  private struct Other: Encodable {
    let path: String, keyFile: HexBytes, passphrase: HexBytes, identity: HexBytes, second: HexBytes
  }

  private static func writeOther() throws {
    func digits(_ file: String) throws -> HexBytes { HexBytes(try content(file).revealed) }
    let place = try TemporaryVault()
    let request = Other(
      path: place.path.string, keyFile: try digits(keyFile), passphrase: try digits(passphraseFile),
      identity: try digits(identity), second: try digits(secondIdentity))
    let answer = try Witness.askPlainly("golden", request)
    guard let invitations = answer["invitations"] as? [String], let first = invitations.first, let holds = answer["holds"] else {
      throw Witness.Failed(what: "the witness tells of no vault")
    }
    for identity in [identity, secondIdentity] { try invite(Invitation(first), identity) }
    try JSONSerialization.data(withJSONObject: holds, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
      .write(to: folder.appending(path: otherContents))
    try FileManager.default.copyItem(atPath: place.path.string, toPath: other.file.path)
  }

  private static func write(_ secret: borrowing SecretBytes, to name: String) throws {
    try Data(secret.withUnsafeBytes { [UInt8]($0) }).write(to: folder.appending(path: name))
  }

  private static func write(_ golden: Vault) throws {
    let place = try TemporaryVault()
    let first = golden.slots[0]
    let created = try UnlockedVault.create(at: place.path, with: credentials(first), cost: .testing, label: "\(first)")
    // Of the first epoch, so it holds in all later ones.
    let invitation = try created.invitation()
    if golden.slots.contains(.recipient) { try invite(invitation, identity) }
    _ = try created.lock()
    let vault = try OpenVault.unlock(.file(place.path), with: credentials(first))
    if golden.hasTrimmedLog { vault.log.longest = 20 }
    for item in items {
      if item.revision > 1 { try put(form("first", ItemMetadata(label: "kept")), item, in: vault) }
      try put(SecretForm(secret(item.value), metadata: item.metadata), item, in: vault)
    }
    if golden.hasTrimmedLog {
      let gone = Item(service: "gone", account: "", value: [], metadata: ItemMetadata())
      for round in 0..<30 { try put(form("\(round)"), gone, in: vault) }
      _ = try vault.write { (_, change) throws(StoreError) in try vault.items.removals.remove(gone.name(), &change) }
    }
    vault.view.database.close()
    let opened = try LockedVault.open(place.path).unlock(with: credentials(first))
    for kind in golden.slots.dropFirst() { try opened.addSlot(credentials(kind), label: "\(kind)", cost: .testing) }
    if golden.hasMembers {
      try opened.addSlot(Identity.recipient(of: content(secondIdentity)), label: "\(SlotKind.recipient)")
      try invite(invitation, secondIdentity)
      let third = try opened.addSlot(Identity.recipient(of: Identity.generate()), label: "removed")
      try opened.removeSlot(third.id)
    }
    while try opened.status().epoch < golden.epoch { try opened.rotate() }
    _ = try opened.lock()
    guard try FileManager.default.contentsOfDirectory(atPath: place.folder.string) == ["vault.sqlite"] else {
      throw Refusal.sideFiles
    }
    try FileManager.default.copyItem(atPath: place.path.string, toPath: golden.file.path)
  }

  private static func put(_ form: SecretForm, _ item: Item, in vault: OpenVault) throws {
    let name = try item.name()
    _ = try vault.write { (_, change) throws(StoreError) in try vault.items.put(form, for: name, if: .always, &change) }
  }

  /// The items for readers in other languages: values in hexadecimal, times in milliseconds.
  static func itemsAsJSON() throws -> Data {
    let list = items.map { item -> [String: Any] in
      [
        "service": item.service, "account": item.account, "revision": item.revision,
        "value": item.value.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(),
        "label": item.metadata.label, "content type": item.metadata.contentType, "attributes": item.metadata.attributes,
        "expires": item.metadata.expires.map { UInt64($0.timeIntervalSince1970 * 1000) } ?? 0,
      ]
    }
    return try JSONSerialization.data(withJSONObject: list, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
  }
}
