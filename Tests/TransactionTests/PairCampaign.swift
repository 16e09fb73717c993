import Foundation
import CofferTestSupport
import Testing

/// Two processes die in sequence: the first at a system call of a transaction, the second at one of settling it. Then a
/// fresh process reads both halves. Every pair of such calls is tried.
///
/// The long form (`COFFER_LONG_TESTS`) resumes if `COFFER_PAIRS` names a folder for its progress.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct PairCampaign {
  enum Scene: String, CaseIterable {
    case library
    case client
    /// The agent; then its client, which settles.
    case agent
  }

  struct Counts {
    var pairs = 0, unreached = 0, committed = 0, dropped = 0
    var torn: [String] = []

    func since(_ before: Counts) -> Counts {
      Counts(
        pairs: pairs - before.pairs, unreached: unreached - before.unreached, committed: committed - before.committed,
        dropped: dropped - before.dropped, torn: Array(torn.dropFirst(before.torn.count)))
    }
  }

  /// The processes of one pair of deaths: both halves are `old`, and the vault's log has begun.
  final class Stage {
    let home: Home
    let agent: Peer?
    let writer: Peer
    let other: Peer
    let scene: Scene

    init(_ scene: Scene) throws {
      self.scene = scene
      home = try Home()
      other = try Peer(home, ["serve", home.path, home.keyFile])
      guard other.ask("transact old") == "ok" else { throw Peer.Failed(what: "no old values") }
      agent = scene == .library ? nil : try Peer(home, ["agent", home.path, home.keyFile])
      writer = try Peer(home, ["serve", home.path, home.keyFile] + (scene == .library ? [] : ["60000"]))
    }

    var first: Peer { scene == .agent ? agent ?? writer : writer }
    var second: Peer { scene == .agent ? writer : other }

    func die(at call: TracedCall) throws -> Bool {
      let tracer = try Tracer(killing: first, at: call)
      defer { tracer.end() }
      writer.tell("transact new")
      if scene == .agent {
        return !first.isRunning(after: writer)
      }
      return writer.hear() == nil
    }

    /// Both halves, as a fresh process finds them after the others, before and after its own write.
    func found() throws -> String {
      for peer in [writer, other, agent].compactMap({ $0 }) { peer.kill() }
      let fresh = try Peer(home, ["serve", home.path, home.keyFile])
      let before = fresh.ask("read") ?? "dead"
      guard fresh.ask("write fresh") == "ok", let after = fresh.ask("read"), after == before else { return "\(before), then not" }
      fresh.kill()
      let last = try Peer(home, ["serve", home.path, home.keyFile]).ask("read")
      return last == before ? before : "\(before), then \(last ?? "dead")"
    }
  }

  @Test(arguments: Scene.allCases) func `every pair of deaths leaves both halves the same`(scene: Scene) throws {
    guard try Home.canAttach() else { try Test.skip("strace cannot attach to a process here") }
    let isLong = Campaign.isLong
    let places = try firstCalls(scene)
    #expect(places.count > 4)
    let done = try Done(scene)
    var random = Random(campaign: "pairs of deaths, \(scene)")
    var counts = Counts()
    for place in isLong ? places : Array(places.shuffled(using: &random).prefix(1)) {
      if done.contains(place) { continue }
      let seconds = try secondCalls(scene, after: place)
      let before = counts
      for second in isLong ? seconds.map(Optional.some) + [nil] : [seconds.randomElement(using: &random)] {
        try run(scene, place, second, &counts)
      }
      try done.note(place, counts.since(before))
    }
    print("pairs of deaths, \(scene): \(places.count) places, \(counts)")
    #expect(done.torn + counts.torn == [])
  }

  private func firstCalls(_ scene: Scene) throws -> [TracedCall] {
    let stage = try Stage(scene)
    let tracer = try Tracer(stage.first)
    guard stage.writer.ask("transact new") == "ok" else { throw Peer.Failed(what: "no new values") }
    return try tracer.requestedCalls()
  }

  private func secondCalls(_ scene: Scene, after place: TracedCall) throws -> [TracedCall] {
    let stage = try Stage(scene)
    let tracer = scene == .agent ? try Tracer(stage.second) : nil
    _ = try stage.die(at: place)
    if let tracer { return try tracer.requestedCalls() }
    let late = try Tracer(stage.second)
    _ = stage.second.ask("write x")
    return try late.requestedCalls()
  }

  private func run(_ scene: Scene, _ place: TracedCall, _ second: TracedCall?, _ counts: inout Counts) throws {
    let stage = try Stage(scene)
    let early = scene == .agent ? try second.map { try Tracer(killing: stage.second, at: $0) } : nil
    let isFirstDead = try stage.die(at: place)
    early?.end()
    if scene != .agent {
      let late = try second.map { try Tracer(killing: stage.second, at: $0) }
      let answer = stage.second.ask("write x")
      late?.end()
      if second != nil, answer != nil { counts.unreached += 1 }
    } else {
      _ = stage.other.ask("write x")
    }
    if !isFirstDead { counts.unreached += 1 }
    counts.pairs += 1
    switch try stage.found() {
    case "new new new": counts.committed += 1
    case "old old old": counts.dropped += 1
    case let found: counts.torn.append("\(scene), \(place), then \(second.map(String.init(describing:)) ?? "none"): \(found)")
    }
  }

  private struct Done {
    private let file: URL?
    private var places: Set<String> = []
    private(set) var torn: [String] = []

    init(_ scene: Scene) throws {
      file = ProcessInfo.processInfo.environment["COFFER_PAIRS"].map { URL(filePath: $0).appending(path: "\(scene).txt") }
      guard let file, FileManager.default.fileExists(atPath: file.path) else { return }
      let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
      places = Set(lines.map { String($0.prefix { $0 != ":" }) })
      torn = lines.filter { !$0.hasSuffix("torn: [])") }
    }

    func contains(_ place: TracedCall) -> Bool { places.contains("\(place)") }

    func note(_ place: TracedCall, _ counts: Counts) throws {
      guard let file else { return }
      if !FileManager.default.fileExists(atPath: file.path) { try Data().write(to: file) }
      let handle = try FileHandle(forWritingTo: file)
      try handle.seekToEnd()
      try handle.write(contentsOf: Data("\(place): \(counts)\n".utf8))
      try handle.close()
    }
  }
}
