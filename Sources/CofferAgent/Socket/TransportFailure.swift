internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// How moving a frame over a socket failed. Nothing that a vault or a message says is among these.
enum TransportFailure: Error {
  /// The peer went away.
  case gone
  /// The peer takes longer than a frame may.
  case slow
  /// A system call failed: `doing` names the attempt, `code` is its `errno`.
  case system(doing: String, code: Int32)
  /// The peer announces a body too short for a version and a kind.
  case tooShort
  /// The peer announces a body of so many bytes, more than ``AgentProtocol/largestBody``.
  case tooLarge(bytes: Int)
  /// This end cannot make the frame: guarded memory is exhausted.
  case unmade(StoreError)

  /// What errors of the conversation itself name as their place.
  private static let placeName = "agent.sock"

  /// The failure as a caller outside of the agent's modules is told of it.
  var error: StoreError {
    switch self {
    case .gone:
      StoreError(
        .io(ECONNRESET), "the other end of the agent's socket went away", place: Self.placeName,
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
