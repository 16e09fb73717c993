import Foundation
import Synchronization
import CofferTestSupport
import Testing

/// System calls of transactions fail at random, one or several in a row. After a success both halves are new; after an error
/// other than an unknown outcome both are old: at once, and after every process has died.
///
/// Short by default; with `COFFER_LONG_TESTS` until 20 000 errors were injected.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct FailingCallCampaign {
  private static let calls = [
    "pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate", "?unlink", "?rename", "renameat2", "fcntl", "flock", "openat",
    "pread64",
    "newfstatat", "fstat", "sendto", "recvfrom", "connect", "poll",
  ]
  private static let errors = ["EIO", "ENOSPC", "EINTR", "EACCES", "ENOMEM"]

  enum Failing: String, CaseIterable { case writer, client, agent }

  /// The processes of one round: both halves are `v0`, and the vault's log has begun.
  private final class Stage {
    let home: Home
    let other: Peer, agent: Peer?, writer: Peer, failing: Peer

    init(_ who: Failing) throws {
      home = try Home()
      other = try Peer(home, ["serve", home.path, home.keyFile])
      guard other.ask("transact v0") == "ok" else { throw Peer.Failed(what: "no old values") }
      agent = who == .writer ? nil : try Peer(home, ["agent", home.path, home.keyFile])
      writer = try Peer(home, ["serve", home.path, home.keyFile] + (who == .writer ? [] : ["20000"]))
      failing = who == .agent ? agent ?? writer : writer
    }

    func kill() { for peer in [writer, agent, other].compactMap({ $0 }) { peer.kill() } }
  }

  private struct Counts {
    var rounds = 0, injected = 0, waited = 0, answers: [String: Int] = [:]
    var wrong: [String] = []

    mutating func add(_ other: Self) {
      rounds += other.rounds
      injected += other.injected
      waited += other.waited
      answers.merge(other.answers) { $0 + $1 }
      wrong += other.wrong
    }
  }

  @Test(arguments: Failing.allCases) func `an error that says that nothing was changed is true`(who: Failing) throws {
    guard try Home.canAttach() else { try Test.skip("strace cannot attach to a process here") }
    let stage = try Stage(who)
    let tracer = try Tracer(stage.failing, calls: Self.calls + ["write"])
    #expect(stage.writer.ask("transact v1") == "ok")
    let places = try tracer.requestedCalls(changing: false).filter { $0.name != "write" }
    var random = Random(campaign: "failing system calls of a \(who)'s transactions")
    let counts =
      Campaign.isLong
      ? Self.inLanes(24, &random) { try Self.run(who, places, &$0) }
      : try Self.until(2, &random) { try Self.run(who, places, &$0) }
    print("failing system calls of a \(who)'s transactions: \(places.count) places, \(counts)")
    #expect(counts.wrong == [])
  }

  private static func until(_ injected: Int, _ random: inout Random, _ round: (inout Random) throws -> Counts) throws -> Counts {
    var counts = Counts()
    while counts.injected < injected { counts.add(try round(&random)) }
    return counts
  }

  /// Parallel rounds until 7 000 errors were injected: a round mostly waits for locks.
  private static func inLanes(
    _ lanes: Int, _ random: inout Random, _ round: @escaping @Sendable (inout Random) throws -> Counts
  ) -> Counts {
    let sum = Sum()
    let ended = DispatchSemaphore(value: 0)
    for _ in 1...lanes {
      // Each makes its own choices, independent of the others.
      let seed = random.next()
      // Threads: the pool of tasks has only one for each core.
      Thread.detachNewThread {
        var random = Random(seed: seed)
        while sum.counts.withLock({ $0.injected < 7_000 }) {
          do {
            let counts = try round(&random)
            sum.counts.withLock {
              $0.add(counts)
              // The long form takes an hour, so it prints its progress.
              if $0.rounds.isMultiple(of: 250) { print("so far: \($0)") }
            }
          } catch { sum.counts.withLock { $0.wrong.append("a round could not be run: \(error)") } }
        }
        ended.signal()
      }
    }
    for _ in 1...lanes { ended.wait() }
    return sum.counts.withLock { $0 }
  }

  private final class Sum: Sendable { let counts = Mutex(Counts()) }

  private static func run(_ who: Failing, _ places: [TracedCall], _ random: inout Random) throws -> Counts {
    var counts = Counts()
    let stage = try Stage(who)
    guard let place = places.randomElement(using: &random), let error = errors.randomElement(using: &random) else {
      return counts
    }
    // A lock that is never free, or a call that is always interrupted, would be awaited forever.
    let isRetried = error == "EINTR" || place.name == "fcntl" || place.name == "flock"
    let step = Bool.random(using: &random) ? "" : "+\(Int.random(in: isRetried ? 3...9 : 1...9, using: &random))"
    let fault = "\(place.name):error=\(error):when=\(place.number)\(step)"
    let tracer = try Tracer(stage.failing, ["-e", "inject=\(fault)"], calls: calls)
    var possible: Set = ["v0"]
    var answer = "ok"
    var seen: String?
    for number in 1...6 where answer == "ok" {
      let new = "v\(number)"
      answer = stage.writer.ask("transact \(new)").map { String($0.prefix { $0 != ":" }) } ?? "died"
      counts.answers[answer, default: 0] += 1
      // The injected errors are the writer's or the agent's; this process sees the real state.
      seen = stage.other.ask("read")
      possible = values(after: answer, possible, new)
      // A process whose unlocking fails keeps others waiting while it lives.
      if let seen, seen.hasPrefix("error busy") || seen.hasPrefix("error pending") && seen.contains("locking protocol") {
        counts.waited += 1
      } else {
        judge(seen, &possible, "\(who), \(fault), at once, \(answer)", &counts)
      }
    }
    tracer.end()
    counts.injected += try tracer.injected()
    stage.kill()
    let later = try Peer(stage.home, ["serve", stage.home.path, stage.home.keyFile]).ask("read")
    judge(later, &possible, "\(who), \(fault), \(seen ?? "nothing"), and after all died", &counts)
    counts.rounds += 1
    return counts
  }

  /// The possible values of both halves, after the answer to a transaction that sets `new`.
  private static func values(after answer: String, _ old: Set<String>, _ new: String) -> Set<String> {
    switch answer {
    case "ok": [new]
    case "died", "error pending", "error outcomeUnknown": old.union([new])
    default: old
    }
  }

  /// Compares a read with the possible values; from then on only the read one is possible.
  private static func judge(_ seen: String?, _ possible: inout Set<String>, _ place: String, _ counts: inout Counts) {
    guard let seen, let value = possible.first(where: { seen == "\($0) \($0) \($0)" }) else {
      counts.wrong.append("\(place): \(seen ?? "nothing"), which should be of \(possible.sorted())")
      return
    }
    possible = [value]
  }
}
