internal import Foundation

/// One thing to time: `body` runs `count` operations.
struct Contender {
  let name: String
  let count: Int
  var goals: [Goal] = []
  let body: (Int) throws -> Void
}

enum Clock {
  /// The thread's time on a processor, so that other programs of the machine hardly count.
  case thread
  /// Elapsed time, for work of several threads or processes.
  case wall
  /// The time of other programs on a processor, with that of their ended threads. The kernel counts it in nanoseconds.
  case processes([Int32])
  /// The time on a processor of all programs that this one has started and that have ended, with that of theirs.
  case children

  /// Microseconds since some moment.
  var now: Double {
    switch self {
    case .thread: return Self.time(CLOCK_THREAD_CPUTIME_ID)
    case .wall: return Self.time(CLOCK_MONOTONIC)
    case .processes(let processes):
      return processes.reduce(0) { sum, process in
        var clock = clockid_t()
        precondition(clock_getcpuclockid(process, &clock) == 0, "the process \(process) has ended")
        return sum + Self.time(clock)
      }
    case .children:
      var usage = rusage()
      getrusage(RUSAGE_CHILDREN.rawValue, &usage)
      return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) * 1e6 + Double($1.tv_usec) }
    }
  }

  private static func time(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
  }
}

/// Times contenders in turn, round after round, so that a slow moment of the machine affects all of them.
enum Measure {
  /// The medians over `rounds`, by contender; the last one is the peer. A first round only warms up and does not count.
  static func interleaved(rounds: Int, _ clock: Clock, _ contenders: [Contender]) throws -> [Result] {
    var samples = [[Double]](repeating: [], count: contenders.count)
    for round in 0...rounds {
      for (index, contender) in contenders.enumerated() {
        let start = clock.now
        for step in 0..<contender.count { try contender.body(step) }
        if round > 0 { samples[index].append((clock.now - start) / Double(contender.count)) }
      }
    }
    guard let peer = samples.last else { return [] }
    return samples.map { mine in
      Result(
        microseconds: median(mine), ratio: median(zip(mine, peer).map { $0 / $1 }),
        difference: median(zip(mine, peer).map { $0 - $1 }))
    }
  }

  /// Prints the contenders' times, their ratios to the last, the peer, and their goals.
  @discardableResult
  static func table(_ title: String, rounds: Int = 7, clock: Clock = .thread, _ contenders: [Contender]) throws -> [Result] {
    let results = try interleaved(rounds: rounds, clock, contenders)
    print("\n\(title)")
    for (contender, result) in zip(contenders, results) { line(contender.name, result, contender.goals) }
    return results
  }

  static func line(_ name: String, _ result: Result, _ goals: [Goal]) {
    let judged = goals.map { $0.text + ($0.isReached(by: result) ? "" : "  ✗ missed") }.joined(separator: "   ")
    print("  \(padded(name)) \(number(result.microseconds)) µs \(number(result.ratio))×   \(judged)")
  }

  static func median(_ samples: [Double]) -> Double { samples.sorted()[samples.count / 2] }

  static func padded(_ name: String) -> String { name.padding(toLength: 48, withPad: " ", startingAt: 0) }

  static func number(_ value: Double) -> String {
    String(format: abs(value) < 10 ? "%8.3f" : "%8.1f", value)
  }
}

/// Keeps the optimizer from dropping an unused result.
@inline(never)
func use<Value>(_ value: Value) {}
