import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferPostgres

/// Servers that die, hang, refuse, or lose data.
@Suite(.tags(.campaign, .process, .kill), .wholeRun) struct ServerFaultCampaign {
  @Test func `a server that acknowledges before a commit is durable is not written to, unless the place says so`() throws {
    let asynchronous = "options=-csynchronous_commit%3Doff"
    let shared = try SharedVault(options: asynchronous)
    #expect(kind { try shared.create() } == .refused)
    let allowed = try SharedVault(options: asynchronous + "&coffer_allow_async=1")
    let vault = try allowed.create()
    try vault.set(form("1"), for: name("a"))
    let strict = VaultPlace(allowed.url.replacingOccurrences(of: "&coffer_allow_async=1", with: ""))
    let reader = try LockedVault.open(strict, options: .withoutPins).unlock(with: allowed.credentials())
    #expect(try text(reader.get(name("a"))) == "1")
    #expect(kind { try reader.set(form("2"), for: name("a")) } == .refused)
  }

  @Test func `no call waits without an end: for a lock, for a server that hangs, for one that is gone`() throws {
    let server = try DatabaseServer.make()
    let shared = try SharedVault(on: server, options: "coffer_timeout=3")
    let vault = try shared.create()
    try vault.set(form("1"), for: name("a"))
    let turn = try ForeignTurn(shared)
    #expect(kind { try vault.rotate() } == .busy)
    // The next writer may make it.
    #expect(kind { try vault.set(form("2"), for: name("a")) } == .outcomeUnknown)
    #expect(try text(vault.get(name("a"))) == "1", "a read waits for no writer")
    turn.end()
    eventually("the lock is free again") { kind { try vault.set(form("3"), for: name("a")) } == nil }

    let pids = try server.sql(
      "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    .split(separator: "\n").compactMap { pid_t($0) }
    #expect(!pids.isEmpty)
    let main = server.pid
    for pid in pids + [main] { kill(pid, SIGSTOP) }
    #expect(kind { _ = try vault.get(name("a")) } == .unreachable)
    for pid in pids + [main] { kill(pid, SIGCONT) }
    #expect(try text(vault.get(name("a"))) == "3")

    try server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'coffer'")
    #expect(try text(vault.get(name("a"))) == "3", "nothing was asked of the connection that was ended")
    server.stop(SIGINT)
    eventually("the server is gone") { kind { _ = try vault.get(name("a")) } == .unreachable }
    #expect(kind { _ = try shared.unlock() } == .unreachable)
  }

  @Test func `a connection cut at any byte of a write leaves it made or not made, and this is known`() throws {
    let server = try DatabaseServer.shared
    let direct = try SharedVault(on: server)
    let proxy = try SocketProxy(server.folder, target: server.port)
    defer { proxy.end() }
    _ = try direct.create()
    let place = VaultPlace(direct.url.replacingOccurrences(of: ":\(server.port)/", with: ":\(proxy.port)/"))
    let vault = try LockedVault.open(place, options: .withoutPins).unlock(with: direct.credentials())
    let witness = try direct.unlock()
    for warm in 0..<3 { try vault.set(form("\(warm)"), for: name("a")) }
    _ = proxy.count()
    try vault.set(form("measured"), for: name("a"))
    let size = proxy.count()
    var tally: [String: Int] = [:]
    for up in [true, false] {
      for cut in Campaign.cases(up ? size.up : size.down, short: 40) {
        let value = "\(up) \(cut)"
        proxy.cut(after: cut, up: up)
        let outcome = kind { try vault.set(form(value), for: name("a")) }
        proxy.mend()
        let isThere = try text(witness.get(name("a"))) == value
        switch outcome {
        case nil: #expect(isThere, "acknowledged, and not there: \(value)")
        case .unreachable: #expect(!isThere, "refused, and there: \(value)")
        default: Issue.record("\(String(describing: outcome)) at \(value)")
        }
        tally["\(outcome.map { "\($0)" } ?? "made")", default: 0] += 1
        #expect(try text(vault.get(name("a"))) == text(witness.get(name("a"))))
      }
    }
    _ = try witness.verify()
    #expect(tally["made", default: 0] > 0 && tally["unreachable", default: 0] > 0)
    print("cut connections: \(tally.sorted { $0.key < $1.key })")
  }

  @Test func `a commit that was lost beside a change of key by another is settled all the same`() throws {
    let server = try DatabaseServer.shared
    let direct = try SharedVault(on: server)
    let proxy = try SocketProxy(server.folder, target: server.port)
    defer { proxy.end() }
    let witness = try direct.create()
    let place = VaultPlace(direct.url.replacingOccurrences(of: ":\(server.port)/", with: ":\(proxy.port)/"))
    let vault = try LockedVault.open(place, options: .withoutPins).unlock(with: direct.credentials())
    for step in 0..<3 { try vault.set(form("\(step)"), for: name("a")) }
    _ = proxy.count()
    try vault.rotate()
    let size = proxy.count()
    for cut in Campaign.cases(size.down, short: 12) {
      let epoch = try witness.status().epoch
      proxy.cut(after: cut, up: false)
      let outcome = kind { try vault.rotate() }
      proxy.mend()
      try witness.rotate()
      let now = try witness.status().epoch
      #expect(now == epoch + (outcome == nil ? 2 : 1), "\(String(describing: outcome)) at \(cut)")
      #expect(try vault.verify() == witness.verify() && text(vault.get(name("a"))) == "2")
    }
  }

  @Test func `a server that is killed under its writers loses no acknowledged write, and makes none up`() throws {
    let server = try DatabaseServer.make()
    let shared = try SharedVault(on: server)
    let vault = try shared.create()
    let writers = 4
    let key = try shared.keyPath()
    let tools = try (0..<writers).map { try PostgresTool("shared-write", shared.url, key, "\($0)", "1000000") }
    // A program that finds no server at its start ends, and would show nothing.
    for number in 0..<writers {
      eventually("writer \(number) has begun") {
        (try? vault.get(ItemName(service: "writer", account: "\(number)"))) != nil
      }
    }
    let crashes = Campaign.size(short: 3, long: 200)
    var longest = Duration.zero
    for crash in 0..<crashes {
      usleep(useconds_t.random(in: 100_000...900_000))  // No event: any moment.
      let start = ContinuousClock.now
      try server.crash()
      eventually("a write is acknowledged after crash \(crash)") {
        kind { try vault.set(form("\(crash)"), for: name("crash")) } == nil
      }
      longest = max(longest, ContinuousClock.now - start)
    }
    var tally: [String: Int] = [:]
    for (number, tool) in tools.enumerated() {
      let possible = try tool.possibleValues(&tally)
      let stored = try text(vault.get(ItemName(service: "writer", account: "\(number)"))) ?? "nothing"
      #expect(possible.contains(stored), "writer \(number): \(stored) of \(possible)")
    }
    _ = try vault.verify()
    // A writer looks its write up for 15 s: it knows the outcome, unless the server was away that long.
    #expect(tally["acknowledged", default: 0] > 0 && (tally["unknown", default: 0] == 0 || longest > .seconds(10)))
    print("killed servers: \(crashes), \(tally.sorted { $0.key < $1.key })")
  }

  @Test func `writers killed while they combine lose no acknowledged write, and none is made twice`() throws {
    let shared = try SharedVault()
    let vault = try shared.create()
    let key = try shared.keyPath()
    var acknowledged: [Int] = []
    // Each life writes to an item of its own: a change of an earlier one may still be in the queue.
    func start(_ life: Int) throws -> PostgresTool { try PostgresTool("shared-write", shared.url, key, "\(life)", "1000000") }
    func end(_ tool: PostgresTool) throws -> Set<String> {
      var tally: [String: Int] = [:]
      let possible = try tool.possibleValues(&tally)
      #expect(tally["unknown"] == nil)
      acknowledged.append(tally["acknowledged", default: 0])
      return possible
    }
    var sums = (acknowledged: 0, made: 0), counted = 0
    // A log has 10 000 rows, and 50 lives need less.
    func count() throws {
      var made: [String: Int] = [:]
      for entry in try vault.log() where entry.event == .itemSet { made[entry.item?.account ?? "", default: 0] += 1 }
      for life in counted..<acknowledged.count {
        let made = made["\(life)", default: 0], acknowledged = acknowledged[life]
        // A killed writer may have made one more write than it could report.
        #expect((acknowledged...acknowledged + 1).contains(made), "writer \(life)")
        sums = (sums.acknowledged + acknowledged, sums.made + made)
      }
      counted = acknowledged.count
    }
    var tools = try (0..<8).map(start)
    let kills = Campaign.size(short: 16, long: 5_000)
    for kill in 0..<kills {
      eventually("writer \(kill) has begun") { (try? vault.get(ItemName(service: "writer", account: "\(kill)"))) != nil }
      usleep(useconds_t.random(in: 0...20_000))  // No event: any moment.
      let possible = try end(tools.removeFirst())
      tools.append(try start(kill + 8))
      // The next writer makes the dead one's change, or never.
      try vault.set(form("\(kill)"), for: name("kill"))
      let stored = try text(vault.get(ItemName(service: "writer", account: "\(kill)"))) ?? "nothing"
      #expect(possible.contains(stored), "writer \(kill): \(stored) of \(possible)")
      if kill % 50 == 49 { try count() }
    }
    for tool in tools { _ = try end(tool) }
    try vault.set(form("last"), for: name("kill"))
    _ = try vault.verify()
    try count()
    print("killed writers: \(counted), \(sums.acknowledged) writes acknowledged, \(sums.made) made")
  }

  @Test func `many processes count together, and none of their counts is lost`() throws {
    let shared = try SharedVault()
    let vault = try shared.create()
    let (processes, each) = (Campaign.size(short: 8, long: 64), Campaign.size(short: 25, long: 500))
    let key = try shared.keyPath()
    let tools = try (0..<processes).map { _ in try PostgresTool("shared-count", shared.url, key, "\(each)") }
    for tool in tools { #expect(try tool.finish() == ["done \(each)"]) }
    #expect(try text(vault.get(ItemName(service: "shared", account: "count"))) == "\(processes * each)")
    _ = try vault.verify()
    print("counted together: \(processes) processes, \(processes * each)")
  }
}

final class PostgresTool {
  private let process = Process()
  /// It never waits for a reader, as it would with a pipe.
  private let folder: TestFolder
  private var output: URL { URL(fileURLWithPath: folder.path.appending("output").string) }

  /// - Parameter first: the words before the program.
  init(_ words: String..., behind first: [String] = []) throws {
    folder = try TestFolder("tool")
    let build = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    let tool = try #require(
      [build, Bundle.main.bundleURL].map { $0.appending(path: "TestTool").path }.first(
        where: FileManager.default.isExecutableFile))
    let whole = first + [tool] + words
    process.executableURL = URL(fileURLWithPath: whole[0])
    process.arguments = Array(whole.dropFirst())
    try Data().write(to: output)
    process.standardOutput = try FileHandle(forWritingTo: output)
    try process.run()
  }

  var lines: [String] {
    get throws { String(decoding: try Data(contentsOf: output), as: UTF8.self).split(separator: "\n").map(String.init) }
  }

  func finish() throws -> [String] {
    process.waitUntilExit()
    return try lines
  }

  func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  func stop() throws -> [String] {
    kill(process.processIdentifier, SIGKILL)
    return try finish()
  }

  /// Kills it, and returns the values that a writer of increasing numbers may have stored.
  func possibleValues(_ tally: inout [String: Int]) throws -> Set<String> {
    let lines = try stop()
    var possible: Set<String> = []
    for line in lines {
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 2 else { continue }
      tally[words[0], default: 0] += 1
      switch words[0] {
      case "acknowledged": possible = [words[1]]
      case "unknown": possible.insert(words[1])
      default: break
      }
    }
    let last = lines.last.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
    possible.insert("\(last + 1)")
    if lines.isEmpty { possible.insert("nothing") }
    return possible
  }
}
