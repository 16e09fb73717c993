import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite final class JoinTests {
  private let place: TemporaryVault
  private let identity: SecretBytes
  private let pins: VaultOptions

  init() throws {
    place = try TemporaryVault()
    identity = try Identity.generate()
    try place.create().addSlot(Identity.recipient(of: identity))
    pins = VaultOptions(pins: place.folder.appending("pins"))
  }

  private func credentials() throws -> Credentials {
    var credentials = Credentials()
    credentials.identity = try identity.duplicate()
    return credentials
  }

  private func locked() throws -> LockedVault { try LockedVault.open(place.path, options: pins) }
  private func hasPins() -> Bool { FileManager.default.fileExists(atPath: place.folder.appending("pins").string) }

  @Test func `who confirms what the vault says of its key joins it, and from then on it opens like any`() throws {
    var shown: [Invitation] = []
    #expect(kind { _ = try locked().join(with: credentials()) } == .unproven)
    #expect(
      kind {
        _ = try locked().join(with: credentials()) {
          shown.append($0)
          return false
        }
      } == .unproven)
    #expect(!hasPins() && kind { _ = try locked().unlock(with: credentials()) } == .unproven)
    let vault = try locked().join(with: credentials()) {
      shown.append($0)
      return true
    }
    let invitation = try place.unlock().invitation()
    #expect(try shown == [invitation, invitation] && vault.invitation() == invitation)
    #expect(try vault.pinStatus() == .firstUse || vault.pinStatus() == .upToDate)
    _ = try locked().unlock(with: credentials())
  }

  @Test func `an invitation, or another secret than a recipient's, leaves nothing to confirm`() throws {
    var options = pins
    options.invitations = [try place.unlock().invitation()]
    let locked = try LockedVault.open(place.path, options: options)
    _ = try locked.join(with: credentials()) { _ in
      Issue.record("it is proven")
      return false
    }
    let own = try TemporaryVault()
    _ = try own.create()
    _ = try LockedVault.open(own.path, options: VaultOptions(pins: own.folder.appending("pins"))).join(
      with: TemporaryVault.credentials()
    ) { _ in
      Issue.record("the slot proves it")
      return false
    }
  }

  @Test func `a known vault at a new place is confirmed too, and its pin is asked before anybody is`() throws {
    _ = try locked().join(with: credentials()) { _ in true }
    let moved = place.folder.appending("moved.sqlite")
    _ = try LockedVault.open(place.path).backup(to: moved)
    let there = try LockedVault.open(moved, options: pins)
    #expect(kind { _ = try there.unlock(with: credentials()) } == .unproven)
    var isAsked = false
    _ = try there.join(with: credentials()) { _ in
      isAsked = true
      return true
    }
    #expect(isAsked)
    // Another vault of the same identity and id would have to have this one's key.
    let other = place.folder.appending("other.sqlite")
    _ = try LockedVault.open(place.path).backup(to: other)
    try LockedVault.open(other).unlock(with: TemporaryVault.credentials()).rotate()
    try place.unlock().rotate()
    _ = try locked().unlock(with: credentials())
    #expect(
      kind {
        _ = try LockedVault.open(other, options: pins).join(with: credentials()) { _ in
          Issue.record("the pin refuses it")
          return true
        }
      } == .forked)
  }

  @Test func `join wants a folder of pins, and one that it can write`() throws {
    #expect(kind { _ = try LockedVault.open(place.path).join(with: credentials()) { _ in true } } == .incomplete)
    try #require(FileManager.default.createFile(atPath: place.folder.appending("pins").string, contents: nil))
    #expect(kind { _ = try locked().join(with: credentials()) { _ in true } } == .denied)
  }

  @Test func `what says which vault to expect is an id and perhaps a generation, or invitations`() throws {
    let id = String(repeating: "0a", count: 16)
    var options = VaultOptions(pins: nil)
    try options.expect(id)
    #expect(options.expected?.description == id && options.leastGeneration == nil)
    options.leastGeneration = 9
    try options.expect(id.uppercased() + ":7")
    #expect(options.leastGeneration == 9)
    try options.expect(id + ":11")
    #expect(options.leastGeneration == 11)
    let invitation = try place.unlock().invitation()
    var invited = VaultOptions(pins: nil)
    try invited.expect("\(invitation) \(invitation)")
    #expect(invited.invitations == [invitation, invitation] && invited.expected == nil)
    for wrong in [
      "", " ", "x", id + ":", id + ":x", id + ":0", id + ":-1", id + ":9223372036854775808", id + ":1:2", id + "0", "\(id) \(id)",
      "\(id) \(invitation)", "\(invitation) \(id)", "\(invitation)\n", "\(invitation)\n\(invitation)",
      Array(repeating: "\(invitation)", count: 65).joined(separator: " "),
    ] {
      var untouched = VaultOptions(pins: nil)
      #expect(kind { try untouched.expect(wrong) } == .invalidName, "\(wrong)")
    }
  }

  @Test func `an invitation with any digit changed is none`() throws {
    let text = try Array(place.unlock().invitation().description)
    for index in text.indices {
      for digit in "0f" where text[index] != digit {
        var changed = text
        changed[index] = digit
        #expect(kind { _ = try Invitation(String(changed)) } == .damaged, "\(index)")
      }
      let upper = String(text[index]).uppercased()
      guard upper != String(text[index]) else { continue }
      #expect(kind { _ = try Invitation(String(text[..<index]) + upper + String(text[(index + 1)...])) } == .damaged, "\(index)")
    }
  }

  @Test func `whoever restores or repairs is asked once, before anything changes, about slots that would come back`() throws {
    let owner = try TemporaryVault()
    let options = VaultOptions(pins: owner.folder.appending("pins"))
    let vault = try UnlockedVault.create(at: owner.path, with: TemporaryVault.credentials(), options: options)
    let old = try KeyFile.generate()
    let slot = try vault.addSlot(Credentials(keyFile: old.duplicate()), label: "gone")
    let backup = owner.folder.appending("backup")
    _ = try LockedVault.open(owner.path).backup(to: backup)
    try vault.removeSlot(slot.id)
    let generation = try vault.status().generation
    var asked: [[String]] = []
    func restore(_ answer: Bool) throws -> RestoreReport {
      try RestorableBackup(backup, toRestoreAt: owner.path).restore(
        with: Credentials(keyFile: old.duplicate()), options: options,
        confirm: {
          asked.append($0.map(\.label).sorted())
          return answer
        })
    }
    #expect(kind { _ = try restore(false) } == .rolledBack)
    #expect(try asked == [["", "gone"]] && vault.status().generation == generation)
    let report = try restore(true)
    #expect(asked.count == 2 && report.returnedSlots.map(\.label).sorted() == ["", "gone"])
    _ = try RestorableBackup(backup, toRestoreAt: owner.path).restore(
      with: Credentials(keyFile: old.duplicate()), options: options,
      confirm: { _ in
        Issue.record("nothing comes back")
        return false
      })
  }
}
