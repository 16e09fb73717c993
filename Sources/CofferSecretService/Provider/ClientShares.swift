/// Each client's share of the pending calls: endless calls must not keep others from the vault.
struct ClientShares {
  private struct Share {
    var calls = 0, bytes = 0
  }
  private var shares: [String: Share] = [:]

  /// The most calls of a client that wait for the vault: a sixteenth of all. With an open vault more may be pending, for
  /// clients that ask for many items at once.
  static let mostWaiting = 1024
  /// The most bytes in a client's calls: 32 of the largest secrets. A waiting call has its secret twice, in its message and
  /// in guarded memory.
  static let mostBytes = 64 << 20

  /// - Parameter waits: whether the call will wait for the vault.
  /// - Throws: ``Refusal`` `LimitsExceeded` if the client's share is used up.
  func check(_ message: BusMessage, waits: Bool) throws(Refusal) {
    let share = shares[message.sender] ?? Share()
    guard share.bytes + message.bytesRead <= Self.mostBytes else {
      throw .limit("the client's calls hold \(Self.mostBytes >> 20) MiB at most: ask again once some are answered")
    }
    guard !waits || share.calls < Self.mostWaiting else { throw Self.tooManyWait }
  }

  /// The same for a pending call that must now wait for the vault.
  func checkWaiting(_ call: Call) throws(Refusal) {
    guard let share = shares[call.client], share.calls <= Self.mostWaiting else { throw Self.tooManyWait }
  }

  private static var tooManyWait: Refusal { .limit("\(mostWaiting) calls of the client wait for the vault") }

  mutating func add(_ call: Call) {
    var share = shares[call.client] ?? Share()
    share.calls += 1
    share.bytes += call.bytes
    shares[call.client] = share
  }

  mutating func remove(_ call: Call) {
    guard var share = shares[call.client] else { return }
    share.calls -= 1
    share.bytes -= call.bytes
    shares[call.client] = share.calls == 0 ? nil : share
  }
}

/// The end of each program's wait for the vault: all its calls in a row share the patience of one. After an error about a
/// locked vault, a program tries the next call, and its user waits for all.
struct ProgramWaits {
  private var ends: [Int32: ContinuousClock.Instant] = [:]

  /// The end of the wait of a call of `program`. For as long afterwards as it has waited, its calls are refused at once.
  mutating func end(of program: Int32, _ patience: Duration, now: ContinuousClock.Instant = .now) -> ContinuousClock.Instant {
    ends = ends.filter { $0.value + patience > now }
    let end = ends[program] ?? now + patience
    ends[program] = end
    return end
  }

  mutating func clear() { ends = [:] }
}
