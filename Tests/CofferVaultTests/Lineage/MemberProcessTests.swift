import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite(.tags(.campaign, .process), .wholeRun)
struct MemberProcessTests {
  @Test func `members changed by two processes at once are all as acknowledged, and who has the vault open follows`() throws {
    let place = try TemporaryVault()
    let pins = place.folder.appending("pins")
    let options = VaultOptions(pins: pins)
    let identity = try SecretBytes.random(32).revealed
    let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), options: options)
    try vault.addSlot(Identity.recipient(of: SecretBytes(identity)), label: "third")
    try vault.set(form("value"), for: .sample)
    let invitation = try vault.invitation()
    _ = try vault.lock()
    let third = try LockedVault.open(place.path, options: VaultOptions(pins: nil, invitations: [invitation])).unlock(
      with: MemberVault.credentials(identity: identity))

    let rounds = Campaign.size(short: 4, long: 40)
    let processes = try (0..<2).map { _ in try Tool.start("members", place.path.string, place.keyFile(), "\(rounds)") }
    let outputs = CofferTestSupport.Collected<(code: Int32, output: String)>()
    let group = DispatchGroup()
    for process in processes {
      group.enter()
      // Only its thread uses it from here on.
      nonisolated(unsafe) let process = process
      Thread.detachNewThread {
        outputs.add(process.end())
        group.leave()
      }
    }
    var seen: Set<UInt64> = []
    while group.wait(timeout: .now() + .milliseconds(5)) == .timedOut {
      #expect(text(try third.get(.sample)) == "value")
      seen.insert(try third.status().epoch)
    }
    var guests: Set<String> = []
    for (code, output) in outputs.all {
      #expect(code == 0, "\(output)")
      let lines = output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
      for line in lines where line.first == "added" { guests.insert(line[1]) }
      for line in lines where line.first == "removed" { guests.remove(line[1]) }
    }
    let last = try third.status()
    #expect(last.epoch == 1 + 2 * UInt64(rounds - 1))
    #expect(Set(last.slots.filter { $0.label == "guest" }.map(\.summary.id.description)) == guests && guests.count == 2)
    #expect(last.slots.count == 4)
    #expect(text(try third.get(.sample)) == "value")
    try third.set(form("on"), for: .sample)
    let again = try LockedVault.open(place.path, options: options).unlock(with: TemporaryVault.credentials())
    #expect(text(try again.get(.sample)) == "on")
    _ = try again.verify()
    print("\(2 * (rounds - 1)) removals by two processes; the third was at \(seen.count) epochs of \(last.epoch)")
  }
}
