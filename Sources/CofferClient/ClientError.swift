/// This library's only error: what happened, where, and what to do about it. It never holds a value.
public struct ClientError: Error, Sendable, Equatable {
  /// The reason, by its number in the agent's protocol. A newer agent may send numbers without a name here.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    /// The number in the protocol.
    public let rawValue: UInt8
    /// The kind of this number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    private init(_ number: UInt8) { rawValue = number }

    /// The waiting task was cancelled; a change may have been made. The agent never sends it.
    public static let cancelled = Kind(0)
    /// A name is empty, too long or has control characters.
    public static let invalidName = Kind(1)
    /// A value or message exceeds the limit.
    public static let tooLarge = Kind(5)
    /// The item has expired.
    public static let expired = Kind(10)
    /// The new item already exists.
    public static let alreadyExists = Kind(13)
    /// The agent does not have the vault's key.
    public static let locked = Kind(17)
    /// The passphrase or key opens no slot.
    public static let wrongSecret = Kind(18)
    /// A message or a vault cannot be read.
    public static let damaged = Kind(21)
    /// The agent speaks another version of the protocol.
    public static let otherVersion = Kind(26)
    /// No answer in time; no item was changed.
    public static let busy = Kind(28)
    /// A folder or a process is another user's.
    public static let denied = Kind(29)
    /// A system call failed.
    public static let system = Kind(32)
    /// The change may have been made: the agent did not answer.
    public static let outcomeUnknown = Kind(33)
    /// The agent does not know the call.
    public static let unsupported = Kind(34)
    /// No agent is running.
    public static let noAgent = Kind(39)
    /// Memory ran out.
    public static let memory = Kind(47)
  }

  private let error: WireError

  /// The reason.
  public var kind: Kind { Kind(rawValue: error.code) }
  /// What happened: a clause without capital or full stop.
  public var what: String { error.what }
  /// The item concerned.
  public var key: String? { error.key }
  /// The file or socket concerned.
  public var place: String? { error.place }
  /// What to do next: a sentence without full stop.
  public var cure: String { error.cure }
  /// `errno`, for kind ``Kind/system``.
  public var errno: Int32? { kind == .system ? Int32(clamping: error.first) : nil }

  static let cancelled = ClientError(
    WireError(code: 0, "the task was cancelled while it waited for the agent", cure: "check whether a change was made"))
}

extension ClientError: CustomStringConvertible {
  /// One line: `item 'smtp': the agent has no key (/run/user/1000/coffer/agent.sock); unlock it`. Omits control characters,
  /// which a stranger may send.
  public var description: String {
    var text = key.map { "item '\($0)': " } ?? ""
    text += what
    if let place { text += " (\(place))" }
    if let cause = error.cause { text += ": \(cause)" }
    text += "; \(cure)"
    let kept = text.unicodeScalars.lazy.filter { ![.control, .format].contains($0.properties.generalCategory) }
    return String(String.UnicodeScalarView(kept))
  }
}

extension ClientError: WireFailure {
  package init(_ error: WireError) { self.error = error }

  package static func system(_ code: Int32, _ doing: String, place: String) -> ClientError {
    let kind: Kind =
      switch code {
      case EACCES, EPERM, ELOOP: .denied
      case EAGAIN: .busy
      case ENOMEM: .memory
      default: .system
      }
    return ClientError(
      WireError(
        code: kind.rawValue, "could not \(doing)", place: place, cure: "see the system's message; nothing was changed",
        cause: String(cString: strerror(code)), first: Int(code)))
  }
}
