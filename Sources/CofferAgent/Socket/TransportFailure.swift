internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// Why a frame could not be sent or received. It never has contents of a vault or a message.
enum TransportFailure: Error {
  case gone
  /// The peer exceeds a frame's time limit.
  case slow
  /// `doing` names the attempt, `code` is its `errno`.
  case system(doing: String, code: Int32)
  /// The announced body is too short for a version and a kind.
  case tooShort
  /// The announced body exceeds ``AgentProtocol/largestBody``.
  case tooLarge(bytes: Int)
  /// This end cannot make the frame: guarded memory is exhausted.
  case unmade(StoreError)

  /// The place in errors of the conversation itself.
  private static let placeName = "agent.sock"

  /// For callers outside of the agent's modules.
  var error: StoreError {
    switch self {
    case .gone:
      StoreError(
        .io(ECONNRESET), "the other end closed the agent's socket", place: Self.placeName,
        cure: "ask AgentClient.status() whether the agent runs",
        remedy: .askAgent)
    case .slow:
      StoreError(
        .busy, "the other end of the agent's socket takes too long", place: Self.placeName,
        cure: "try again, or leave the agent out")
    case .system(let doing, let code): StoreError(errno: code, doing, place: FilePath(Self.placeName))
    case .tooShort: FrameReader.malformed("it is too short for a version and a kind")
    case .tooLarge(let bytes):
      StoreError(
        .tooLarge(limit: AgentProtocol.largestBody), "a message of \(bytes) bytes between agent and client",
        cure: "make smaller transactions, or unlock the vault in this process")
    case .unmade(let error): error
    }
  }
}
