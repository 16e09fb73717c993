internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import Synchronization
internal import SystemPackage

/// Unlocked until a request to lock, the end of its time, a suspension, or a replacement of its file.
final class AgentVault: Sendable {
  private struct Unlocked: ~Copyable {
    let vault: UnlockedVault
    let file: FileIdentity?
    /// The times of the unlock and the last use, since boot; the time in suspension by then.
    let since: Duration
    var lastUse: Duration
    let suspended: Duration
    /// The limits without use, and in any case.
    let idle: Duration, lifetime: Duration
    /// The number of requests to lock by then.
    let locks: Int
  }
  private struct State: ~Copyable {
    var unlocked: Unlocked?
    var whyLocked = "nothing has unlocked it yet"
    /// When it was last locked or unlocked, since boot.
    var since = Duration.zero
  }
  /// Outside of running calls.
  private struct Locking {
    /// Their number: an earlier request to unlock does not open the vault after one of them.
    var count = 0
    var reason = ""
    /// Nothing opens the vault after the agent's end.
    var hasEnded = false
  }

  let settings: AgentSettings
  private let clock: AgentClock
  private let state = Mutex(State())
  private let locking = Mutex(Locking())
  private let hasKey = Atomic<Bool>(false)
  let watchers: Watchers
  let uses: UsesLog
  let keyring: Keyring
  let syncs: VaultSyncs

  init(_ settings: AgentSettings, clock: AgentClock = .machine, watchers: Watchers = Watchers()) {
    self.settings = settings
    self.clock = clock
    self.watchers = watchers
    uses = UsesLog(settings.uses, now: clock.sinceBoot)
    keyring = Keyring(uses: uses, clock: clock)
    syncs = VaultSyncs(pins: settings.options.pins, caches: settings.caches, clock: clock)
  }

  private var place: String { settings.vault.description }

  /// Whether it is unlocked, even if its time is over. Does not wait for requests.
  var isUnlocked: Bool { hasKey.load(ordering: .acquiring) }

  /// Runs `body` with the vault.
  ///
  /// - Parameter isUse: whether it prolongs the idle time.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/locked``, with the reason.
  func use<Result: Sendable>(
    isUse: Bool = true, _ body: (borrowing UnlockedVault) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try state.withLock { (state) throws(StoreError) in
      lapse(&state)
      try checkFile(&state)
      if isUse { state.unlocked?.lastUse = clock.sinceBoot() }
      do throws(StoreError) {
        switch state.unlocked {
        case .none: throw holdsNoKey(state)
        case .some(let unlocked): return try body(unlocked.vault)
        }
      } catch {
        // The vault is unusable: its slot was removed, or its key changed under a recipient.
        if state.unlocked != nil, [.locked, .closed, .moved].contains(error.kind) { drop(&state, error.what) }
        // A sync has found out before.
        throw error.kind == .closed ? holdsNoKey(state) : error
      }
    }
  }

  private func holdsNoKey(_ state: borrowing State) -> StoreError {
    StoreError(
      .locked, "the agent holds no key: \(state.whyLocked)", place: place,
      cure: "unlock it with AgentClient.unlock(with:), then try again", remedy: .unlockAgent)
  }

  /// Unlocks the vault, and begins a new lifetime even if it is unlocked.
  ///
  /// - Parameter times: its limits; the agent's own by default.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/locked`` after a request to lock meanwhile; the errors of opening and
  ///   unlocking.
  func unlock(
    with credentials: consuming Credentials, _ expectation: Greeting, _ times: UnlockTimes, _ asked: Asked
  ) throws(StoreError) {
    // The agent's own expectations first.
    var locked = try LockedVault.open(settings.vault, options: settings.options)
    locked.options = settings.options.narrowed(by: expectation)
    (locked.options.keepsIndex, locked.options.isBrief) = (true, false)
    locked.options.withholdsKeys = true
    try hold(locked.unlock(with: credentials), times, asked)
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/wrongSecret`` unless `passphrase` opens the held vault;
  ///   ``/CofferPlatform/StoreError/Kind/locked``; the errors of opening it.
  func compare(_ passphrase: SecretForm) throws(StoreError) {
    var credentials = Credentials()
    credentials.passphrase = try passphrase.bytes.withUnsafeBytes { (raw) throws(StoreError) in try SecretBytes.copy(of: raw) }
    try requireHeld(LockedVault.open(settings.vault, options: settings.options).unlock(with: credentials))
  }

  /// Requires the held vault's id and key of a vault that was opened at its place: another one may have been there meanwhile,
  /// with a passphrase of its own.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/wrongSecret``, ``/CofferPlatform/StoreError/Kind/locked``.
  func requireHeld(_ opened: borrowing UnlockedVault) throws(StoreError) {
    let found = try opened.invitation()
    // The mark of a key reveals nothing of it.
    guard try use(isUse: false, { (vault) throws(StoreError) in try vault.invitation() }) == found else {
      throw StoreError(.wrongSecret, "the passphrase opens another vault than the unlocked one", place: place, cure: "try again")
    }
  }

  /// The state at the request to unlock. Hashing a passphrase may wait long for its turn: later requests to lock count.
  struct Asked {
    fileprivate let locks: Int
    fileprivate let suspended: Duration
  }

  var asked: Asked { Asked(locks: locking.withLock { $0.count }, suspended: clock.suspended) }

  private func hold(_ vault: consuming UnlockedVault, _ times: UnlockTimes, _ asked: Asked) throws(StoreError) {
    let file = try Self.identity(vault.place)
    let now = clock.sinceBoot()
    let held = Unlocked(
      vault: vault, file: file, since: now, lastUse: now, suspended: asked.suspended, idle: times.idle ?? settings.idle,
      lifetime: times.lifetime ?? settings.lifetime, locks: asked.locks)
    var next = Optional(held)
    try state.withLock { (state) throws(StoreError) in
      guard locking.withLock({ $0.count == asked.locks && !$0.hasEnded }) else {
        throw StoreError(
          .locked, "the agent was locked while it unlocked the vault", place: place,
          cure: "AgentClient.unlock(with:) again, if it is to be open", remedy: .unlockAgent)
      }
      state.unlocked = next.take()
      keyring.begin()
      syncs.begin()
      switch state.unlocked {
      case .some(let held): uses.begin(in: held.vault)
      case .none: break
      }
      turn(&state)
      hasKey.store(true, ordering: .releasing)
    }
    watchers.tell()
  }

  /// The state that watchers compare. Not a use of the vault; requests for items report errors.
  var moment: AgentMoment {
    state.withLock { state in
      lapse(&state)
      var moment = AgentMoment()
      do throws(StoreError) {
        try checkFile(&state)
        switch state.unlocked {
        case .none: break
        case .some(let unlocked):
          moment.generation = try unlocked.vault.generation()
          moment.vault = unlocked.vault.id
        }
      } catch { moment = AgentMoment() }
      moment.since = UInt64(clamping: Int64(state.since / .nanoseconds(1)))
      return moment
    }
  }

  /// The file at a place; nil if there is none, or for a place on a server.
  private static func identity(_ place: VaultPlace) throws(StoreError) -> FileIdentity? {
    guard let path = place.path else { return nil }
    return try Stat.ofLink(path)?.identity
  }

  /// Nil while the vault is locked.
  var unlockedPlace: VaultPlace? {
    state.withLock { state in
      switch state.unlocked {
      case .some(let unlocked): unlocked.vault.place
      case .none: nil
      }
    }
  }

  /// Reads part of the index, which is no use of the vault; false once nothing is left.
  ///
  /// The next request reports any error.
  func readAhead() -> Bool {
    state.withLock { state in
      lapse(&state)
      switch state.unlocked {
      case .none: return false
      case .some(let unlocked):
        do throws(StoreError) { return try !unlocked.vault.prepareIndex(most: Self.readAtOnce) } catch { return false }
      }
    }
  }

  /// Buckets read at once, while no request is answered: 3 ms among 100 000 items.
  private static let readAtOnce = 16

  /// Waits for running calls and wipes the keys. An unlock in progress will open nothing.
  func lock(because reason: String) { if !beginLocking(because: reason) { finishLocking() } }

  func end(_ reason: String) { if !beginLocking(because: reason, forGood: true) { finishLocking() } }

  /// Locks the vault now, or before the next call.
  ///
  /// - Returns: false while a call runs, which keeps the keys: see ``finishLocking()``.
  func beginLocking(because reason: String, forGood: Bool = false) -> Bool {
    locking.withLock { locking in
      locking.count += 1
      locking.reason = reason
      if forGood { locking.hasEnded = true }
    }
    let isDone = state.withLockIfAvailable { state in
      lapse(&state)
      return true
    }
    return isDone ?? false
  }

  /// Waits for running calls, and wipes the keys after earlier requests to lock.
  func finishLocking() { state.withLock { state in lapse(&state) } }

  /// Locks the vault when its time is over, removes due remains from its file, and returns the time left; nil once it is
  /// locked. The time does not run during a request, which is a use of the vault.
  func lapse() -> Duration? {
    let left = state.withLockIfAvailable { state in
      lapse(&state)
      keepUp(state)
      return remaining(state).map { min($0.idle, $0.life) }
    }
    return left ?? .seconds(1)
  }

  func describe() -> (
    id: VaultID?, whyLocked: String, limits: (idle: Duration, lifetime: Duration), idle: Duration, life: Duration
  ) {
    state.withLock { state in
      lapse(&state)
      let id: VaultID? =
        switch state.unlocked {
        case .some(let unlocked): unlocked.vault.id
        case .none: nil
        }
      let left = remaining(state)
      return (id, id == nil ? state.whyLocked : "", limits(state), left?.idle ?? .zero, left?.life ?? .zero)
    }
  }

  /// For a client of another vault; nil while this one is locked.
  var held: AgentStatus.Held? {
    let held = describe()
    return held.id.map { id in
      AgentStatus.Held(vault: settings.vault, id: id, idleLeft: max(.zero, held.idle), lifetimeLeft: max(.zero, held.life))
    }
  }

  private func remaining(_ state: borrowing State) -> (idle: Duration, life: Duration)? {
    let now = clock.sinceBoot()
    switch state.unlocked {
    case .some(let held): return (held.idle - (now - held.lastUse), held.lifetime - (now - held.since))
    case .none: return nil
    }
  }

  /// The next request reports any error.
  private func keepUp(_ state: borrowing State) {
    switch state.unlocked {
    case .none: return
    case .some(let held):
      keyring.lapse(in: held.vault)
      uses.keep(in: held.vault)
      syncs.look(in: held.vault)
      do throws(StoreError) { try held.vault.removeOldBytes() } catch { return }
    }
  }

  private func limits(_ state: borrowing State) -> (idle: Duration, lifetime: Duration) {
    switch state.unlocked {
    case .some(let held): (held.idle, held.lifetime)
    case .none: (settings.idle, settings.lifetime)
    }
  }

  private func lapse(_ state: inout State) {
    guard let left = remaining(state) else { return }
    let suspended: Duration, locks: Int?
    switch state.unlocked {
    case .some(let held): (suspended, locks) = (clock.suspended - held.suspended, held.locks)
    case .none: (suspended, locks) = (.zero, nil)
    }
    let locking = locking.withLock { $0 }
    if locks != locking.count {
      drop(&state, locking.reason)
    } else if suspended > AgentClock.suspensionTolerance {
      drop(&state, "the machine was suspended")
    } else if left.life <= .zero {
      drop(&state, "its lifetime of \(limits(state).lifetime.words) ended")
    } else if left.idle <= .zero {
      drop(&state, "it was not used for \(limits(state).idle.words)")
    }
  }

  /// The open file stays readable after a replacement, and could answer for hours.
  private func checkFile(_ state: inout State) throws(StoreError) {
    let place: VaultPlace, file: FileIdentity?
    switch state.unlocked {
    case .some(let held): (place, file) = (held.vault.place, held.file)
    case .none: return
    }
    if try Self.identity(place) != file { drop(&state, "the vault file was moved or replaced") }
  }

  /// Records a locking or unlocking; all times differ, however coarse the clock.
  private func turn(_ state: inout State) { state.since = max(clock.sinceBoot(), state.since + .nanoseconds(1)) }

  private func drop(_ state: inout State, _ reason: String) {
    switch state.unlocked {
    case .some(let held):
      keyring.end(in: held.vault)
      uses.close(in: held.vault)
    case .none: break
    }
    state.unlocked = nil
    turn(&state)
    hasKey.store(false, ordering: .releasing)
    state.whyLocked = reason
    watchers.tell()
  }
}

extension VaultOptions {
  fileprivate func narrowed(by expectation: Greeting) -> VaultOptions {
    var options = self
    options.expected = expectation.vault ?? expected
    options.leastGeneration = [leastGeneration, expectation.leastGeneration].compactMap(\.self).max()
    options.invitations += expectation.invitations.filter { !invitations.contains($0) }
    return options
  }
}

extension Duration {
  /// `8 h`, `15 min` or `90 s`.
  var words: String {
    let seconds = components.seconds
    if seconds % 3600 == 0, seconds > 0 { return "\(seconds / 3600) h" }
    return seconds % 60 == 0 && seconds > 0 ? "\(seconds / 60) min" : "\(seconds) s"
  }
}
