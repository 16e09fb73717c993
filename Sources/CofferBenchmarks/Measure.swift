internal import Foundation

/// One thing to time: `body` runs `count` operations.
struct Contender {
  let name: String
  let count: Int
  let body: (Int) throws -> Void
}

/// Times contenders in turn, round after round, so that a slow moment of the machine falls on all of them.
enum Measure {
  /// Microseconds an operation, the median over `rounds`, by contender.
  static func interleaved(rounds: Int, _ contenders: [Contender]) throws -> [Double] {
    var samples = [[Double]](repeating: [], count: contenders.count)
    for _ in 0..<rounds {
      for (index, contender) in contenders.enumerated() {
        let elapsed = try ContinuousClock().measure { for step in 0..<contender.count { try contender.body(step) } }
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        samples[index].append(seconds * 1e6 / Double(contender.count))
      }
    }
    return samples.map { $0.sorted()[$0.count / 2] }
  }

  /// Prints the contenders' medians, and each one's ratio to the last, the peer.
  static func table(_ title: String, rounds: Int = 7, _ contenders: [Contender]) throws {
    let medians = try interleaved(rounds: rounds, contenders)
    print("\n\(title)")
    guard let peer = medians.last else { return }
    for (contender, median) in zip(contenders, medians) {
      let name = contender.name.padding(toLength: 48, withPad: " ", startingAt: 0)
      print("  \(name) \(number(median)) µs   \(number(median / peer))×")
    }
  }

  private static func number(_ value: Double) -> String {
    String(format: value < 10 ? "%8.3f" : "%8.1f", value)
  }
}
