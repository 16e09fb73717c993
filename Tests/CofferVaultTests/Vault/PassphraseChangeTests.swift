import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct PassphraseChangeTests {
  private func credentials(_ passphrase: String) throws -> Credentials { Credentials(passphrase: try secret(passphrase)) }

  @Test(arguments: [UnlockedVault.KeyChange.renewed, .kept])
  func `the new passphrase opens the old one nothing and all other slots stay`(_ key: UnlockedVault.KeyChange) throws {
    let full = try FullVault()
    let vault = try full.unlock(.passphrase)
    let other = try full.unlock(.recoveryCode)
    let same = try full.unlock(.passphrase)
    let header = try #require(Data(hex: full.place.hex("SELECT hex(bytes) FROM header")))
    try vault.changePassphrase(to: credentials("new horse"), cost: .testing, key: key)
    #expect(try full.opening() == Set(SlotKind.openable).subtracting([.passphrase]))
    let opened = try LockedVault.open(full.place.path).unlock(with: credentials("new horse"))
    #expect(text(try opened.get(FullVault.name)) == "hush")
    #expect(try opened.status().epoch == (key == .kept ? 1 : 2))
    #expect(try opened.slots().first(where: \.isInUse)?.label == "passphrase", "id and label stay")
    #expect(try opened.slots().first(where: \.isInUse)?.summary.id == full.id(.passphrase))
    try vault.set(form("hush"), for: FullVault.name)
    #expect(text(try other.get(FullVault.name)) == "hush")
    #expect(kind { _ = try same.get(FullVault.name) } == .locked)
    // The old box with the old key is gone from the file.
    #expect(try !vault.status().oldBytesRemain)
    for file in try FileManager.default.contentsOfDirectory(atPath: full.place.folder.string) {
      let content = try Data(contentsOf: URL(fileURLWithPath: full.place.folder.appending(file).string))
      #expect(content.range(of: header.suffix(64)) == nil, "\(file)")
    }
  }

  @Test func `a forgotten passphrase is replaced with the recovery code`() throws {
    let full = try FullVault()
    let vault = try full.unlock(.recoveryCode)
    try vault.changePassphrase(to: credentials("remembered"), ofSlot: full.id(.passphrase), cost: .testing)
    #expect(text(try vault.get(FullVault.name)) == "hush")
    _ = try LockedVault.open(full.place.path).unlock(with: credentials("remembered"))
    #expect(kind { _ = try full.unlock(.passphrase) } == .wrongSecret)
    #expect(kind { try vault.changePassphrase(to: credentials("x"), cost: .testing) } == .unfitSecret, "this slot has none")
    #expect(
      kind { try vault.changePassphrase(to: Credentials(keyFile: KeyFile.generate()), ofSlot: full.id(.passphrase)) }
        == .unfitSecret)
  }

  /// The old passphrase and an old copy give the old vault key and the old slot's key pair.
  @Test func `an old copy with the old passphrase does not open what a later rotation seals`() throws {
    for key in [UnlockedVault.KeyChange.renewed, .kept] {
      let full = try FullVault()
      let before = try full.place.copy()
      var stolen = OpenSlotBox(try openSlot(before, full.secrets.credentials(.passphrase)))
      let vault = try full.unlock(.passphrase)
      try vault.changePassphrase(to: credentials("new horse"), cost: .testing, key: key)
      try vault.rotate()
      let header = try VaultDatabase.open(full.place.path)
      let next = try header.read { () throws(StoreError) in try StoredParts.readHeader(header).header }
      #expect(kind { try stolen.slot.reopen(in: next) } == .locked)
    }
  }

  private func openSlot(_ place: TemporaryVault, _ credentials: consuming Credentials) throws -> OpenSlot {
    let database = try VaultDatabase.open(place.path)
    let header = try database.read { () throws(StoreError) in try StoredParts.readHeader(database).header }
    return try SlotSearch.open(header, with: credentials, memory: 64 << 20)
  }

  @Test func `a cost below the floor is refused and the floor is the cost of the first`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    #expect(kind { try vault.addSlot(credentials("p"), cost: .testing) } == .unfitSecret)
    let least = PassphraseCost(passes: 3, mebibytes: 64)
    #expect(try vault.addSlot(credentials("p"), cost: least).mebibytes == 64)
    let cheap = try TemporaryVault()
    let own = PassphraseCost(passes: 2, mebibytes: 9)
    let made = try UnlockedVault.create(at: cheap.path, with: credentials("p"), cost: own)
    for wrong in [PassphraseCost(passes: 1, mebibytes: 900), PassphraseCost(passes: 64, mebibytes: 8)] {
      #expect(kind { try made.addSlot(credentials("q"), cost: wrong) } == .unfitSecret)
    }
    #expect(try made.addSlot(credentials("q"), cost: own).passes == 2)
    let absurd = PassphraseCost(passes: 65, mebibytes: 9)
    #expect(kind { try made.addSlot(credentials("q"), cost: absurd) } != nil)
  }
}

struct OpenSlotBox: ~Copyable {
  var slot: OpenSlot
  init(_ slot: consuming OpenSlot) { self.slot = slot }
}

@Suite struct PassphrasePolicyTests {
  @Test func `cost is measured and never below three passes or the floor`() throws {
    let measured = try PassphrasePolicy.cost(nil, floor: .testing, memory: 1 << 30)
    #expect(measured.mebibytes == 256 && measured.passes >= 3)
    let small = try PassphrasePolicy.cost(nil, floor: .testing, memory: 150 << 20)
    #expect(small.mebibytes == 64, "half of what there is")
    let floored = try PassphrasePolicy.cost(nil, floor: PassphraseCost(passes: 5, mebibytes: 96), memory: 150 << 20)
    #expect(floored.mebibytes == 96 && floored.passes >= 5)
    #expect(throws: StoreError.self) { try PassphrasePolicy.cost(nil, floor: .floor, memory: 32 << 20) }
  }

  @Test func `passes are raised to half a second within what readers accept`() {
    let least = PassphraseCost(passes: 3, mebibytes: 256)
    #expect(PassphrasePolicy.passes(of: least, taking: .milliseconds(324)) == 5)
    #expect(PassphrasePolicy.passes(of: least, taking: .milliseconds(500)) == 3)
    #expect(PassphrasePolicy.passes(of: least, taking: .seconds(9)) == 3)
    #expect(PassphrasePolicy.passes(of: least, taking: .zero) == 64)
    let large = PassphraseCost(passes: 3, mebibytes: 2048)
    #expect(PassphrasePolicy.passes(of: large, taking: .milliseconds(1)) == 8, "16 GiB of traffic at most")
  }

  @Test func `a slot beyond this machine names the others`() throws {
    let sample = try SlotSample()
    let header = try sample.header([.passphrase, .recoveryCode, .keyFile])
    let error = #expect(throws: StoreError.self) {
      _ = try SlotSearch.open(header, with: sample.credentials(.passphrase), memory: 1 << 20)
    }
    #expect(error?.kind == .kdfMemory(needs: 8 << 20, has: 1 << 20))
    #expect(error?.cure.contains("key file (slot ") == true && error?.cure.contains("recovery code (slot ") == true)
    let alone = try sample.header([.passphrase])
    let other = #expect(throws: StoreError.self) {
      _ = try SlotSearch.open(alone, with: sample.credentials(.passphrase), memory: 1 << 20)
    }
    #expect(other?.cure.contains("every slot") == true)
  }
}

@Suite struct PassphraseTurnTests {
  @Test func `one passphrase is hashed at a time`() async throws {
    let place = try TemporaryVault()
    let folder = place.folder.appending("run")
    let running = Counter()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          do {
            try PassphraseTurn.take(in: folder) { () throws(StoreError) in
              running.enter()
              usleep(20_000)  // No event: another may come.
              running.leave()
            }
          } catch { Issue.record(error) }
        }
      }
    }
    #expect(running.most == 1)
    #expect(FileManager.default.fileExists(atPath: folder.appending("argon2.lock").string))
  }

  @Test func `who waits too long goes on and so does who has no folder`() throws {
    let place = try TemporaryVault()
    let folder = place.folder.appending("run")
    let done = try PassphraseTurn.take(in: folder) { () throws(StoreError) in
      try PassphraseTurn.take(in: folder, patience: .milliseconds(50)) { () throws(StoreError) in true }
    }
    #expect(done)
    #expect(try PassphraseTurn.take(in: place.path.appending("no/folder")) { () throws(StoreError) in true })
    #expect(try PassphraseTurn.take(in: nil) { () throws(StoreError) in true })
  }
}

final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var now = 0
  private(set) var most = 0
  func enter() {
    lock.withLock {
      now += 1
      most = max(most, now)
    }
  }
  func leave() { lock.withLock { now -= 1 } }
}
