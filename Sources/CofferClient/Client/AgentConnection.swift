internal import Synchronization

/// Asks the user's agent for the items of one vault. Threads may share it; it reconnects when necessary.
///
/// It needs no cipher and no database, because the agent has the key. While the vault is locked, calls for items throw
/// ``ClientError/Kind/locked``; without an agent they throw ``ClientError/Kind/noAgent``. In both cases nothing was done. A
/// change without an answer throws ``ClientError/Kind/outcomeUnknown``.
///
/// Each call waits at most 2 s to connect, 5 s for a greeting, 45 s for an answer to begin (120 s to unlock), and
/// 120 s for the rest of it. In asynchronous code, a call that has queued behind others for 45 s fails unsent.
public final class AgentConnection: Sendable {
  let line: AgentLine<SecretBuffer>
  let places: AgentPlaces
  let queue = CallQueue()

  init(_ places: AgentPlaces) {
    self.places = places
    line = Self.line(places, isEndable: false)
  }

  static func line(_ places: AgentPlaces, isEndable: Bool) -> AgentLine<SecretBuffer> {
    AgentLine(AgentAddress(folder: places.folder), isEndable: isEndable) { (writer) throws(ClientError) in
      try writer.put(places.vault)
      try writer.put(places.expected)
      try writer.put(places.leastGeneration)
      try writer.put(UInt32(clamping: places.invitations.count))
      for invitation in places.invitations { try writer.put(invitation) }
      // No identity's invitations, and no other process.
      try writer.put(0 as UInt32)
      try writer.put(false)
    }
  }

  /// A connection to the agent of a folder, for one vault.
  ///
  /// - Parameters:
  ///   - folder: the agent's run folder.
  ///   - vault: the vault's path from `/`, or its URL.
  public convenience init(folder: String, vault: String) {
    self.init(AgentPlaces(folder: AgentPlaces.bytes(folder), vault: vault))
  }

  /// A connection to the user's agent for the user's vault, where the command line and ``/Coffer/Places`` find them.
  ///
  /// - Parameter variable: looks up an environment variable; by default in this process.
  /// - Throws: ``ClientError/Kind/denied`` without a home folder; ``ClientError/Kind/invalidName`` for a malformed
  ///   `COFFER_EXPECT_VAULT`; if that is a file, also `.system`, and `.denied` if another user can
  ///   change it.
  public static func standard(
    _ variable: (String) -> String? = { name in getenv(name).map { String(cString: $0) } }
  ) throws(ClientError) -> AgentConnection {
    AgentConnection(try AgentPlaces.standard(variable))
  }
}

// The agent.
extension AgentConnection {
  /// Whether an agent listens.
  ///
  /// - Throws: ``ClientError/Kind/denied`` if its folder or process is another user's.
  public func isRunning() throws(ClientError) -> Bool { try line.isAnswered() }

  /// The state of an agent and of the connection's vault.
  public struct Status: Sendable, Equatable {
    /// The agent's process id.
    public let process: Int32
    /// The vault's place.
    public let vault: String
    /// The vault's id, of 16 bytes; nil while it is locked.
    public let unlocked: [UInt8]?
    /// Why it is locked; empty if it is not.
    public let whyLocked: String
    /// Seconds until it locks: if it is not used, and at the latest.
    public let idleLeft: UInt64, lifetimeLeft: UInt64
  }

  /// The agent's state.
  public func status() throws(ClientError) -> Status {
    try line.ask(.status) { (fields) throws(ClientError) in try fields.status() }
  }

  /// Whether the agent does not have the vault's key.
  public func isLocked() throws(ClientError) -> Bool { try status().unlocked == nil }

  /// Makes the agent unlock the vault.
  ///
  /// - Parameters:
  ///   - credentials: at most one of each kind.
  ///   - idle: seconds without a use until it locks again; nil for the agent's own limit.
  ///   - lifetime: seconds until it locks at the latest; nil for the agent's own limit.
  /// - Throws: ``ClientError/Kind/wrongSecret``; ``ClientError/Kind/busy`` after many wrong secrets.
  @discardableResult
  public func unlock(
    with credentials: [AgentCredential], idle: UInt64? = nil, lifetime: UInt64? = nil
  ) throws(ClientError) -> Status {
    var given: [SecretBuffer?] = [nil, nil, nil, nil]
    for credential in credentials {
      switch credential {
      case .passphrase(let secret): given[0] = secret
      case .keyFile(let secret): given[1] = secret
      case .recoveryCode(let secret): given[2] = secret
      case .identity(let secret): given[3] = secret
      }
    }
    return try line.ask(.unlock, isWrite: true, within: .seconds(120)) { (writer) throws(ClientError) in
      for secret in given {
        try writer.put(secret != nil)
        if let secret { try writer.put(secret) }
      }
      // Zero is the agent's own limit.
      for time in [idle, lifetime] { try writer.put(time.map { max(1, $0) } ?? 0) }
    } answer: { (fields) throws(ClientError) in
      try fields.status()
    }
  }

  /// Makes the agent wipe the vault's key.
  public func lock() throws(ClientError) { try line.ask(.lock) { (_) throws(ClientError) in } }
}

extension WireReader where Failure == ClientError {
  mutating func status() throws(ClientError) -> AgentConnection.Status {
    let (process, vault) = (Int32(bitPattern: try number()), try text())
    let (unlocked, why) = (try id(), try text())
    let (_, _, idle, life) = (try number(UInt64.self), try number(UInt64.self), try number(UInt64.self), try number(UInt64.self))
    for _ in 0..<(try count(ofAtLeast: 24)) {
      _ = (try text(), try id(), try number(UInt64.self), try number(UInt64.self))
    }
    _ = (try number(UInt32.self), try number(UInt64.self))
    return AgentConnection.Status(
      process: process, vault: vault, unlocked: unlocked, whyLocked: why, idleLeft: idle, lifetimeLeft: life)
  }
}
