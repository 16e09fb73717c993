/// Why a frame could not be sent or received. It never holds the contents of a vault or message.
package enum TransportFailure: Error {
  case gone
  /// The peer exceeded a frame's time limit.
  case slow
  /// `doing` names the attempt, `code` is its `errno`.
  case system(doing: String, code: Int32)
  /// The announced body is too short for a version and a kind.
  case tooShort
  /// The announced body exceeds ``AgentProtocol/largestBody``.
  case tooLarge(bytes: Int)
  /// This side has no memory left for the frame.
  case unmade(any Error)

  /// The place in errors about the connection.
  private static let placeName = "agent.sock"

  /// The error for callers of one end.
  package func error<Failure: WireFailure>(as _: Failure.Type = Failure.self) -> Failure {
    switch self {
    case .gone:
      Failure(
        WireError(
          code: 32, "the other end closed the agent's socket", place: Self.placeName,
          cure: "check whether the agent runs", first: Int(ECONNRESET), detail: "askAgent"))
    case .slow:
      Failure(
        WireError(
          code: 28, "the other end of the agent's socket takes too long", place: Self.placeName,
          cure: "try again, or leave the agent out"))
    case .system(let doing, let code): .system(code, doing, place: Self.placeName)
    case .tooShort: .malformed("it is too short for a version and a kind")
    case .tooLarge(let bytes):
      Failure(
        WireError(
          code: 5, "a message of \(bytes) bytes between agent and client",
          cure: "make smaller transactions, or unlock the vault in this process", first: AgentProtocol.largestBody))
    case .unmade(let error): error as? Failure ?? Failure(WireError(code: 47, "memory ran out", cure: "free some memory"))
    }
  }
}
