import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import CofferTestSupport
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Power loss at any moment of a vault's life, replayed from recorded writes: synchronized data is there; of the rest any
/// writes, torn at 512 bytes, and a prefix of the name changes.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct PowerLossCampaign {
  struct Known: Equatable {
    var exists = false
    var items: [Int: Int] = [:]
    var slots = 1
    var epoch: UInt64 = 1
    var hasBackup = false
    private var rounds: [Int: [Int: Int]] = [:]

    mutating func take(_ line: String) {
      let words = line.split(separator: " ").map(String.init)
      let numbers = words.dropFirst().compactMap { Int($0) }
      switch words.first {
      case "created": exists = true
      case "set":
        items[numbers[0]] = numbers[1]
        rounds[numbers[1]] = items
      case "deleted": items[numbers[0]] = nil
      case "slots": slots = numbers[0]
      case "epoch":
        epoch = UInt64(numbers[0])
        if numbers[0] == 3 { slots = 1 }
      case "backup": hasBackup = true
      case "restored":
        items = rounds[numbers[0]] ?? [:]
        epoch += 1
      default: break
      }
    }

    static func == (left: Known, right: Known) -> Bool {
      left.exists == right.exists && left.items == right.items && left.slots == right.slots && left.epoch == right.epoch
    }
  }

  @Test func `whatever a disk may have kept`() throws {
    try Tracing.need()
    let place = try TemporaryVault()
    _ = try place.keyFile()
    let recording = try DiskRecording(of: ["story", place.path.string, place.folder.appending("key").string], place)
    #expect(!recording.wrote("plaintext"), "no plaintext was ever given to the disk")
    #expect(recording.wrote("PVAULT"), "the search finds what is there")

    var random = Random(seed: 6)
    var tally = Tally()
    let variants = Campaign.size(short: 1, long: 14)
    for moment in Campaign.cases(recording.events.count + 1, short: 10) {
      let (before, next) = told(recording, moment)
      for variant in 0..<variants {
        try recording.replay(upTo: moment, keeping: variant == 0 ? .nothing : variant == 1 ? .everything : .chance, &random)
        let outcome = judge(place, before, next)
        let group =
          variant == 0 ? "all that was not synchronized is lost" : variant == 1 ? "all is there" : "some is there, or torn"
        tally.add(
          group, outcome, allowed: ["as acknowledged", "one step further", "not there yet"],
          "moment \(moment), variant \(variant)")
      }
    }
    tally.report("power lost at \(recording.events.count + 1) moments of a vault's life")
  }

  /// The state acknowledged by `moment`, and the next one in progress.
  private func told(_ recording: DiskRecording, _ moment: Int) -> (before: Known, next: Known) {
    var before = Known()
    for event in recording.events[..<moment] { if case .said(let line) = event { before.take(line) } }
    var next = before
    for event in recording.events[moment...] {
      if case .said(let line) = event {
        next.take(line)
        break
      }
    }
    return (before, next)
  }

  private func judge(_ place: TemporaryVault, _ before: Known, _ next: Known) -> String {
    do throws(StoreError) {
      let options = VaultOptions(pins: place.folder.appending("pins"))
      do throws(StoreError) { _ = try LockedVault.open(place.path, options: options) } catch {
        guard error.kind == .noVault, !before.exists else { throw error }
        return "not there yet"
      }
      let vault = try place.unlocked(options)
      var found = Known()
      found.exists = true
      let status = try vault.status()
      (found.epoch, found.slots) = (status.epoch, status.slots.count)
      for number in 0..<4 {
        if let value = text(try vault.get(ItemName(service: "svc", account: "\(number)"))) {
          found.items[number] = Int(value.dropFirst("plaintext ".count)) ?? -1
        }
      }
      _ = try vault.verify()
      try checkBackup(place, before)
      let form: SecretForm
      do { form = try CofferVaultTests.form("later") } catch { return "NO MEMORY" }
      try vault.set(form, for: ItemName(service: "later"))
      guard try !vault.status().oldBytesRemain else { return "OLD BYTES REMAIN" }
      return found == before
        ? "as acknowledged" : found == next ? "one step further" : "NEITHER: \(found) for \(before) or \(next)"
    } catch {
      return "REFUSED: \(error.word): \(error.what)"
    }
  }

  private func checkBackup(_ place: TemporaryVault, _ before: Known) throws(StoreError) {
    let backup = place.path.appending(suffix: ".backup")
    guard try Stat.ofLink(backup) != nil else {
      guard !before.hasBackup else { throw StoreError(.noVault, "the backup is gone", cure: "-") }
      return
    }
    let credentials: Credentials
    do { credentials = try TemporaryVault.credentials() } catch { throw StoreError(.memory, "no guarded memory", cure: "-") }
    _ = try LockedVault.open(backup).unlock(with: credentials).verify()
  }
}
