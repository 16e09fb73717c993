/// A contender's goal: printed beside its result, and marked if missed.
enum Goal {
  /// At most this many times the peer.
  case times(Double)
  /// At most this many microseconds.
  case microseconds(Double)
  /// At most this many microseconds more than the peer.
  case microsecondsMore(Double)

  var text: String {
    switch self {
    case .times(let limit): "≤ \(limit)×"
    case .microseconds(let limit): "≤ \(limit) µs"
    case .microsecondsMore(let limit): "≤ +\(limit) µs"
    }
  }

  func isReached(by result: Result) -> Bool {
    switch self {
    case .times(let limit): result.ratio <= limit
    case .microseconds(let limit): result.microseconds <= limit
    case .microsecondsMore(let limit): result.difference <= limit
    }
  }
}

struct Result {
  /// Per operation, the median over the rounds.
  let microseconds: Double
  /// To the peer of the same round, the median over the rounds.
  let ratio: Double
  /// The same as a difference.
  let difference: Double
}
