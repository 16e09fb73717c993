/// What a contender should reach: printed beside what it reached, and marked where missed.
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

/// What one contender took.
struct Result {
  /// An operation, the median over the rounds.
  let microseconds: Double
  /// To the peer in the same round, the median over the rounds.
  let ratio: Double
  /// The same as a difference, in microseconds.
  let difference: Double
}
