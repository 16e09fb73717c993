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

@Suite(.tags(.slow), .defaultRun) struct RestoreLineageTests {
  private let world: MemberVault
  private let backups: TestFolder
  init() throws {
    world = try MemberVault()
    backups = try TestFolder("backups")
  }

  private var pins: FilePath { world.place.folder.appending("pins") }
  private var others: FilePath { world.place.folder.appending("pins of another machine") }

  private enum Opener { case owner, recipient }

  private func credentials(_ opener: Opener) throws -> Credentials {
    try opener == .owner ? TemporaryVault.credentials() : MemberVault.credentials(identity: world.identity)
  }

  private func options(_ pins: FilePath?, _ epoch: UInt64? = nil) -> VaultOptions {
    VaultOptions(pins: pins, invitations: epoch.map { [world.invitation($0)] } ?? [])
  }

  private func answer(_ pins: FilePath?, _ opener: Opener, _ epoch: UInt64? = nil) throws -> String {
    var found = ""
    let refusal = kind {
      let vault = try LockedVault.open(world.place.path, options: options(pins, epoch)).unlock(with: credentials(opener))
      found = text(try vault.get(MemberVault.name)) ?? ""
      _ = try vault.verify()
    }
    return refusal.map { "\($0)" } ?? found
  }

  private func backup(_ epoch: UInt64) throws -> FilePath {
    let path = backups.path.appending("\(epoch)")
    try #require(world.files[Int(epoch) - 1].files["vault.sqlite"]).write(to: URL(fileURLWithPath: path.string))
    return path
  }

  private func restore(
    _ backup: FilePath, _ opener: Opener, _ options: VaultOptions, replacing: Bool = false, accepting: Bool = false
  ) throws -> RestoreReport {
    try RestorableBackup(backup, toRestoreAt: world.place.path).restore(
      with: credentials(opener), options: options, replacing: replacing, acceptingOlderKey: accepting)
  }

  private func refusal(
    _ backup: FilePath, _ opener: Opener, _ options: VaultOptions, accepting: Bool = false,
    _ location: SourceLocation = #_sourceLocation
  ) throws -> StoreError.Kind? {
    let before = try Data(contentsOf: URL(fileURLWithPath: world.place.path.string))
    let refusal = kind { _ = try restore(backup, opener, options, accepting: accepting) }
    if refusal != nil {
      let after = try Data(contentsOf: URL(fileURLWithPath: world.place.path.string))
      #expect(after == before, sourceLocation: location)
    }
    return refusal
  }

  private func slots() throws -> Set<SlotSummary.ID> { Set(try LockedVault.open(world.place.path).slots.map(\.id)) }
  private func ids(_ header: VaultHeader) -> Set<SlotSummary.ID> { Set(header.slots.map { SlotSummary.ID(bytes: $0.id.bytes) }) }

  private func memberOpens() throws -> StoreError.Kind? {
    kind {
      _ = try LockedVault.open(world.place.path, options: options(nil, 1)).unlock(
        with: MemberVault.credentials(identity: world.memberIdentity))
    }
  }

  /// No header made by a restore has the attacker's slot.
  private func expectNoSlotOfTheAttacker(_ location: SourceLocation = #_sourceLocation) throws {
    let database = try VaultDatabase.open(world.place.path)
    let header = try database.read { () throws(StoreError) in try StoredParts.readHeader(database).header }
    #expect(!header.slots.contains { $0.frame.publicKey == MemberVault.attacker }, sourceLocation: location)
  }

  @Test(arguments: [1, 3] as [UInt64])
  func `after a removal a restored backup keeps who was removed out, and all machines follow`(
    _ epoch: UInt64
  ) throws {
    #expect(try answer(pins, .owner) == "genuine" && answer(others, .recipient, MemberVault.removal) == "genuine")
    let held = try Onlooker(.openRecipient, of: world)
    let present = try slots()
    #expect(present == ids(world.header))
    for (round, backup) in try [backup(epoch), backup(epoch), backup(MemberVault.removal)].enumerated() {
      let report = try restore(backup, .owner, options(pins))
      #expect(report.returnedSlots.isEmpty)
      #expect(try slots() == present)
      #expect(try memberOpens() == .wrongSecret)
      #expect(try answer(pins, .owner) == "genuine" && answer(others, .recipient) == "genuine", "round \(round)")
      #expect(try answer(nil, .recipient, epoch) == "genuine", "an invitation of the backup's time holds as well")
      #expect(held.answer() == "genuine")
      #expect(try world.place.unlock().status().epoch == MemberVault.removal + UInt64(round) + 1)
    }
    #expect(try world.place.unlock().slots().map(\.label).sorted() == ["", "code", "ours", "raised later"])
    // The vault before the restores is an older one now.
    try world.putBack()
    #expect(try answer(pins, .owner) == "rolledBack" && answer(others, .recipient) == "rolledBack")
  }

  @Test func `a recipient restores over a vault that a pin or an invitation proves, and over no other`() throws {
    let older = try backup(3)
    #expect(try refusal(older, .recipient, options(nil)) == .unproven)
    #expect(try refusal(older, .recipient, options(pins)) == .unproven)
    #expect(try restore(older, .recipient, options(nil, MemberVault.removal)).returnedSlots.isEmpty)
    #expect(try memberOpens() == .wrongSecret && slots() == ids(world.header))
    try world.putBack()
    #expect(try answer(pins, .recipient, MemberVault.removal) == "genuine")
    #expect(try restore(older, .recipient, options(pins)).returnedSlots.isEmpty)
    #expect(try memberOpens() == .wrongSecret && slots() == ids(world.header))
    #expect(try answer(pins, .recipient) == "genuine")
  }

  @Test(arguments: [false, true]) func `nothing is sealed to the slots of a forged vault that stands there`(byMember: Bool) throws
  {
    #expect(try answer(pins, .owner) == "genuine" && answer(others, .recipient, MemberVault.removal) == "genuine")
    for epoch in [MemberVault.removal, MemberVault.removal + 1, 1 << 40] {
      let (header, key) = try world.forged(epoch, byMember: byMember)
      for (opener, folder) in [(Opener.owner, pins), (.recipient, others)] {
        try world.put(header, under: key)
        // The removed member would return, and nothing this old proves a key that only a recipient opens.
        #expect(try refusal(backup(3), opener, options(folder)) == (opener == .owner ? .rolledBack : .unproven))
      }
      // With consent, the backup's own slots return, for a new epoch above all known ones.
      let report = try restore(backup(3), .owner, options(pins), accepting: true)
      #expect(Set(report.returnedSlots.map(\.summary.id)) == ids(world.headers[0]))
      #expect(try slots() == ids(world.headers[0]))
      #expect(try world.place.unlock().status().epoch == MemberVault.removal + 1)
      try expectNoSlotOfTheAttacker()
      #expect(try answer(pins, .owner) == "genuine")
      #expect(try answer(others, .recipient) == "forked", "this machine knows of the removal")
      try world.putBack()
      try FileManager.default.removeItem(atPath: pins.string)
      #expect(try answer(pins, .owner) == "genuine")
    }
    // A backup of the removal's epoch or later proves a key that the member does not know.
    let (header, key) = try world.forged(MemberVault.removal + 1, byMember: true)
    try world.put(header, under: key)
    #expect(try refusal(backup(MemberVault.removal), .owner, options(nil)) == .forked)
    try world.put(header, under: key)
    // The vault claims to be newer and opens, but its key does not come from the backup's: no newer key is known, and no
    // consent is needed.
    #expect(try restore(backup(MemberVault.removal), .owner, options(pins)).returnedSlots.isEmpty)
    try expectNoSlotOfTheAttacker()
    #expect(try answer(pins, .owner) == "genuine" && answer(others, .recipient) == "genuine")
  }

  @Test func `a restore asks because of a newer key, and says which one tells of it`() throws {
    func said(_ epoch: UInt64, _ options: VaultOptions) throws -> String {
      do {
        _ = try restore(backup(epoch), .owner, options)
        return ""
      } catch let error as StoreError {
        #expect(error.kind == .rolledBack && error.remedy == .acceptOlderKey, "\(error)")
        return error.what
      }
    }
    #expect(try answer(pins, .owner) == "genuine")
    let (header, key) = try world.forged(MemberVault.removal + 1, byMember: false)
    try world.put(header, under: key)
    let unopened = try said(MemberVault.removal, options(pins))
    #expect(unopened.contains("there is a header of key epoch 5, and nothing that was given opens"), "\(unopened)")
    #expect(unopened.contains("this machine has seen no later key than the backup's"), "\(unopened)")
    #expect(!unopened.contains("was changed since the backup"), "\(unopened)")
    let pinned = try said(3, options(pins))
    #expect(pinned.contains("the backup's key is of epoch 3, and this machine's pin of epoch 4"), "\(pinned)")
    let invited = try said(3, options(nil, MemberVault.removal))
    #expect(invited.contains("the backup's key is of epoch 3, and the invitation of epoch 4"), "\(invited)")
  }

  @Test func `a backup that someone forged for a recipient is refused, whatever stands there`() throws {
    #expect(try answer(others, .recipient, MemberVault.removal) == "genuine")
    for epoch in [2, MemberVault.removal, MemberVault.removal + 1, 1 << 40] {
      let (header, key) = try world.forged(epoch, byMember: false)
      try world.put(header, under: key)
      try world.place.attack("PRAGMA wal_checkpoint(TRUNCATE)")
      let backup = backups.path.appending("forged \(epoch)")
      try Data(contentsOf: URL(fileURLWithPath: world.place.path.string)).write(to: URL(fileURLWithPath: backup.string))
      try world.putBack()
      #expect(try refusal(backup, .recipient, options(others)) == .forked)
      #expect(try refusal(backup, .recipient, options(nil, MemberVault.removal)) == .forked)
      #expect(try refusal(backup, .recipient, options(nil)) == .unproven)
      #expect(try answer(others, .recipient) == "genuine")
      try world.place.attack("UPDATE header SET bytes=zeroblob(440); UPDATE header_copy SET bytes=zeroblob(440)")
      let alone: StoreError.Kind = epoch < MemberVault.removal ? .unproven : .forked
      #expect(try refusal(backup, .recipient, options(others)) == alone)
      #expect(try refusal(backup, .recipient, options(nil, MemberVault.removal)) == alone)
      #expect(try refusal(backup, .recipient, options(nil)) == .unproven)
      #expect(try refusal(backup, .recipient, options(others), accepting: true) == alone)
      #expect(try refusal(backup, .recipient, options(nil), accepting: true) == .unproven)
      try world.putBack()
    }
  }

  @Test func `a restore that says that nothing was changed has not changed the pin either`() throws {
    #expect(try answer(pins, .owner) == "genuine")
    let before = try KeptFiles(pins).files
    let place = world.place.path
    for suffix in ["", "-wal", "-shm"] { unlink(place.string + suffix) }
    try Data("no vault".utf8).write(to: URL(fileURLWithPath: place.string))
    try Data("its log".utf8).write(to: URL(fileURLWithPath: place.string + "-wal"))
    for suffix in ["", "-wal"] { chmod(place.string + suffix, 0o600) }
    // Takes the moved log's name for every second of the test.
    let now = Date()
    for second in 0..<120 {
      let stamp = now.addingTimeInterval(Double(second)).formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
      try Data().write(to: URL(fileURLWithPath: "\(place).before-\(stamp)-wal"))
    }
    #expect(try refusal(backup(3), .owner, options(pins), accepting: true) == .io(EEXIST))
    let (key, after) = (world.keys[3].mark, try KeptFiles(pins).files)
    #expect(after.filter { $0.key.hasPrefix("at-") } == before.filter { $0.key.hasPrefix("at-") })
    let memory = try PinFolder(pins, calls: SystemCalls()).pin(of: world.vault)?.read(of: world.vault)
    #expect(memory?.key == key)
    try world.files[3].put(into: world.place.folder)
    #expect(try answer(pins, .owner) == "genuine")
  }

  @Test func `what stands there may be damaged, another vault, or older than the backup`() throws {
    #expect(try answer(pins, .owner) == "genuine" && answer(others, .recipient, MemberVault.removal) == "genuine")
    let newest = try backup(MemberVault.removal)
    // Damaged: the newest epoch's backup needs no consent, but alone allows an older one.
    let damage = "UPDATE header SET bytes=zeroblob(440); UPDATE header_copy SET bytes=zeroblob(440)"
    try world.place.attack(damage)
    #expect(try refusal(backup(3), .owner, options(pins)) == .rolledBack)
    #expect(try restore(newest, .owner, options(pins)).returnedSlots.isEmpty)
    #expect(try answer(pins, .owner) == "genuine" && answer(others, .recipient) == "genuine")
    // Older: a refused vault does not return its slots.
    try world.files[2].put(into: world.place.folder)
    #expect(try answer(pins, .owner) == "rolledBack")
    #expect(try refusal(newest, .owner, options(pins)) == .rolledBack, "the first restore was a newer key still")
    try FileManager.default.removeItem(atPath: pins.string)
    #expect(try answer(pins, .owner) == "genuine")
    _ = try restore(newest, .owner, options(pins))
    #expect(try memberOpens() == .wrongSecret && slots() == ids(world.header))
    #expect(try answer(pins, .owner) == "genuine")
    let other = try MemberVault()
    try other.files[3].put(into: world.place.folder)
    #expect(try refusal(newest, .owner, options(pins)) == .otherVault)
    _ = try restore(newest, .owner, options(pins), replacing: true, accepting: true)
    #expect(try slots() == ids(world.header))
    #expect(try answer(pins, .owner) == "genuine")
  }
}
