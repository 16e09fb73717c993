internal import Foundation

/// One thing to time: `body` runs one operation; the contender is measured over `count` of them at a time.
struct Contender {
  let name: String
  let count: Int
  let body: (Int) throws -> Void
}

/// Microseconds an operation: on the clock, and of this thread's processor time, which other programs' load does not lengthen.
struct Cost {
  let wall: Double
  let processor: Double
}

/// Times contenders in turn, round after round, so that a slow moment of the machine falls on all of them.
enum Measure {
  /// The medians over `rounds`, by contender.
  static func interleaved(rounds: Int, _ contenders: [Contender]) throws -> [Cost] {
    var samples = [[Cost]](repeating: [], count: contenders.count)
    for round in 0..<rounds {
      for (index, contender) in contenders.enumerated() {
        samples[index].append(try once(contender, from: round * contender.count))
      }
    }
    return samples.map { Cost(wall: median($0.map(\.wall)), processor: median($0.map(\.processor))) }
  }

  /// Prints the contenders' medians, and each one's ratios to the last, the peer.
  static func table(_ title: String, rounds: Int = 7, _ contenders: [Contender]) throws {
    let medians = try interleaved(rounds: rounds, contenders)
    print("\n\(padded(title, 50))        time        ratio   processor    ratio")
    guard let peer = medians.last else { return }
    for (contender, median) in zip(contenders, medians) {
      let wall = "\(number(median.wall)) µs  \(ratio(median.wall, peer.wall))"
      let processor = "\(number(median.processor)) µs  \(ratio(median.processor, peer.processor))"
      print("  \(padded(contender.name, 50))\(wall)  \(processor)")
    }
  }

  private static func once(_ contender: Contender, from first: Int) throws -> Cost {
    let before = (wall: now(CLOCK_MONOTONIC), processor: now(CLOCK_THREAD_CPUTIME_ID))
    for step in first..<first + contender.count { try contender.body(step) }
    let count = Double(contender.count)
    return Cost(
      wall: (now(CLOCK_MONOTONIC) - before.wall) / count, processor: (now(CLOCK_THREAD_CPUTIME_ID) - before.processor) / count)
  }

  private static func now(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
  }

  private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  private static func padded(_ text: String, _ width: Int) -> String {
    text.padding(toLength: width, withPad: " ", startingAt: 0)
  }

  private static func number(_ value: Double) -> String { String(format: value < 10 ? "%9.2f" : "%9.0f", value) }

  private static func ratio(_ value: Double, _ peer: Double) -> String { String(format: "%6.2f×", value / peer) }
}
