// Changes of the vault.
extension AgentConnection {
  /// A state of the vault. Each lock, unlock and commit by any program changes it.
  public struct Moment: Sendable, Equatable {
    /// The unlocked vault's id, of 16 bytes; nil while it is locked.
    public var vault: [UInt8]?
    /// Its last commit.
    public var generation: UInt64
    /// When the agent last locked or unlocked it, in nanoseconds since the machine's start.
    public var since: UInt64
  }

  /// Waits up to half a minute for a moment after `known`, and returns the current one. Does not count as a use of the vault.
  ///
  /// - Parameter known: the last moment; nil returns the current one at once.
  public func moment(after known: Moment?) throws(ClientError) -> Moment { try moment(after: known, on: line) }

  func moment(after known: Moment?, on line: AgentLine<SecretBuffer>) throws(ClientError) -> Moment {
    try line.ask(.watch) { (writer) throws(ClientError) in
      try writer.put(known != nil)
      guard let known else { return }
      try writer.put(known.vault ?? [])
      try writer.put(known.generation)
      try writer.put(known.since)
    } answer: { (fields) throws(ClientError) in
      Moment(vault: try fields.id(), generation: try fields.number(), since: try fields.number())
    }
  }

  /// The current moment, then later ones; only the newest is kept. A separate thread and connection wait for them until the
  /// sequence ends, with an error or with its task.
  public func changes() -> AsyncThrowingStream<Moment, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let line = Self.line(places, isEndable: true)
      continuation.onTermination = { _ in line.end() }
      let isStarted = DetachedCall.start { [self] in
        var last: Moment?
        do throws(ClientError) {
          while true {
            let next = try moment(after: last, on: line)
            guard next != last else { continue }
            last = next
            if case .terminated = continuation.yield(next) { return }
          }
        } catch { continuation.finish(throwing: error) }
      }
      if !isStarted { continuation.finish(throwing: ClientError.system(EAGAIN, "start a thread", place: line.address.text)) }
    }
  }
}
