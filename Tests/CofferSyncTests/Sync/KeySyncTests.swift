import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import CofferVaultFormat
import CofferVaultRows
import Foundation
import Testing

@testable import CofferSync

/// Keys and slots of one vault on several machines, over a folder.
@Suite struct KeySyncTests {
  private let store: TestFolder
  private var remote: String { store.path.string }

  init() throws { store = try TestFolder("store") }

  private func two(_ first: Laptop? = nil) throws -> (Laptop, Laptop) {
    let desk = try first ?? Laptop.first("desk", remote)
    for account in ["ada", "bob"] { try desk.set(account, account + "-0") }
    try desk.sync()
    let lap = try desk.another("lap")
    try lap.sync()
    try desk.sync()
    return (desk, lap)
  }

  /// Without another put, all have the rows, the key and the slots of the remote.
  private func expectInStep(_ laptops: Laptop..., sourceLocation: SourceLocation = #_sourceLocation) throws {
    for laptop in laptops { try laptop.sync() }
    for laptop in laptops { #expect(try laptop.sync().put == nil, sourceLocation: sourceLocation) }
    let states = try laptops.map { laptop in
      try laptop.withVault { vault in
        _ = try vault.verify()
        return try HeadVault.read(vault) { (rows) throws(StoreError) in [rows.state.root.bytes, try rows.header()] }
      }
    }
    #expect(Set(states).count == 1, sourceLocation: sourceLocation)
  }

  /// The refusal of a sync, which leaves the vault to the byte.
  private func refusal(_ laptop: Laptop, _ edit: (inout SyncOptions) -> Void = { _ in }) throws -> StoreError {
    let before = try Data(contentsOf: URL(fileURLWithPath: laptop.file.string))
    let error = try #require(throws: StoreError.self) { try laptop.sync(edit) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: laptop.file.string)) == before)
    return error
  }

  private func rotate(_ laptop: Laptop) throws { try laptop.withVault { vault in _ = try vault.rotate() } }

  private func key(_ laptop: Laptop) throws -> (epoch: UInt64, mark: String) {
    try laptop.withVault { vault in try HeadVault.read(vault) { ($0.key.epoch, $0.key.mark.description) } }
  }

  private func labels(_ laptop: Laptop) throws -> [String] {
    try laptop.withVault { vault in try vault.slots().map(\.label).sorted() }
  }

  /// The place of each row, and the digest of its content and seal.
  private func rows(_ laptop: Laptop) throws -> Set<[UInt8]> {
    try laptop.withVault { vault in
      try HeadVault.read(vault) { (rows) throws(StoreError) in
        var found: Set<[UInt8]> = []
        for bucket in RecordTable.allCases.flatMap(\.buckets) {
          try rows.rows.forEachIndex(inBucket: bucket) { found.insert([UInt8]($0) + [UInt8]($1)) }
        }
        return found
      }
    }
  }

  private func addSlot(_ laptop: Laptop, _ label: String) throws {
    try laptop.withVault { vault in _ = try vault.addSlot(Credentials(keyFile: KeyFile.generate()), label: label) }
  }

  private func removeSlot(_ laptop: Laptop, _ label: String) throws {
    try laptop.withVault { vault in
      _ = try vault.removeSlot(#require(vault.slots().first { $0.label == label }).summary.id)
    }
  }

  // MARK: A later key

  @Test func `a later key is followed, and rows that nobody changed are the remote's bytes`() throws {
    let (desk, lap) = try two()
    try rotate(desk)
    #expect(try desk.sync().put != nil)
    try lap.set("bob", "of lap")
    try lap.set("new", "of lap")
    let there = try rows(desk)
    #expect(try lap.sync().put != nil)
    let here = try rows(lap)
    #expect(try key(lap) == key(desk))
    // All but bob's: ada's, and those of the two machines.
    #expect(there.count == 4 && here.intersection(there).count == 3)
    #expect(try lap.value("ada") == "ada-0" && lap.value("bob") == "of lap" && lap.value("new") == "of lap")
    let events = try lap.withVault { vault in try vault.log(limit: 8).map(\.event) }
    #expect(events.contains(.keyRotated))
    try expectInStep(desk, lap)
    #expect(try desk.value("bob") == "of lap")
  }

  @Test func `whoever follows a key without changes of its own puts nothing`() throws {
    let (desk, lap) = try two()
    try rotate(desk)
    try rotate(desk)
    try desk.sync()
    #expect(try lap.sync().put == nil)
    try expectInStep(desk, lap)
  }

  @Test func `a trial tells of a later key and its slots, and follows nothing`() throws {
    let (desk, lap) = try two()
    try addSlot(desk, "of desk")
    try rotate(desk)
    try desk.set("ada", "of desk")
    try desk.sync()
    let before = try Data(contentsOf: URL(fileURLWithPath: lap.file.string))
    let trial = try lap.sync { $0.isTrial = true }
    #expect(try Data(contentsOf: URL(fileURLWithPath: lap.file.string)) == before)
    let report = try lap.sync()
    #expect(trial.taken == report.taken && trial.put == report.put)
    #expect(report.taken.first?.changes.slots.map(\.label) == ["of desk"])
    try expectInStep(desk, lap)
  }

  @Test func `heads under an older key are passed over until their machine follows and puts again`() throws {
    let (desk, lap) = try two()
    try lap.set("ada", "of lap")
    try lap.sync()
    try rotate(desk)
    let report = try desk.sync()
    #expect(report.passedOver > 0 && report.taken.isEmpty && report.put != nil)
    #expect(try desk.value("ada") == "ada-0")
    #expect(try lap.sync().put != nil)
    try expectInStep(desk, lap)
    #expect(try desk.value("ada") == "of lap")
  }

  @Test func `a failed merge leaves the vault under its key`() throws {
    let (desk, lap) = try two()
    try rotate(desk)
    try desk.sync()
    try lap.withVault { vault in
      let head = try desk.another("copy")
      let before = try HeadVault.read(vault) { $0.key }
      let key = try #require(try SyncMachine.key(of: HeadVault.replica(of: vault), in: vault))
      try head.withVault { other in
        _ = #expect(throws: StoreError.self) {
          try vault.mergeHeads(key) { (merge) throws(StoreError) in
            _ = try merge.merge(other, since: nil)
            throw StoreError(.noSpace, "the disk is full", cure: "make room")
          }
        }
      }
      #expect(try HeadVault.read(vault) { $0.key } == before)
      _ = try vault.verify()
      try vault.set(secret([1]), for: ItemName(service: "web", account: "after"))
    }
    try expectInStep(lap, desk)
  }

  @Test func `a later key begins the branch anew in git, and a put that nobody has read is put again`() throws {
    let git = try Remote(.gitPath)
    let (desk, lap) = try two(Laptop.first("desk", git.there.string))
    try lap.set("ada", "of lap")
    try lap.sync()
    try desk.set("bob", "of desk")
    try rotate(desk)
    let report = try desk.sync()
    #expect(report.passedOver == 1)
    #expect(try git.checkedHistory().count == 1)
    try lap.sync()
    try expectInStep(desk, lap)
    for laptop in [desk, lap] { #expect(try laptop.value("ada") == "of lap" && laptop.value("bob") == "of desk") }
  }

  // MARK: Slots

  @Test func `slots that were added on both machines are on both`() throws {
    let (desk, lap) = try two()
    try addSlot(desk, "of desk")
    try addSlot(lap, "of lap")
    try desk.sync()
    let report = try lap.sync()
    #expect(report.taken.flatMap { $0.changes.slots.map(\.kind) } == [.added])
    try expectInStep(desk, lap)
    #expect(try labels(lap) == ["", "of desk", "of lap"])
    #expect(try key(lap).epoch == 1)
  }

  @Test func `a slot that was added here is sealed to a later key, and one that was removed there goes`() throws {
    let desk = try Laptop.first("desk", remote)
    try addSlot(desk, "old")
    let (_, lap) = try two(desk)
    try removeSlot(desk, "old")
    try desk.sync()
    let file = try KeyFile.generate().withUnsafeBytes { Array($0) }
    try lap.withVault { vault in _ = try vault.addSlot(Credentials(keyFile: secret(file)), label: "of lap") }
    let report = try lap.sync()
    #expect(report.taken.flatMap { $0.changes.slots.map(\.kind) } == [.removed])
    try expectInStep(desk, lap)
    #expect(try labels(desk) == ["", "of lap"])
    desk.credentials = { Credentials(keyFile: try secret(file)) }
    #expect(try desk.value("ada") == "ada-0")
  }

  @Test func `a label that changed on one machine changes on the other`() throws {
    let (desk, lap) = try two()
    try desk.withVault { vault in try vault.relabelSlot(vault.slots()[0].summary.id, to: "mine") }
    try desk.sync()
    try expectInStep(lap, desk)
    #expect(try labels(lap) == ["mine"])
  }

  @Test(arguments: [["new"], ["between", "new"]])
  func `a passphrase that was changed elsewhere, even twice, is asked for once`(_ changes: [String]) throws {
    let desk = try Laptop.first("desk", remote)
    let id = try desk.withVault { vault in try vault.addSlot(Self.passphrase("old"), label: "phrase", cost: .floor).id }
    let (_, lap) = try two(desk)
    lap.credentials = { try Self.passphrase("old") }
    try lap.set("ada", "of lap")
    for text in changes {
      try desk.withVault { vault in _ = try vault.changePassphrase(to: Self.passphrase(text), ofSlot: id, cost: .floor) }
      try desk.sync()
    }
    #expect(try refusal(lap).kind == .locked)
    #expect(try lap.sync(with: Self.passphrase("new")).put != nil)
    #expect(throws: StoreError.self) { try lap.value("ada") }
    lap.credentials = { try Self.passphrase("new") }
    try expectInStep(desk, lap)
    #expect(try desk.value("ada") == "of lap")
  }

  @Test func `a slot that got two secrets is a conflict, and the sync changes nothing`() throws {
    let desk = try Laptop.first("desk", remote)
    let id = try desk.withVault { vault in try vault.addSlot(Self.passphrase("old"), label: "phrase", cost: .floor).id }
    let (_, lap) = try two(desk)
    for (laptop, text) in [(desk, "one"), (lap, "two")] {
      try laptop.withVault { vault in
        _ = try vault.changePassphrase(to: Self.passphrase(text), ofSlot: id, cost: .floor, key: .kept)
      }
    }
    try desk.sync()
    let error = try refusal(lap)
    #expect(error.kind == .conflict && error.what.contains("phrase"))
    try removeSlot(lap, "phrase")
    try lap.sync()
    try expectInStep(desk, lap)
    #expect(try labels(desk) == [""])
  }

  private static func passphrase(_ text: String) throws -> Credentials {
    Credentials(passphrase: try secret(Array(text.utf8)))
  }

  // MARK: Two histories

  @Test func `two rotations at once are a fork, and the one that a person takes is followed`() throws {
    let (desk, lap) = try two()
    try rotate(desk)
    try rotate(lap)
    try addSlot(lap, "of lap")
    try lap.set("ada", "of lap")
    try desk.set("bob", "of desk")
    try desk.sync()
    let (there, own) = (try key(desk), try key(lap))
    let error = try refusal(lap)
    #expect(error.kind == .forked)
    for mark in [there.mark, own.mark] { #expect(error.what.contains(mark.prefix(32))) }
    #expect(error.what.contains("\"of lap\""))
    #expect(try refusal(lap) { $0.takesKey = String(there.mark.prefix(31)) }.kind == .invalidName)
    #expect(try refusal(lap) { $0.takesKey = String(repeating: "0", count: 32) }.kind == .notFound)
    // As an agent has it open.
    let held = try lap.locked.unlock(with: lap.credentials())
    try lap.sync { $0.takesKey = String(there.mark.prefix(32)) }
    #expect(try key(lap) == there)
    for expected: StoreError.Kind in [.locked, .closed] {
      do {
        _ = try held.generation()
        Issue.record("it answers under the key that was given up")
      } catch { #expect(error.kind == expected) }
    }
    try expectInStep(desk, lap)
    #expect(try desk.value("ada") == "of lap" && lap.value("bob") == "of desk")
    #expect(try labels(desk) == ["", "of lap"])
  }

  @Test func `a slot that was removed here does not open the vault again by the other key`() throws {
    let desk = try Laptop.first("desk", remote)
    try addSlot(desk, "stolen")
    let (_, lap) = try two(desk)
    try removeSlot(lap, "stolen")
    try rotate(desk)
    try desk.sync()
    let there = try key(desk)
    let report = try lap.sync { $0.takesKey = there.mark }
    #expect(report.taken.flatMap { $0.changes.slots.map(\.kind) } == [.removedAgain])
    #expect(try key(lap).epoch == there.epoch + 1)
    try expectInStep(desk, lap)
    #expect(try labels(desk) == [""])
  }

  // MARK: A removed member

  /// A member with a copy of the vault and the key of its time, and machines that have removed the member's slot.
  private func removed() throws -> (Laptop, Laptop, eve: Laptop) {
    let desk = try Laptop.first("desk", remote)
    let file = try KeyFile.generate().withUnsafeBytes { Array($0) }
    try desk.withVault { vault in _ = try vault.addSlot(Credentials(keyFile: secret(file)), label: "eve") }
    let (_, lap) = try two(desk)
    let eve = try desk.another("eve")
    eve.credentials = { Credentials(keyFile: try secret(file)) }
    try eve.sync()
    try removeSlot(desk, "eve")
    for laptop in [desk, lap] { try laptop.sync() }
    return (desk, lap, eve)
  }

  /// Puts what `eve` has, as if nothing else lay there.
  private func put(by eve: Laptop) throws {
    let others = store.path.string + "-others"
    try FileManager.default.moveItem(atPath: remote, toPath: others)
    try FileManager.default.createDirectory(atPath: remote, withIntermediateDirectories: false)
    try eve.sync { $0.accepts = true }
    for part in ["h", "o"] {
      for name in try FileManager.default.contentsOfDirectory(atPath: "\(others)/\(part)") {
        try? FileManager.default.moveItem(atPath: "\(others)/\(part)/\(name)", toPath: "\(remote)/\(part)/\(name)")
      }
    }
    try FileManager.default.removeItem(atPath: others)
  }

  @Test func `a removed member's head under the old key changes nothing`() throws {
    let (desk, lap, eve) = try removed()
    #expect(throws: StoreError.self) { try eve.sync() }
    try eve.set("ada", "of eve")
    try put(by: eve)
    for laptop in [desk, lap] {
      let report = try laptop.sync()
      #expect(report.passedOver > 0 && report.taken.isEmpty)
      #expect(try laptop.value("ada") == "ada-0" && labels(laptop) == [""])
    }
    try expectInStep(desk, lap)
  }

  @Test func `a removed member's later key is refused, and a person can go on without it`() throws {
    let (desk, lap, eve) = try removed()
    // Once in the epoch of the others, once after it.
    for _ in 0..<2 {
      try rotate(eve)
      try eve.set("ada", "of eve")
      try put(by: eve)
      for laptop in [desk, lap] {
        let error = try refusal(laptop)
        #expect(error.kind == .forked && error.what.contains("\"eve\""))
        // Its vector could dominate all others.
        let refused = #expect(throws: StoreError.self) {
          try laptop.withVault { vault in try laptop.store.compact(vault) }
        }
        #expect(refused?.kind == .forked)
      }
      let own = try key(desk)
      try desk.sync { $0.takesKey = own.mark }
      try expectInStep(desk, lap)
      #expect(try lap.value("ada") == "ada-0" && labels(lap) == [""])
    }
  }
}
