package import CofferPlatform
internal import CofferVaultRows
internal import Synchronization
internal import SystemPackage

/// Lets one task of the process at a time refresh a credential, without a lock file. All sessions of a router share it.
struct RefreshGate: Hashable, Sendable {
  private static let taken = Mutex<Set<RefreshGate>>([])

  let router: ObjectIdentifier
  /// Empty for all of the router's credentials.
  let credential: String

  func tryEnter() -> Bool { Self.taken.withLock { $0.insert(self).inserted } }
  func leave() { Self.taken.withLock { _ = $0.remove(self) } }
}

/// A turn to refresh, released by ``end()`` or the death of the process.
package struct RefreshTurn: Sendable {
  private let lock: DescriptorLock?
  private let gate: RefreshGate?
  private let turn: (any ServerTurn)?

  private init(lock: DescriptorLock? = nil, gate: RefreshGate? = nil, turn: (any ServerTurn)? = nil) {
    self.lock = lock
    self.gate = gate
    self.turn = turn
  }

  /// Waits for a turn without blocking a thread.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` when others keep it past `limit`; the errors of opening the file;
  ///   `CancellationError`.
  static func take(
    at path: FilePath?, of vault: VaultPlace, _ gate: RefreshGate?, within limit: Duration
  ) async throws -> RefreshTurn {
    var wait = Wait(path: path, gate: gate, limit: limit)
    while true {
      let turn =
        if path == nil, vault.isOnKnownServer {
          try await CallQueues.run(at: "turn at \(vault)", within: nil) { () throws(StoreError) in try attempt(path, vault, gate)
          }
        } else { try attempt(path, vault, gate) }
      switch try wait.next(turn) {
      case .turn(let turn): return turn
      case .pause(let pause): try await Task.sleep(for: pause)
      }
    }
  }

  /// The same for the credential `key` of the vault at `place`, on the calling thread.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` when others keep it past `limit`; the errors of opening the file.
  package static func take(for key: String, beside place: VaultPlace, within limit: Duration) throws(StoreError) -> RefreshTurn {
    let path = try place.path.flatMap { (vault) throws(StoreError) in try RefreshLockFile.path(for: key, of: "", beside: vault) }
    var wait = Wait(path: path, gate: nil, limit: limit)
    while true {
      switch try wait.next(attempt(path, place, wait.gate)) {
      case .turn(let turn): return turn
      case .pause(let pause): usleep(UInt32(pause / .microseconds(1)))
      }
    }
  }

  /// The caller sleeps between attempts in its own way.
  private struct Wait {
    enum Outcome { case turn(RefreshTurn), pause(Duration) }

    let path: FilePath?
    let gate: RefreshGate?
    let limit: Duration
    private let deadline: ContinuousClock.Instant
    // Milliseconds. A renewal's round trip takes about 100 ms, so these pauses cost next to nothing.
    private var longest = 5.0
    private static let longestOfAll = 50.0

    init(path: FilePath?, gate: RefreshGate?, limit: Duration) {
      (self.path, self.gate, self.limit) = (path, gate, limit)
      deadline = .now + limit
    }

    mutating func next(_ turn: RefreshTurn?) throws(StoreError) -> Outcome {
      if let turn {
        if turn.isAlone(at: path) { return .turn(turn) }
        turn.end()
      }
      guard ContinuousClock.now < deadline else { throw late }
      defer { longest = min(longest * 2, Self.longestOfAll) }
      return .pause(.milliseconds(Double.random(in: longest / 2...longest)))
    }

    private var late: StoreError {
      StoreError(
        .busy, "another refresh has taken \(limit.inWords)", place: path?.string,
        cure: "try again; if it stays so, end the process that holds the lock")
    }
  }

  private static func attempt(
    _ path: FilePath?, _ vault: VaultPlace, _ gate: RefreshGate?
  ) throws(StoreError) -> RefreshTurn? {
    if let path { return try DescriptorLock.take(path).map { RefreshTurn(lock: $0) } }
    // Ask no server while this process has the turn.
    guard gate?.tryEnter() ?? true else { return nil }
    guard vault.isOnKnownServer else { return RefreshTurn(gate: gate) }
    do throws(StoreError) {
      if let turn = try vault.serverTurn() { return RefreshTurn(gate: gate, turn: turn) }
    } catch {
      gate?.leave()
      throw error
    }
    gate?.leave()
    return nil
  }

  /// False once someone has removed the locked file, because the next process locks a new one.
  func isAlone(at path: FilePath?) -> Bool {
    guard let lock, let path else { return true }
    return lock.isStill(path)
  }

  /// For asynchronous code: ends a turn at a server on a separate thread.
  func endAside() {
    guard turn != nil else { return end() }
    do throws(StoreError) { try DetachedThread.start(stackBytes: 1 << 20, place: "turn") { end() } } catch { end() }
  }

  package func end() {
    lock?.release()
    turn?.end()
    gate?.leave()
  }
}
