/// What each client has of the calls that are being answered: one that never stops calling keeps no other from the vault.
struct ClientShares {
  private struct Share {
    var calls = 0, bytes = 0
  }
  private var shares: [String: Share] = [:]

  /// Calls of one client that wait for the vault, at most: a sixteenth of all. One that is answered from an open vault may have
  /// more under way, as those do that ask for each of many items at once.
  static let mostWaiting = 1024
  /// Bytes that the calls of one client hold, at most: 32 of the largest secrets. While a call waits, its secret is there twice,
  /// in its message and in guarded memory.
  static let mostBytes = 64 << 20

  /// - Parameter waits: whether the call is to wait for the vault.
  /// - Throws: ``Refusal`` `LimitsExceeded` where the client has its share already.
  func check(_ message: BusMessage, waits: Bool) throws(Refusal) {
    let share = shares[message.sender] ?? Share()
    guard share.bytes + message.bytesRead <= Self.mostBytes else {
      throw .limit("the client's calls hold \(Self.mostBytes >> 20) MiB at most: ask again once some are answered")
    }
    guard !waits || share.calls < Self.mostWaiting else { throw Self.tooManyWait }
  }

  /// The same of a call that was under way when the vault was locked, and is to wait now.
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

/// Until when each program waits for the vault: however many calls it makes one after the other, it has the patience of one. A
/// program that is told that the vault is locked tries the next call, and its person waits for all of them.
struct ProgramWaits {
  private var ends: [Int32: ContinuousClock.Instant] = [:]

  /// Until when a call of `program` may wait. For as long as it has waited, its next calls are refused at once; then it may wait
  /// again.
  mutating func end(of program: Int32, _ patience: Duration, now: ContinuousClock.Instant = .now) -> ContinuousClock.Instant {
    ends = ends.filter { $0.value + patience > now }
    let end = ends[program] ?? now + patience
    ends[program] = end
    return end
  }

  /// Forgets them all: the vault is unlocked.
  mutating func clear() { ends = [:] }
}
