internal import CofferPlatform
internal import CofferSync
internal import CofferVault
internal import FoundationEssentials
internal import Synchronization
internal import SystemPackage

/// The syncs of a vault that the agent holds: those that a client asks for, and those with each remote that is marked for it.
///
/// A sync runs on a thread of its own, and the vault answers clients meanwhile. A lock of the vault ends it at its next look at
/// the vault, with all that it has committed.
final class VaultSyncs: Sendable {
  private struct Remote {
    /// The time of the next automatic sync, if nothing changes before.
    var due: Duration
    var failures = 0
    /// After an error that waits for a person: the time of the last sync by then.
    var stopped: Date?
  }

  private struct State {
    var looked = Duration.zero
    /// The vault's last commit at that time, and the first and last time at which it was a new one.
    var generation: UInt64?
    var changes: (first: Duration, last: Duration)?
    var remotes: [String: Remote] = [:]
    var isRunning = false, isBlind = false
    var news: [SyncOutcome] = []

    /// Those of `remotes` to sync with at `now`, with the vault at the commit `found`.
    mutating func due(_ automatic: [SyncStatus], _ found: UInt64, _ now: Duration) -> [SyncStatus] {
      looked = now
      if let generation, found != generation { changes = (changes?.first ?? now, now) }
      generation = found
      let isRested = changes.map { min($0.last + VaultSyncs.rest, $0.first + VaultSyncs.longestRest) <= now } ?? false
      if isRested { changes = nil }
      let due = automatic.filter { status in
        var remote = remotes[status.remote] ?? Remote(due: now)
        if let stopped = remote.stopped, stopped != status.synced { remote = Remote(due: now) }
        remotes[status.remote] = remote
        return remote.stopped == nil && (remote.due <= now || remote.failures == 0 && isRested)
      }
      (isRunning, isBlind) = (!due.isEmpty, false)
      return due
    }

    mutating func tell(_ outcome: SyncOutcome) { news = news.suffix(mostNews - 1) + [outcome] }
  }

  /// From the last change of a person at work, and at most from the first one.
  private static let rest = Duration.seconds(30), longestRest = Duration.seconds(300)
  /// For changes of other machines.
  private static let period = Duration.seconds(900)
  /// After the first failure. It doubles up to the period.
  private static let pause = Duration.seconds(60)
  /// Added to each pause, so that machines that failed at one time do not meet again.
  private static let jitter = Duration.seconds(60)
  /// Each accepted connection looks.
  private static let shortestLook = Duration.seconds(1)
  /// A remote that cannot be reached is told of then, an hour after the first failure.
  private static let toldFailures = 8
  /// The most untold outcomes.
  private static let mostNews = 64

  private let pins: FilePath?, caches: FilePath
  private let clock: AgentClock
  private let state = Mutex(State())
  /// One sync at a time: the others wait, however long a remote takes.
  private let turn = Mutex(())

  init(pins: FilePath?, caches: FilePath, clock: AgentClock) { (self.pins, self.caches, self.clock) = (pins, caches, clock) }

  /// The sync that a client asks for, with a remote that this machine has synced with before. A program that reaches the socket
  /// may be shut out of all other places: the agent carries nothing there for it, and runs no other program.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/notFound`` for another remote.
  func sync(
    _ request: SyncRequest, of vault: borrowing UnlockedVault
  ) throws(StoreError) -> @Sendable () throws(StoreError) -> SyncReport {
    guard let pins, try VaultSync.remotes(of: vault.id, pins: pins).contains(where: { $0.remote == request.remote }) else {
      throw StoreError(
        .notFound, "this machine has not synced with it before", place: request.remote,
        cure: "unlock the vault without the agent for the first sync", remedy: .leaveAgentOut)
    }
    return vault.lent { [self] (vault) throws(StoreError) in
      do throws(StoreError) {
        let report = try run(request.remote, request.options, vault, pins)
        // The next look begins anew with it.
        if !request.options.isTrial { state.withLock { $0.remotes[request.remote] = nil } }
        return report
      } catch {
        guard error.kind == .closed else { throw error }
        throw StoreError(
          .locked, "the vault was locked during the sync", place: request.remote, cure: "unlock it, and sync again",
          remedy: .unlockAgent)
      }
    }
  }

  private func run(
    _ remote: String, _ options: SyncOptions, _ vault: borrowing UnlockedVault, _ pins: FilePath
  ) throws(StoreError) -> SyncReport {
    let sync = try VaultSync(remote, pins: pins, caches: caches)
    return try turn.withLock { (_) throws(StoreError) in try sync.run(vault, options) }
  }

  // MARK: Automatic ones

  /// After an unlock each remote is due.
  func begin() {
    state.withLock { state in
      (state.looked, state.generation, state.changes) = (.zero, nil, nil)
      state.remotes = state.remotes.filter { $0.value.stopped != nil }
    }
  }

  /// Begins the syncs that are due, and returns whether there are any.
  @discardableResult
  func look(in vault: borrowing UnlockedVault) -> Bool {
    let now = clock.sinceBoot()
    guard let pins, state.withLock({ !$0.isRunning && now - $0.looked >= Self.shortestLook }) else { return false }
    do throws(StoreError) {
      let remotes = try VaultSync.remotes(of: vault.id, pins: pins).filter(\.isAutomatic)
      // A server is not asked for it every few seconds: the agent accepts no client meanwhile.
      let generation = remotes.isEmpty || vault.place.path == nil ? 0 : try vault.generation()
      let due = state.withLock { $0.due(remotes, generation, now) }
      guard !due.isEmpty else { return false }
      let work = vault.lent { [self] (vault) throws(StoreError) in
        for remote in due {
          note(
            remote,
            Result { () throws(StoreError) in
              try run(remote.remote, SyncOptions(machine: ProcessInfo.processInfo.hostName), vault, pins)
            })
        }
      }
      try DetachedThread.start(stackBytes: Connections.stackBytes, place: "agent") { [self] in
        // Each sync notes its own error. This one is of a vault that was locked meanwhile: the next unlock begins anew.
        do throws(StoreError) { try work() } catch {}
        state.withLock { $0.isRunning = false }
      }
      return true
    } catch {
      state.withLock { state in
        // The memory of a remote is unreadable: no automatic sync until a person has mended it.
        if error.kind == .damaged, !state.isBlind { state.tell(SyncOutcome(pins.string, .failure(error))) }
        (state.isRunning, state.isBlind) = (false, error.kind == .damaged)
      }
      return false
    }
  }

  /// Whether an automatic sync runs.
  var isRunning: Bool { state.withLock { $0.isRunning } }

  private func note(_ remote: SyncStatus, _ result: Result<SyncReport, StoreError>) {
    let now = clock.sinceBoot(), jitter = Self.jitter * clock.part()
    state.withLock { state in
      var next = Remote(due: now + Self.period + jitter), isNews = false
      switch result {
      case .success(let report): isNews = report.taken.contains { !$0.changes.conflicts.isEmpty }
      case .failure(let error):
        // Locked: the next unlock begins anew.
        guard error.kind != .closed else { return }
        next.failures = (state.remotes[remote.remote]?.failures ?? 0) + 1
        next.due = now + min(Self.pause * (1 << min(next.failures - 1, 8)), Self.period) + jitter
        next.stopped = error.waitsForPerson ? remote.synced : nil
        isNews = next.failures == (error.passes ? Self.toldFailures : 1)
      }
      state.remotes[remote.remote] = next
      if isNews { state.tell(SyncOutcome(remote.remote, result)) }
    }
  }

  /// The news of automatic syncs for a person, once.
  func takeNews() -> [SyncOutcome] {
    state.withLock { state in
      defer { state.news = [] }
      return state.news
    }
  }
}

extension StoreError {
  /// Another try before that would only ask again.
  fileprivate var waitsForPerson: Bool {
    [.rolledBack, .forked, .conflict, .locked, .tampered, .replaced, .damaged].contains(kind)
  }

  /// Whether it usually ends by itself, as when a laptop is on a train.
  fileprivate var passes: Bool {
    if case .io = kind { return true }
    return kind == .unreachable || kind == .busy
  }
}
