internal import ArgumentParser

/// `90s`, `15m`, `2h` or `1d`.
struct AgentTime: ExpressibleByArgument {
  let text: String
  let duration: Duration

  private static let seconds: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
  /// Thirty days: an agent that never locks is a vault without a lock.
  private static let longest: Int64 = 30 * 86_400

  init?(argument: String) {
    guard let unit = argument.last.flatMap({ Self.seconds[$0] }), let count = UInt32(argument.dropLast()),
      case let seconds = Int64(count) * unit, 1...Self.longest ~= seconds
    else { return nil }
    text = argument
    duration = .seconds(seconds)
  }
}
