internal import Foundation

/// Secret lookups on a session bus: Coffer beside gnome-keyring, each on its own bus.
/// The program is the one beside this one, or the one named by `COFFER_BENCHMARKED`; build it as it is shipped: `.ci/release`.
enum SecretServiceBenchmark {
  private static let items = 10_000
  private static let operations = 100_000

  static func run(in folder: String) throws {
    let programs = ["secret-tool", "dbus-daemon", "dbus-send", "gnome-keyring-daemon"]
    guard SecretPeers.isInstalled(programs), hasSecretStorage else { return }
    let program = CommandLineBenchmark.program
    let coffer = try SecretServiceSide.coffer(program, in: folder + "/service")
    let many = try SecretServiceSide.coffer(program, in: folder + "/service-many", items: items)
    let peer = try SecretServiceSide.gnomeKeyring(in: folder + "/service-peer")
    defer {
      for side in [coffer, many] { do { try end(program, side) } catch { print("an agent was left running: \(error)") } }
      for side in [coffer, many, peer] { side.stop() }
    }
    try Measure.table(
      "A program that looks a secret up", rounds: 60, clock: .wall,
      [coffer.lookup("secret-tool lookup, Coffer", [.times(1)]), peer.lookup("secret-tool lookup, gnome-keyring", [])])
    try connections(coffer, many, peer)
    try onDemand(program, coffer)
    try memory(program, coffer)
  }

  private static var hasSecretStorage: Bool {
    do { try Shell.run("/usr/bin/python3 -c 'import secretstorage' 2>/dev/null") } catch {
      print("\nPrograms that ask for secrets are left out: python3-secretstorage is not installed")
      return false
    }
    return true
  }

  private static func connections(_ coffer: SecretServiceSide, _ many: SecretServiceSide, _ peer: SecretServiceSide) throws {
    let (mine, large, other) = try (SecretServiceClient(coffer), SecretServiceClient(many), SecretServiceClient(peer))
    defer { for client in [mine, large, other] { client.stop() } }
    try Measure.table(
      "Search and get, in one connection", rounds: 20, clock: .wall,
      [
        mine.contender("python SecretStorage, Coffer", "storage", [.times(0.6)]),
        other.contender("python SecretStorage, gnome-keyring", "storage", []),
      ])
    try Measure.table(
      "The same two calls alone", rounds: 20, clock: .wall,
      [
        mine.contender("Coffer", "calls", [.times(0.6)]),
        mine.contender("two calls that ask nothing of the vault", "bus_alone", []),
        other.contender("gnome-keyring", "calls", []),
      ])
    try Measure.table(
      "Search by an attribute", rounds: 10, clock: .wall,
      [
        large.contender("among \(items) items, Coffer", "search", [.microseconds(2000)]),
        mine.contender("search and get of one, Coffer", "calls", []),
      ])
  }

  /// From a program's start to its answer, with neither service nor agent running.
  private static func onDemand(_ program: String, _ side: SecretServiceSide) throws {
    let lookup = side.lookup("secret-tool lookup, nothing runs yet", [.microseconds(150_000)])
    var cold: [Double] = [], warm: [Double] = []
    for _ in 0..<15 {
      try end(program, side)
      for first in [true, false] {
        let start = Clock.wall.now
        try lookup.body(0)
        if first { cold.append(Clock.wall.now - start) } else { warm.append(Clock.wall.now - start) }
      }
    }
    let result = Result(
      microseconds: Measure.median(cold), ratio: Measure.median(zip(cold, warm).map { $0 / $1 }),
      difference: Measure.median(zip(cold, warm).map { $0 - $1 }))
    print("\nStart on demand, with a key file; the peer is the second lookup")
    Measure.line(lookup.name, result, lookup.goals)
  }

  /// The growth of the service's memory by many operations, after a tenth as many.
  private static func memory(_ program: String, _ side: SecretServiceSide) throws {
    let client = try SecretServiceClient(side)
    defer { client.stop() }
    try client.run("mixed", operations / 10)
    let before = try resident(process(program, side))
    try client.run("mixed", operations)
    let more = try resident(process(program, side)) - before
    let goal = "≤ 1024 KiB" + (more > 1024 ? "  ✗ missed" : "")
    print("\nResident memory of the service, \(before) KiB, after \(operations) operations: \(more) KiB more   \(goal)")
  }

  /// In KiB.
  private static func resident(_ process: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    guard let count = line.split(whereSeparator: { !$0.isNumber }).last.flatMap({ Int($0) }) else {
      throw Shell.Failed(line: "/proc/\(process)/status")
    }
    return count
  }

  private static func process(_ program: String, _ side: SecretServiceSide) throws -> Int32 {
    let file = side.home + "/status"
    try side.shell("\(program) secret-service status --json >\(file)")
    let status = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: file))) as? [String: Any]
    guard let process = status?["process"] as? Int32 else { throw Shell.Failed(line: "secret-service status") }
    return process
  }

  private static func end(_ program: String, _ side: SecretServiceSide) throws {
    let service = try process(program, side)
    kill(service, SIGTERM)
    while kill(service, 0) == 0 { usleep(1000) }
    try side.shell("\(program) agent stop --quiet")
  }
}
