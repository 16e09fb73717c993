import CofferStorage
import Foundation
import SystemPackage
import CofferTestSupport
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct CrowdCampaign {
  private static let processes = Campaign.size(short: 4, long: 32)
  private static let operations = Campaign.size(short: 15, long: 200)

  private func start(_ place: TemporaryVault, seeds: Range<Int>) throws -> [(seed: Int, process: Process, pipe: Pipe)] {
    let key = try place.keyFile()
    return try seeds.map { seed in
      let process = Process()
      let pipe = Pipe()
      process.executableURL = URL(fileURLWithPath: TracedTool.path)
      process.arguments = ["crowd", place.path.string, key, "\(seed)", "\(Self.operations)"]
      process.environment = TracedTool.environment(pins: place.folder.appending("pins"))
      process.standardOutput = pipe
      process.standardError = pipe
      process.standardInput = FileHandle.nullDevice
      try process.run()
      return (seed, process, pipe)
    }
  }

  /// Waits for all, and adds up their acknowledged increments.
  private func end(_ crowd: [(seed: Int, process: Process, pipe: Pipe)], _ tally: inout Tally) -> [Int] {
    var increments = [Int](repeating: 0, count: 4)
    for (seed, process, pipe) in crowd {
      let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      for line in output.split(separator: "\n") {
        if line.hasPrefix("incremented "), let counter = Int(line.dropFirst(12)) { increments[counter] += 1 }
        guard line.hasPrefix("done ") else { continue }
        for part in line.dropFirst(5).split(separator: " ") {
          let pair = part.split(separator: "=")
          for _ in 0..<(Int(pair.last ?? "") ?? 0) { tally.add("acknowledged", String(pair.first ?? "")) }
        }
      }
      let isKilled = process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
      let outcome = isKilled ? "killed" : process.terminationStatus == 0 && output.contains("done ") ? "done" : "FAILED"
      tally.add("processes", outcome, allowed: ["done", "killed"], "\(seed): \(output.suffix(500))")
    }
    return increments
  }

  private func counters(_ vault: borrowing UnlockedVault) throws -> [Int] {
    try (0..<4).map { Int(text(try vault.get(ItemName(service: "counters", account: "\($0)"))) ?? "0") ?? -1 }
  }

  @Test func `many processes mix everything while the key is rotated`() throws {
    let place = try TemporaryVault()
    let options = VaultOptions(pins: place.folder.appending("pins"))
    let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), options: options)
    var tally = Tally()
    let crowd = try start(place, seeds: 1..<Self.processes + 1)
    var rotations = 0
    while crowd.contains(where: { $0.process.isRunning }), rotations < Campaign.size(short: 1, long: 20) {
      try vault.rotate()
      rotations += 1
      usleep(50_000)
    }
    let increments = end(crowd, &tally)
    #expect(try counters(vault) == increments, "no update is lost")
    let status = try vault.status()
    #expect(status.epoch == UInt64(rotations) + 1)
    #expect(try vault.verify().records == status.items)
    _ = try place.unlocked(options).verify()
    tally.report(
      "\(Self.processes) processes × \(Self.operations) operations, \(rotations) rotations, \(status.generation) commits")
  }

  @Test func `processes killed at any moment never look like a rollback`() throws {
    let place = try TemporaryVault()
    let options = VaultOptions(pins: place.folder.appending("pins"))
    _ = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), options: options).lock()
    var random = Random(seed: 4)
    var tally = Tally()
    var acknowledged = [0, 0, 0, 0]
    var killed = 0
    for round in 0..<Campaign.size(short: 2, long: 40) {
      let crowd = try start(place, seeds: round * 100 + 1..<round * 100 + 4)
      for member in crowd.dropFirst() {
        usleep(UInt32.random(in: 0..<60_000, using: &random))  // No event: any moment.
        if member.process.isRunning, kill(member.process.processIdentifier, SIGKILL) == 0 { killed += 1 }
      }
      let increments = end(crowd, &tally)
      let vault = try place.unlocked(options)
      let found = try counters(vault)
      for counter in 0..<4 {
        acknowledged[counter] += increments[counter]
        // A killed process may have committed more than it reported.
        #expect(acknowledged[counter]...acknowledged[counter] + killed ~= found[counter])
      }
      _ = try vault.verify()
    }
    tally.report("processes killed at any moment, \(killed) killed")
  }
}
