import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// A container with little memory: beyond its limit the kernel kills a process, so an error must come before.
@Suite(.tags(.campaign, .process, .root), .wholeRun)
struct ControlGroupCampaign {

  @Test(arguments: Campaign.isLong ? [256, 512] : [256]) func `in a container too much is refused by name and nothing is killed`(
    limit: Int
  )
    throws
  {
    guard let group = try TestGroup(limit: limit << 20) else {
      try Test.skip("no control group with a limit of memory can be made here")
    }
    defer { group.remove() }
    var tally = Tally()
    // Far below the limit, within the reserve below it, at it, and beyond it.
    for cost in [64, limit - 24, limit, 2 * limit] {
      let place = try Self.prepared(PassphraseCost(passes: 1, mebibytes: UInt32(cost)))
      for step in ["get", "passphrase-get"] {
        let end = try group.run(TracedTool(place, step))
        let isAllowed = step == "get" || cost < limit / 2 ? "done" : "refused kdfMemory"
        tally.add("\(step), slot of \(cost) MiB", Self.outcome(end), allowed: [isAllowed], end.output)
      }
    }
    let place = try Self.prepared(.testing)
    let end = try group.run(TracedTool(place, "measured-init"))
    tally.add("a new vault, its cost measured", Self.outcome(end), allowed: ["done"], end.output)
    let made = try LockedVault.open(FilePath(place.path.string + ".measured"))
    let taken = made.slots.map(\.mebibytes).max()
    #expect(taken.map { Int($0) <= limit / 2 } == true, "\(made.slots)")
    tally.report("a control group of \(limit) MiB")
  }

  /// A build or a copy fills a container's memory with pages of files, which the kernel frees on demand.
  @Test func `pages of files are no reason to refuse`() throws {
    guard let group = try TestGroup(limit: 256 << 20) else {
      try Test.skip("no control group with a limit of memory can be made here")
    }
    defer { group.remove() }
    let place = try Self.prepared(PassphraseCost(passes: 1, mebibytes: 64))
    let large = place.folder.appending("large").string
    let fill = "head -c 400000000 /dev/zero > '\(large)' && cat '\(large)' > /dev/null"
    let end = try group.run(TracedTool(place, "passphrase-get"), after: fill)
    #expect(Self.outcome(end) == "done", "\(end.output)")
  }

  private static func prepared(_ cost: PassphraseCost) throws -> TemporaryVault {
    let place = try TemporaryVault()
    _ = try place.keyFile()
    let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), cost: cost)
    try vault.addSlot(Credentials(passphrase: secret("passphrase")), label: "one", cost: cost)
    try vault.set(form("old plaintext"), for: ItemName(service: "svc", account: "target"))
    _ = try vault.lock()
    return place
  }

  private static func outcome(_ end: TracedTool.End) -> String {
    if end.wasSignalled { return "KILLED by \(end.code)" }
    if end.isAcknowledged { return "done" }
    return end.output.split(separator: "\n").last { $0.hasPrefix("refused ") }.map {
      String($0.prefix { $0 != ":" && $0 != "(" })
    }
      ?? "UNNAMED \(end.code): \(end.output)"
  }
}

/// A control group below this process's own, of either interface version.
struct TestGroup {
  private let folder: String

  /// - Returns: nil if this process may make none, or none that limits memory.
  init?(limit: Int) throws {
    let own = try String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)
    for hierarchy in ControlGroup.hierarchies(own) {
      let name = hierarchy.version == .first ? "memory.limit_in_bytes" : "memory.max"
      for parent in [hierarchy.folders.last, hierarchy.folders.first].compactMap(\.self) {
        let folder = "\(parent)/coffer-test-\(UUID().uuidString)"
        guard mkdir(folder, 0o755) == 0 else { continue }
        if FileManager.default.fileExists(atPath: "\(folder)/\(name)"), Self.write("\(limit)", to: "\(folder)/\(name)") {
          self.folder = folder
          return
        }
        rmdir(folder)
      }
    }
    return nil
  }

  /// Runs `tool` in this group, after a line of shell.
  func run(_ tool: TracedTool, after line: String = ":") throws -> TracedTool.End {
    try tool.run(
      "/bin/sh",
      ["-c", "echo $$ > '\(folder)/cgroup.procs' && \(line) && exec \"$@\"", "sh", TracedTool.path] + tool.arguments)
  }

  /// The group is empty once its last process was reaped, which the kernel may notice a moment later.
  func remove() {
    for _ in 0..<1000 where rmdir(folder) != 0 && errno == EBUSY { usleep(5_000) }
  }

  private static func write(_ text: String, to path: String) -> Bool {
    let file = open(path, O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    return Glibc.write(file, text, text.utf8.count) == text.utf8.count
  }
}
