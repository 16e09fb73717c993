import Foundation
import Testing

/// System calls of transactions fail at random, one or several in a row, with other processes alive. An answer of success means that both
/// halves are new; one that does not say that the outcome is unknown, that both are old: at once, and after every process has died.
///
/// Short by default; with `COFFER_LONG_TESTS` until 20 000 errors were injected.
@Suite(.serialized) struct FailingCallCampaign {
  private static let isLong = ProcessInfo.processInfo.environment["COFFER_LONG_TESTS"] != nil
  private static let calls = [
    "pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate", "?unlink", "?rename", "renameat2", "fcntl", "flock", "openat",
    "pread64",
    "newfstatat", "fstat", "sendto", "recvfrom", "connect", "poll",
  ]
  private static let errors = ["EIO", "ENOSPC", "EINTR", "EACCES", "ENOMEM"]

  /// Whose calls fail.
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
      writer = try Peer(home, ["serve", home.path, home.keyFile] + (who == .writer ? [] : ["2000"]))
      failing = who == .agent ? agent ?? writer : writer
    }

    func kill() { for peer in [writer, agent, other].compactMap({ $0 }) { peer.kill() } }
  }

  private struct Counts {
    var rounds = 0, injected = 0, waited = 0, answers: [String: Int] = [:]
    var wrong: [String] = []
  }

  @Test(arguments: Failing.allCases) func anErrorThatSaysThatNothingWasChangedIsTrue(who: Failing) throws {
    guard try Home.canAttach() else { return print("skipped: strace cannot attach to a process here") }
    let stage = try Stage(who)
    let tracer = try Tracer(stage.failing, calls: Self.calls + ["write"])
    #expect(stage.writer.ask("transact v1") == "ok")
    let places = try tracer.requestedCalls(changing: false).filter { $0.name != "write" }
    var counts = Counts()
    while counts.injected < (Self.isLong ? 7_000 : 3) {
      try run(who, places, &counts)
      // The long form takes hours: it says where it is.
      if counts.rounds.isMultiple(of: 250) { print("so far, \(who): \(counts)") }
    }
    print("failing system calls of a \(who)'s transactions: \(places.count) places, \(counts)")
    #expect(counts.wrong == [])
  }

  /// Transactions with failing calls until one fails, then the death of all.
  private func run(_ who: Failing, _ places: [TracedCall], _ counts: inout Counts) throws {
    let stage = try Stage(who)
    guard let place = places.randomElement(), let error = Self.errors.randomElement() else { return }
    // A lock that is never had is waited for, as is a call that a signal always interrupts, and the campaign with it.
    let isRetried = error == "EINTR" || place.name == "fcntl" || place.name == "flock"
    let step = Bool.random() ? "" : "+\(Int.random(in: isRetried ? 3...9 : 1...9))"
    let fault = "\(place.name):error=\(error):when=\(place.number)\(step)"
    let tracer = try Tracer(stage.failing, ["-e", "inject=\(fault)"], calls: Self.calls)
    var possible: Set = ["v0"]
    var answer = "ok"
    var seen: String?
    for number in 1...6 where answer == "ok" {
      let new = "v\(number)"
      answer = stage.writer.ask("transact \(new)").map { String($0.prefix { $0 != ":" }) } ?? "died"
      counts.answers[answer, default: 0] += 1
      // The injected errors are the writer's or the agent's; this one sees what is there.
      seen = stage.other.ask("read")
      possible = Self.values(after: answer, possible, new)
      // A process whose unlocking fails keeps others waiting for as long as it lives. What they see then is known after its death.
      if seen?.hasPrefix("error busy") == true {
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
  }

  /// The values that both halves may have, after a transaction that sets `new` was answered.
  private static func values(after answer: String, _ old: Set<String>, _ new: String) -> Set<String> {
    switch answer {
    case "ok": [new]
    case "died", "error pending", "error outcomeUnknown": old.union([new])
    default: old
    }
  }

  /// Holds what was read against what may be there; from then on nothing else may.
  private func judge(_ seen: String?, _ possible: inout Set<String>, _ place: String, _ counts: inout Counts) {
    guard let seen, let value = possible.first(where: { seen == "\($0) \($0) \($0)" }) else {
      counts.wrong.append("\(place): \(seen ?? "nothing"), which should be of \(possible.sorted())")
      return
    }
    possible = [value]
  }
}
