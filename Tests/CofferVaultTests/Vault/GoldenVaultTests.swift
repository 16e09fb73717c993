import CofferTestSupport
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Format 1 is frozen: every version must open these vaults with every slot.
@Suite struct GoldenVaultTests {
  @Test(arguments: GoldenVaults.all) func `a vault of format 1 opens with each of its slots and reads as it was written`(
    golden: GoldenVaults.Vault
  ) throws {
    for kind in golden.slots {
      let place = try copy(golden)
      let locked = try LockedVault.open(place.path)
      #expect(locked.formatVersion == 1)
      #expect(Set(locked.slots.map(\.kind)) == Set(golden.slots))
      let vault = try locked.unlock(with: GoldenVaults.credentials(kind))
      for item in GoldenVaults.items { try expect(item, in: vault) }
      #expect(try vault.list().count == GoldenVaults.items.count)
      #expect(try vault.verify().records == GoldenVaults.items.count)
      let status = try vault.status()
      #expect(status.epoch == golden.epoch && !status.oldBytesRemain)
      #expect(status.slots.allSatisfy { $0.isInUse || $0.label == "\($0.summary.kind)" })
      // Of slots with equal cost, any may come first for the owner of both secrets.
      let opened = status.slots.filter(\.isInUse).map(\.summary.kind)
      #expect(opened == [kind] || kind == .passphraseAndKeyFile && opened == [.passphrase])
      let log = try vault.log()
      #expect((log.first?.sequence != 1) == golden.hasTrimmedLog)
      #expect(log.contains { $0.event == .trimmed } == golden.hasTrimmedLog)
      #expect(log.contains { $0.event == .keyRotated } == (golden.epoch > 1))
    }
  }

  @Test func `a vault of another writer has its fields, former and deleted contents`() throws {
    let written = try JSONDecoder().decode(
      WitnessedVault.self, from: Data(contentsOf: GoldenVaults.folder.appending(path: GoldenVaults.otherContents)))
    for kind in GoldenVaults.other.slots {
      let place = try copy(GoldenVaults.other)
      let vault = try LockedVault.open(place.path).unlock(with: GoldenVaults.credentials(kind))
      let decided = try place.decided()
      let found = try vault.core.read { (vault) throws(StoreError) in try WitnessedVault(vault, decided: decided) }
      #expect(found == written, "\(found.differences(from: written))")
      #expect(try vault.verify().records == written.records.count)
      #expect(try vault.status().slots.map(\.summary.kind).count(where: { $0 == .foreign }) == 1)
      let bank = try ItemName(service: "savings", account: "ann")
      #expect(try vault.fields(of: bank).map(\.name.field) == ["pin"])
      let former = try ItemName(service: "bank", account: "ann").field(named: "pin")
      #expect(try text(vault.get(former, revision: 1)) == "1234")
      #expect(try vault.revisions(of: ItemName(service: "mail", account: "ann")).map(\.item.revision) == [6, 5, 4, 3])
      #expect(try vault.deleted().map(\.item.name.description) == ["bank/ann#seed phrase", "gone/bob"])
      try vault.undelete(ItemName(service: "gone", account: "bob"))
      try vault.rotate()
      #expect(try vault.verify().records == written.records.count)
    }
  }

  @Test func `each of several recipients opens a vault by an invitation of its first epoch; who was removed is gone`() throws {
    let golden = try #require(GoldenVaults.all.first { $0.hasMembers })
    for vault in [golden, GoldenVaults.other] {
      for identity in [GoldenVaults.identity, GoldenVaults.secondIdentity] {
        let place = try copy(vault)
        var credentials = Credentials()
        credentials.identity = try GoldenVaults.content(identity)
        let opened = try LockedVault.open(place.path).unlock(with: credentials)
        let status = try opened.status()
        #expect(status.epoch == 3 && status.slots.filter { $0.summary.kind == .recipient }.count == 2)
        #expect(!status.slots.contains { ["removed", "third"].contains($0.label) })
      }
    }
  }

  @Test(arguments: GoldenVaults.all) func `a vault of format 1 is written to and goes on as one`(golden: GoldenVaults.Vault)
    throws
  {
    let place = try copy(golden)
    let vault = try LockedVault.open(place.path).unlock(with: GoldenVaults.credentials(golden.slots[0]))
    let name = try ItemName(service: "new")
    try vault.set(form("new"), for: name)
    try vault.rotate()
    for kind in golden.slots {
      let again = try LockedVault.open(place.path).unlock(with: GoldenVaults.credentials(kind))
      #expect(text(try again.get(name)) == "new")
      #expect(try again.verify().records == GoldenVaults.items.count + 1)
    }
  }

  @Test func `the vaults are the bytes that stand for the format`() throws {
    if ProcessInfo.processInfo.environment["COFFER_WRITE_FIXTURES"] != nil { try GoldenVaults.write() }
    for (name, digest) in Self.digests {
      let file = try [UInt8](Data(contentsOf: GoldenVaults.folder.appending(path: name)))
      #expect(Hex.text(PlainHash.digest(file).bytes.prefix(16)) == digest, "\(name)")
    }
    #expect(Self.digests.count == GoldenVaults.all.count + 1)
    #expect(try Data(contentsOf: GoldenVaults.folder.appending(path: "items.json")) == GoldenVaults.itemsAsJSON())
  }

  @Test func `vaults that are there are not written over`() throws {
    #expect(throws: GoldenVaults.Refusal.self) { try GoldenVaults.write() }
  }

  /// The first 16 bytes of BLAKE2b-256 of each file.
  private static let digests: [String: String] = [
    "all-slots.sqlite": "4e89b200dc4fbac7fd154af1629548d3",
    "another-writer.sqlite": "0833d69e61932d3aea2209a0e826a057",
    "key-file.sqlite": "4a5be74e1e6de6369e1e29b15537efbe",
    "members.sqlite": "c5782f29c502a146416f49ec2311650e",
    "passphrase-and-key-file.sqlite": "368c052c1187403054893b3a39a74180",
    "passphrase.sqlite": "a3a8b400a41e5bdeeb9dee6ab3d12a14",
    "recipient.sqlite": "cae83b39c21dff751ade168a2c3a3fdb",
    "recovery-code.sqlite": "0ca3c4816055d695738faf95b2c78b1e",
    "rotated-twice.sqlite": "19c1a60e5e258545b94fcdce510f03ce",
    "trimmed-log.sqlite": "48b4457622765fe36627e6d55ca2cc00",
  ]

  private func expect(_ item: GoldenVaults.Item, in vault: borrowing UnlockedVault) throws {
    let found = try #require(try vault.item(item.name()))
    #expect(found.metadata == item.metadata && found.revision == item.revision && found.valueBytes == item.value.count)
    guard !item.isExpired else {
      let name = try item.name()
      do {
        _ = try vault.get(name)
        Issue.record("\(name) is expired")
      } catch { #expect(error.kind == .expired) }
      return
    }
    let form = try #require(try vault.get(item.name()))
    #expect(form.bytes.withUnsafeBytes { Array($0) } == item.value)
    #expect(form.metadata == item.metadata)
  }

  private func copy(_ golden: GoldenVaults.Vault) throws -> TemporaryVault {
    let place = try TemporaryVault()
    try FileManager.default.copyItem(atPath: golden.file.path, toPath: place.path.string)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place.path.string)
    return place
  }
}
