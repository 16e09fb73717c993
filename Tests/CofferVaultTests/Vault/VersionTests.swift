import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct VersionTests {
  private let name = ItemName(sealed: "svc", "a")

  /// A vault whose headers give `fmt` 2 and `min_reader` 1, sealed with the key.
  private func newer() throws -> TemporaryVault {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("value"), for: name, keeping: 3)
    try vault.set(form("value 2"), for: name)
    try vault.set(form("field"), for: name.field(named: "f"))
    var batch = Batch<Vault>()
    batch.writes = ["b": .set(try form("b"))]
    batch.decides = Self.decided
    try vault.commit(batch, service: "svc")
    _ = try vault.lock()
    let open = try OpenVault.unlock(.file(place.path), with: TemporaryVault.credentials())
    let place2 = SlotPlace(vault: open.view.header.vault)
    let made = try NewSlot.make(
      .keyFile, for: SlotInputs(TemporaryVault.credentials()), id: open.view.slot.id, cost: .testing, memory: 0, place: place2)
    let slot = try made.sealed(open.view.slot.key, open.view.keys.epochMark, place: place2)
    let body = try HeaderBody(created: 1, rotated: 1, floor: .floor, labels: [""]) { _, out in made.writeMix(to: out) }
    try open.writeHeader(ofFormat: 2, body, [slot])
    open.view.database.close()
    return place
  }

  private static let decided = TransactionID.random()
  private static let refusal = StoreError.Kind.newerFormat(found: 2, supported: 1)

  @Test func `it is read, and every write is refused and leaves all bytes`() throws {
    let place = try newer()
    let before = try KeptFiles(place.folder).files["vault.sqlite"]
    try read(place)
    try write(place)
    #expect(try KeptFiles(place.folder).files["vault.sqlite"] == before)
  }

  private func read(_ place: TemporaryVault) throws {
    let vault = try place.unlock()
    #expect(try text(vault.get(name)) == "value 2" && text(vault.get(name, revision: 1)) == "value")
    #expect(try vault.fields(of: name).count == 1 && vault.list().count == 2 && vault.log().count > 3)
    #expect(try vault.verify().records == 4 && vault.status().items == 2)
    #expect(try DecidedTransactions.outcome(of: Self.decided, in: .file(place.path)) == .committed)
  }

  private func write(_ place: TemporaryVault) throws {
    let vault = try place.unlock()
    let store = try VaultStore(service: "svc", vault: place.unlock())
    let writes: [(String, () throws -> Void)] = [
      ("set", { try vault.set(form("x"), for: name) }), ("remove", { try vault.remove(name) }),
      ("move", { try vault.apply([.move(name, to: ItemName(service: "new"))]) }), ("revert", { try vault.revert(name, to: 1) }),
      ("undelete", { try vault.undelete(ItemName(service: "none")) }), ("prune", { try vault.prune(.allBut(0)) }),
      ("import", { _ = try vault.add([ImportedItem(name: ItemName(service: "i"), form: form("x"))]) }),
      ("rotate", { try vault.rotate() }), ("add a slot", { try vault.addSlot(Credentials(keyFile: KeyFile.generate())) }),
      ("store", { try store.save(form("x"), for: "a") }),
      ("forget", { try store.commit(Batch(forgetting: Self.decided), decision: nil) }),
      ("settle", { _ = try DecidedTransactions.settle(.random(), in: .file(place.path)) }),
      ("forget without a key", { try DecidedTransactions.forget([Self.decided], in: .file(place.path)) }),
      ("repair", { _ = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials()) }),
      ("rebuild", { _ = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials(), rebuilding: true) }),
    ]
    for (what, write) in writes { #expect(kind(write) == Self.refusal, "\(what)") }
  }

  @Test func `a backup of it is a copy, and an export is a vault of this version`() throws {
    let place = try newer()
    let (backup, export) = (place.folder.appending("backup"), place.folder.appending("export"))
    _ = try LockedVault.open(place.path).backup(to: backup)
    #expect(try LockedVault.open(backup).formatVersion == 2)
    #expect(try place.unlock().export(to: export, with: TemporaryVault.credentials()) == 2)
    let exported = try LockedVault.open(export).unlock(with: TemporaryVault.credentials())
    #expect(try exported.set(form("x"), for: name).revision == 2)
  }

  @Test func `a vault that becomes newer while it is open is written to no more`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("value"), for: name)
    let open = try OpenVault.unlock(.file(place.path), with: TemporaryVault.credentials())
    try open.writeHeader(ofFormat: 3, open.view.headerBody, open.view.header.slots)
    open.view.database.close()
    #expect(kind { try vault.set(form("x"), for: name) } == .newerFormat(found: 3, supported: 1))
    #expect(text(try vault.get(name)) == "value")
  }
}

extension OpenVault {
  fileprivate func writeHeader(ofFormat format: UInt32, _ body: borrowing HeaderBody, _ slots: [SealedSlot]) throws {
    var all = try VaultHeader(slots: slots, body: body, keys: view.keys, lineage: .first).publicPart
    all.replaceSubrange(8..<12, with: withUnsafeBytes(of: format.littleEndian, Array.init))
    let sealed = try body.sealed(publicPart: all, slots: slots, keys: view.keys, lineage: .first)
    all += withUnsafeBytes(of: UInt32(sealed.bytes.count).littleEndian, Array.init) + sealed.bytes
    let row = all + PlainHash.digest(all).bytes
    let header = try VaultHeader(decoding: row)
    try view.database.write { () throws(StoreError) in
      try view.database.putHeader(.first, bytes: row)
      try view.database.putHeader(.second, bytes: row)
      try StoredParts.put(view.state, header, PlainHash.digest(row), view.database, view.keys)
    }
  }
}
