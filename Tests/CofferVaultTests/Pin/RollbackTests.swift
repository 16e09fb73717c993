import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct RollbackTests {
  @Test func `a vault that moves on is never complained of`() throws {
    let pinned = try PinnedVault()
    for round in 0..<5 { try pinned.write("round \(round)") }
    #expect(text(try pinned.unlock().get(pinned.name)) == "round 4")
    #expect(try pinned.unlock().pinStatus() == .upToDate)
  }

  @Test func `an older copy of the whole file is rolled back, by one write or by all`() throws {
    let pinned = try PinnedVault(writes: 0)
    var copies = [try pinned.bytes()]
    for round in 0..<3 {
      try pinned.write("round \(round)")
      copies.append(try pinned.bytes())
    }
    for copy in copies.dropLast() {
      try pinned.replace(with: copy)
      #expect(try pinned.refusal() == .rolledBack)
    }
    try pinned.replace(with: copies[3])
    #expect(try pinned.refusal() == nil)
  }

  @Test func `an open vault notices an older copy put under it, or refuses to write there`() throws {
    let pinned = try PinnedVault()
    let older = try pinned.bytes()
    let vault = try pinned.unlock()
    try vault.set(form("newer"), for: pinned.name)
    rename(pinned.place.path.string, pinned.place.path.string + ".moved")
    #expect(kind { try vault.set(form("lost"), for: pinned.name) } == .moved)
    try pinned.replace(with: older)
    #expect(kind { try vault.set(form("lost"), for: pinned.name) } == .moved)
    #expect(try pinned.refusal() == .rolledBack)
  }

  @Test func `of two copies that were both written, each is a fork to the other's machine`() throws {
    let pinned = try PinnedVault()
    let common = try pinned.bytes()
    try pinned.write("here")
    let here = try pinned.bytes()

    try pinned.replace(with: common)
    let there = VaultOptions(pins: pinned.place.folder.appending("pins-there"))
    func write(_ text: String) throws {
      try LockedVault.open(pinned.place.path, options: there).unlock(with: TemporaryVault.credentials()).set(
        form(text), for: pinned.name)
    }
    try write("there")
    #expect(try pinned.refusal() == .forked, "same generation, another commit")
    for round in 0..<3 { try write("there \(round)") }
    #expect(try pinned.refusal() == .forked, "a higher generation without this machine's last write")
    try pinned.replace(with: here)
    #expect(kind { try write("again") } == .rolledBack)
    #expect(try pinned.refusal() == nil)
  }

  @Test func `two machines that take turns are never complained of`() throws {
    let pinned = try PinnedVault()
    let there = VaultOptions(pins: pinned.place.folder.appending("pins-there"))
    for round in 0..<6 {
      try pinned.write("here \(round)")
      try LockedVault.open(pinned.place.path, options: there).unlock(with: TemporaryVault.credentials())
        .set(form("there \(round)"), for: pinned.name)
    }
    #expect(text(try pinned.unlock().get(pinned.name)) == "there 5")
  }

  @Test func `another vault at a known place is replaced, until it is accepted`() throws {
    let pinned = try PinnedVault()
    let other = try TemporaryVault()
    _ = try other.create().lock()
    try pinned.replace(with: Data(contentsOf: URL(fileURLWithPath: other.path.string)))
    #expect(try pinned.refusal() == .replaced)
    _ = try pinned.accept().lock()
    #expect(try pinned.refusal() == nil)
  }

  @Test func `a copy at another path is read alone, by a pin of its own, until it is accepted, and the vault's own pin stays`()
    throws
  {
    let pinned = try PinnedVault()
    let copy = pinned.place.folder.appending("copy.sqlite")
    func put(_ bytes: Data) throws {
      try bytes.write(to: URL(fileURLWithPath: copy.string))
      chmod(copy.string, 0o600)
    }
    func open() throws -> LockedVault { try LockedVault.open(copy, options: pinned.options) }
    func unlock() throws -> UnlockedVault { try open().unlock(with: TemporaryVault.credentials()) }
    let oldest = try pinned.bytes()
    try pinned.write("old")
    let old = try pinned.bytes()
    try pinned.write("newer")
    let generation = try pinned.locked.pinMemory().seen
    try put(old)
    try open().checkAge()
    #expect(try open().pinMemory().seen == nil)
    do {
      let vault = try unlock()
      #expect(text(try vault.get(pinned.name)) == "old")
      for write: () throws -> Void in [
        { try vault.set(form("x"), for: pinned.name) }, { try vault.rotate() }, { try vault.rehearse([.remove(pinned.name)]) },
        { try vault.addSlot(Credentials(keyFile: KeyFile.generate())) },
      ] { #expect(kind(write) == .readOnly) }
    }
    // An older copy is noticed too; that the copy is older than the vault does not matter.
    try put(oldest)
    #expect(kind { _ = try unlock() } == .rolledBack && kind { try open().checkAge() } == .rolledBack)
    try put(old)
    _ = try unlock().lock()
    try put(oldest)
    _ = try open().unlockAcceptingPin(with: TemporaryVault.credentials()).lock()
    let accepted = try unlock()
    try accepted.set(form("written in the copy"), for: pinned.name)
    #expect(text(try accepted.get(pinned.name)) == "written in the copy")
    _ = try accepted.lock()
    #expect(text(try unlock().get(pinned.name)) == "written in the copy")
    // The vault's own pin is unchanged: neither the copy nor its source may replace the vault.
    #expect(try pinned.locked.pinMemory().seen == generation && pinned.refusal() == nil)
    try pinned.replace(with: old)
    #expect(try pinned.refusal() == .rolledBack)
    try pinned.replace(with: Data(contentsOf: URL(fileURLWithPath: copy.string)))
    #expect(try pinned.refusal() != nil)
  }

  @Test func `a vault that was moved is written again once somebody has joined it there`() throws {
    let pinned = try PinnedVault()
    let moved = pinned.place.folder.appending("moved.sqlite")
    #expect(rename(pinned.place.path.string, moved.string) == 0)
    let locked = try LockedVault.open(moved, options: pinned.options)
    #expect(kind { try locked.unlock(with: TemporaryVault.credentials()).set(form("x"), for: pinned.name) } == .readOnly)
    try locked.join(with: TemporaryVault.credentials()).set(form("x"), for: pinned.name)
    try locked.unlock(with: TemporaryVault.credentials()).set(form("y"), for: pinned.name)
  }

  @Test func `a backup that is restored elsewhere leaves the vault and its pin as they are`() throws {
    let pinned = try PinnedVault()
    let backup = pinned.place.folder.appending("backup")
    _ = try pinned.locked.backup(to: backup)
    try pinned.write("newer")
    let target = pinned.place.folder.appending("drill.sqlite")
    _ = try RestorableBackup(backup, toRestoreAt: target).restore(with: TemporaryVault.credentials(), options: pinned.options)
    let drill = try LockedVault.open(target, options: pinned.options).unlock(with: TemporaryVault.credentials())
    try drill.set(form("drill"), for: pinned.name)
    #expect(try text(pinned.unlock().get(pinned.name)) == "newer")
    try pinned.write("goes on")
  }

  @Test func `a backup that was accepted is the truth, and the history left behind a fork`() throws {
    let pinned = try PinnedVault()
    let older = try pinned.bytes()
    for round in 0..<5 { try pinned.write("left behind \(round)") }
    let left = try pinned.bytes()
    try pinned.replace(with: older)
    #expect(try pinned.refusal() == .rolledBack)
    #expect(text(try pinned.accept().get(pinned.name)) == "value 2")
    #expect(try pinned.refusal() == nil)
    try pinned.write("after accepting")
    #expect(try pinned.refusal() == nil)
    try pinned.replace(with: left)
    #expect(try pinned.refusal() == .forked, "it has more commits, and lacks this machine's write under its new name")
  }

  @Test func `a commit whose pin was never written is accepted`() throws {
    let pinned = try PinnedVault()
    let pin = try pinned.pin("id-")
    let before = try pinned.content(pin)
    try pinned.write("the process died before the pin")
    let vault = try pinned.bytes()
    try pinned.put(before, pin)
    #expect(try pinned.refusal() == nil)
    #expect(try pinned.content(pin) != before, "the pin was brought up")
    try pinned.replace(with: vault)
    try pinned.write("and on")
    #expect(try pinned.refusal() == nil)
  }

  @Test func `an older key under a higher generation is a rollback`() throws {
    let record = PinRecord(
      vault: .random(), replica: .random(), key: .some(2), seen: .init(generation: 5, commit: .random()), own: .never)
    var state = VaultState(
      generation: 6, commit: .random(), root: .zero, counts: .none, time: 0, logSequence: 0, logHead: .zero)
    #expect(kind { _ = try record.check(state, key: .some(1), vault: "/v") } == .rolledBack)
    #expect(try record.check(state, key: .some(2), vault: "/v") == .fits)
    let wrote = PinRecord(vault: record.vault, replica: .random(), key: .some(2), seen: record.seen, own: record.seen)
    #expect(kind { _ = try wrote.check(state, key: .some(2), vault: "/v") } == .forked)
    for _ in 0..<VaultState.mostReplicas { state.note(.random()) }
    #expect(try wrote.check(state, key: .some(2), vault: "/v") == .ownEntryEvicted)
  }

  @Test func `a least generation and an expected id are asked for without any pin`() throws {
    let pinned = try PinnedVault()
    let id = try pinned.locked.id
    func refusal(_ options: VaultOptions) throws -> StoreError.Kind? {
      kind { _ = try LockedVault.open(pinned.place.path, options: options).unlock(with: TemporaryVault.credentials()) }
    }
    #expect(try refusal(VaultOptions(pins: nil, expected: id, leastGeneration: 4)) == nil)
    #expect(try refusal(VaultOptions(pins: nil, leastGeneration: 5)) == .rolledBack)
    #expect(try refusal(VaultOptions(pins: nil, expected: VaultID(String(repeating: "0", count: 32)))) == .replaced)
    #expect(VaultID(id.description) == id && VaultID("no") == nil)
  }

  @Test func `a recipient who never saw the vault must have been told which to expect`() throws {
    let place = try TemporaryVault()
    func identity() throws -> Credentials {
      var credentials = Credentials()
      credentials.identity = try secret([UInt8](repeating: 7, count: 32))
      return credentials
    }
    let invitation = try UnlockedVault.create(at: place.path, with: identity(), options: .withoutPins).invitation()
    var options = VaultOptions(pins: place.folder.appending("pins"))
    #expect(kind { _ = try LockedVault.open(place.path, options: options).unlock(with: identity()) } == .unproven)
    let error = #expect(throws: StoreError.self) {
      _ = try LockedVault.open(place.path, options: options).unlockAcceptingPin(with: identity())
    }
    #expect(error?.kind == .unproven && error?.remedy == .acceptInvited)
    options.expected = invitation.vault
    #expect(kind { _ = try LockedVault.open(place.path, options: options).unlock(with: identity()) } == .unproven)
    options.invitations = [invitation]
    _ = try LockedVault.open(place.path, options: options).unlock(with: identity()).lock()
    options.expected = nil
    options.invitations = []
    #expect(kind { _ = try LockedVault.open(place.path, options: options).unlock(with: identity()) } == nil)
  }
}
