import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferPostgres

@Suite(.tags(.campaign, .process, .root), .wholeRun) struct NetworkFaultCampaign {
  /// The place's timeout, in seconds.
  private static let patience = 1
  /// A connection and an answer are each awaited for the place's time and two seconds; a lost connection is made once more.
  /// Doubled for a busy machine.
  private static let longestRead = Double(4 * (patience + 2))
  /// In addition a commit's lost answer is looked up, for fifteen seconds and one last look.
  private static let longestWrite = longestRead + 15 + longestRead

  private struct Call {
    let verb: String, outcome: String, value: String
    let (begin, end): (UInt64, UInt64)
    var seconds: Double { Double(end - begin) / 1e9 }

    init?(_ line: String) {
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 5, let begin = UInt64(words[3]), let end = UInt64(words[4]) else { return nil }
      (verb, outcome, value) = (words[0], words[1], words[2])
      (self.begin, self.end) = (begin, end)
    }
  }

  @Test(arguments: TestNetwork.Loss.allCases)
  func `while packets are lost each call fails in its time, and afterwards nothing is lost, made up or told twice`(
    loss: TestNetwork.Loss
  ) throws {
    let network = try TestNetwork.make()
    let server = try DatabaseServer.make(on: network)
    let shared = try SharedVault(on: server)
    let feed = try VaultStore(service: "feed", vault: shared.create())
    let settings = try PostgresDefaults.open(domain: "feed", at: shared.place)
    let far = server.placeOnNetwork(String(shared.schema.dropFirst("coffer_".count)), "coffer_timeout=\(Self.patience)")
    let key = try shared.keyPath()
    let watcher = try PostgresTool("shared-watch", far, key, behind: network.atClient)
    let worker = try PostgresTool("shared-life", far, key, "1", behind: network.atClient)
    try eventually("it watches") { try watcher.lines.contains("watching") }
    func calls() throws -> [Call] { try worker.lines.compactMap(Call.init) }
    func isWriting(since moment: UInt64) throws -> Bool {
      try calls().contains { $0.verb == "write" && $0.outcome == "ok" && $0.begin > moment }
    }

    var number = 0
    func change() throws {
      number += 1
      try feed.save(form("\(number)"), for: "vault\(number)")
      try settings.save(.integer(Int64(number)), for: "setting\(number)")
    }
    var (outages, rests): ([(begin: UInt64, end: UInt64)], [Duration]) = ([], [])
    for _ in 0..<Campaign.size(short: 1, long: 3) {
      let start = DispatchTime.now().uptimeNanoseconds
      try eventually("the other process writes") { try isWriting(since: start) }
      try change()
      try network.lose(loss)
      let begin = DispatchTime.now().uptimeNanoseconds
      let end = begin + UInt64(Campaign.size(short: 5, long: 30)) * 1_000_000_000
      while DispatchTime.now().uptimeNanoseconds < end {
        try change()
        usleep(300_000)
      }
      outages.append((begin, DispatchTime.now().uptimeNanoseconds))
      try network.mend()
      let mended = ContinuousClock.now
      try eventually("the other process writes again") { try isWriting(since: end) }
      let names = (1...number).flatMap { ["vault\($0)", "setting\($0)"] }
      try eventually("all is told, also where nothing happens any more") {
        try Set(names.map { "told \($0) set" }).isSubset(of: watcher.lines)
      }
      rests.append(mended.duration(to: .now))
    }
    let told = try watcher.stop().dropFirst()
    for prefix in ["vault", "setting"] {
      #expect(told.filter { $0.hasPrefix("told \(prefix)") }.sorted() == (1...number).map { "told \(prefix)\($0) set" }.sorted())
    }
    #expect(told.allSatisfy { $0.hasPrefix("told ") }, "\(told)")

    _ = try worker.stop()
    let all = try calls()
    var (possible, tally): (Set<String>, [String: Int]) = (["nothing"], [:])
    // The written value is the number of the write, including failed ones.
    var written = 0
    for call in all {
      if call.verb == "write" { written += 1 }
      let isLost = outages.contains { $0.begin < call.begin && call.end < $0.end }
      tally["\(call.verb) \(call.outcome)\(isLost ? " meanwhile" : "")", default: 0] += 1
      #expect(call.seconds < (call.verb == "read" ? Self.longestRead : Self.longestWrite), "\(call)")
      switch (call.verb, call.outcome) {
      case (_, "ok") where isLost: Issue.record("\(call) while the network was gone")
      case ("write", "ok"): possible = ["\(written)"]
      case ("write", "outcomeUnknown"): possible.insert("\(written)")
      case ("read", "ok"):
        #expect(possible.contains(call.value), "\(call) of \(possible)")
        possible = [call.value]
      // Busy while the server still holds the lock of a call whose end it does not know.
      default: #expect(["unreachable", "busy"].contains(call.outcome), "\(call)")
      }
    }
    for outage in outages {
      #expect(
        all.contains { call in
          let isDone = outage.begin < call.begin || call.end < outage.end
          return outage.begin < call.end && call.begin < outage.end && !(call.outcome == "ok" && isDone)
        })
    }
    let vault = try shared.unlock()
    let stored = try #require(try text(vault.get(ItemName(service: "writer", account: "1"))))
    #expect(possible.union(["\(written + 1)"]).contains(stored), "\(stored) of \(possible)")
    _ = try vault.verify()
    // After a long outage TCP retransmits after half a minute; nobody need wait for that.
    if Campaign.isLong { #expect(rests.allSatisfy { $0 < .seconds(Self.longestRead) }, "\(rests)") }
    let longest = all.max { $0.seconds < $1.seconds }
    print(
      "lost \(loss.rawValue): \(tally.sorted { $0.key < $1.key }), the longest \(longest?.verb ?? "") \(longest?.seconds ?? 0) s; "
        + "all told after \(rests)")
  }

  @Test func `a commit whose notice never comes is mirrored at the next look`() throws {
    let server = try DatabaseServer.make()
    let shared = try SharedVault(on: server)
    let vault = try shared.create(shared.pins)
    let file = shared.folder.path.appending("mirror")
    func mirrored() -> String? {
      let mirror = try? LockedVault.open(.mirror(file), options: shared.pins).unlock(with: shared.credentials())
      return (try? mirror?.get(name("a"))).flatMap(text)
    }
    // In the long form a minute, the default interval of a followed mirror.
    let interval: Duration = Campaign.isLong ? .seconds(60) : .seconds(1)
    let subscription = try vault.keepMirror(at: file, lookingEvery: interval) { _ in }
    defer { subscription.cancel() }
    let other = try shared.unlock(shared.pins)
    try other.set(form("told"), for: name("a"))
    eventually("the commit is mirrored") { mirrored() == "told" }
    let listening = try #require(
      Int32(server.sql("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN \(shared.schema)%'")))
    stop(listening)
    defer { kill(listening, SIGCONT) }
    try other.set(form("not told"), for: name("a"))
    eventually("it is mirrored all the same") { mirrored() == "not told" }
  }
}
