/// A connected local socket for frames, with time limits that no peer can extend.
package struct LocalSocket: ~Copyable {
  package let descriptor: Int32

  package init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// How a frame announces the length of its body, and which lengths are taken.
  package struct Framing: Sendable {
    let isBigEndian: Bool, least: Int, most: Int

    package init(isBigEndian: Bool, least: Int, most: Int) {
      (self.isBigEndian, self.least, self.most) = (isBigEndian, least, most)
    }

    /// A version and a kind come first.
    package static let coffer = Framing(isBigEndian: false, least: 2, most: AgentProtocol.largestBody)
  }

  package enum Arrival<Memory: WireMemory & ~Copyable>: ~Copyable {
    case frame(WireFrame<Memory>)
    /// The peer closed the connection between two frames.
    case closed
    /// Nothing began in time.
    case silence
  }

  /// Waits up to `patience` for a frame to begin, then up to `whole` for all of it.
  ///
  /// - Throws: `.tooShort` and `.tooLarge` for the announced length, `.slow`, `.gone` (closed within a frame), `.system`,
  ///   `.unmade`.
  package func receive<Memory: WireMemory & ~Copyable>(
    into memory: Memory.Type, begins patience: Duration, whole: Duration, framing: Framing = .coffer
  ) throws(TransportFailure) -> Arrival<Memory> {
    var header: UInt32 = 0
    guard try isReady(Int16(POLLIN), until: .now + patience) else { return .silence }
    let deadline = ContinuousClock.now + whole
    let got = try withUnsafeMutableBytes(of: &header) { (raw) throws(TransportFailure) in try fill(raw, deadline, mayEnd: true) }
    guard got else { return .closed }
    let count = Int(framing.isBigEndian ? UInt32(bigEndian: header) : UInt32(littleEndian: header))
    guard count >= framing.least else { throw .tooShort }
    guard count <= framing.most else { throw .tooLarge(bytes: count) }
    return .frame(WireFrame(body: try body(of: count, deadline)))
  }

  private func body<Memory: WireMemory & ~Copyable>(
    of count: Int, _ deadline: ContinuousClock.Instant
  ) throws(TransportFailure) -> Memory {
    var bytes: Memory = try Self.zeros(min(count, AgentProtocol.trustedBody))
    var have = 0
    while true {
      let start = have
      try bytes.withUnsafeMutableBytes { (raw) throws(TransportFailure) in
        _ = try fill(UnsafeMutableRawBufferPointer(rebasing: raw[start...]), deadline, mayEnd: false)
      }
      have = bytes.count
      guard have < count else { return bytes }
      var larger: Memory = try Self.zeros(min(count, have * 4))
      bytes.withUnsafeBytes { old in larger.withUnsafeMutableBytes { $0.copyMemory(from: old) } }
      bytes = larger
    }
  }

  private static func zeros<Memory: WireMemory & ~Copyable>(_ count: Int) throws(TransportFailure) -> Memory {
    do throws(Memory.WireFailure) { return try Memory.zeros(count) } catch { throw .unmade(error) }
  }

  /// Fills `buffer`; false if the peer closed before its first byte, and `mayEnd`.
  private func fill(
    _ buffer: UnsafeMutableRawBufferPointer, _ deadline: ContinuousClock.Instant, mayEnd: Bool
  ) throws(TransportFailure) -> Bool {
    var have = 0
    while have < buffer.count {
      let got = recv(descriptor, buffer.baseAddress.map { $0 + have }, buffer.count - have, Int32(MSG_DONTWAIT))
      if got > 0 {
        have += got
      } else if got == 0 {
        guard mayEnd, have == 0 else { throw .gone }
        return false
      } else if errno == EAGAIN || errno == EWOULDBLOCK {
        guard try isReady(Int16(POLLIN), until: deadline) else { throw .slow }
      } else if errno == ECONNRESET {
        guard mayEnd, have == 0 else { throw .gone }
        return false
      } else if errno != EINTR {
        throw .system(doing: "read from the agent's socket", code: errno)
      }
    }
    return true
  }

  /// Sends all of `frame` within `limit`.
  ///
  /// - Throws: `.slow`, `.gone`, `.system`.
  package func send(_ frame: UnsafeRawBufferPointer, within limit: Duration) throws(TransportFailure) {
    var count = 0
    try send(frame, within: limit, count: &count)
  }

  /// Counts the bytes sent.
  package func send(_ frame: UnsafeRawBufferPointer, within limit: Duration, count: inout Int) throws(TransportFailure) {
    let deadline = ContinuousClock.now + limit
    var rest = frame
    while !rest.isEmpty {
      let sent = coffer_send(descriptor, rest.baseAddress, rest.count)
      if sent >= 0 {
        count += sent
        rest = UnsafeRawBufferPointer(rebasing: rest[sent...])
      } else if errno == EAGAIN || errno == EWOULDBLOCK {
        guard try isReady(Int16(POLLOUT), until: deadline) else { throw .slow }
      } else if errno == EPIPE || errno == ECONNRESET {
        throw .gone
      } else if errno != EINTR {
        throw .system(doing: "write to the agent's socket", code: errno)
      }
    }
  }

  /// Whether the peer has closed the connection or sent something unasked, so that it is unusable.
  package var isSpent: Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&waiting, 1, 0) != 0
  }

  /// Whether the peer has closed the connection and cannot receive an answer.
  package var isDeserted: Bool { Self.isDeserted(descriptor) }

  /// The same for a socket that is lent elsewhere.
  package static func isDeserted(_ descriptor: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&waiting, 1, 0) > 0 && waiting.revents & Int16(POLLHUP | POLLERR) != 0
  }

  private func isReady(_ events: Int16, until deadline: ContinuousClock.Instant) throws(TransportFailure) -> Bool {
    while true {
      let left = deadline - .now
      let (seconds, attoseconds) = left.components
      guard seconds >= 0, attoseconds >= 0 else { return false }
      var waiting = pollfd(fd: descriptor, events: events, revents: 0)
      let milliseconds = min(seconds, 3600) * 1000 + attoseconds / 1_000_000_000_000_000 + 1
      let ready = poll(&waiting, 1, Int32(milliseconds))
      if ready > 0 { return true }
      guard ready == 0 || errno == EINTR else {
        throw .system(doing: "wait for the agent's socket", code: errno)
      }
    }
  }
}
