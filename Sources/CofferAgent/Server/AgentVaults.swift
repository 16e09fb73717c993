internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// Each is unlocked separately and has its own times.
final class AgentVaults: Sendable {
  /// The most unlocked vaults: each may have 64 MiB of descriptions in guarded memory, and two open files.
  static let mostUnlocked = 8
  /// The most remembered places, with the reasons why they are locked: clients may name any.
  static let mostPlaces = 64

  private let settings: AgentSettings
  private let clock: AgentClock
  private struct Places {
    var vaults: [AgentVault]
    /// Nothing is unlocked after the agent's end.
    var hasEnded = false
  }
  private let places: Mutex<Places>
  /// One unlocking at a time, outside of the vaults' locks: requests meanwhile report a locked vault.
  private let guesses = Mutex(Guesses())
  /// For changes of any vault.
  let watchers = Watchers()

  init(_ settings: AgentSettings, clock: AgentClock) {
    self.settings = settings
    self.clock = clock
    places = Mutex(Places(vaults: [AgentVault(settings, clock: clock, watchers: watchers)]))
  }

  private var all: [AgentVault] { places.withLock { $0.vaults } }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/otherVault`` for a relative path: the agent has another current folder.
  func at(_ path: String) throws(StoreError) -> AgentVault {
    try places.withLock { (places) throws(StoreError) in
      let path = path.isEmpty ? settings.vault.description : path
      if let vault = places.vaults.first(where: { $0.settings.vault.description == path }) { return vault }
      let place = VaultPlace(path)
      try place.check()
      guard place.path?.isAbsolute ?? true else {
        throw StoreError(
          .otherVault, "an agent takes only an absolute path to a vault", place: path, cure: "give the path from /",
          remedy: .leaveAgentOut)
      }
      if places.vaults.count >= Self.mostPlaces, let old = places.vaults.dropFirst().firstIndex(where: { !$0.isUnlocked }) {
        // Otherwise an unlock in progress would hold a key that nobody locks.
        places.vaults.remove(at: old).end("too many other vaults were requested")
      }
      let vault = AgentVault(settings(of: place), clock: clock, watchers: watchers)
      if places.hasEnded { vault.end(Self.ended) }
      places.vaults.append(vault)
      return vault
    }
  }

  /// Without the expectations about the agent's first vault.
  private func settings(of place: VaultPlace) -> AgentSettings {
    var settings = settings
    settings.vault = place
    (settings.options.expected, settings.options.leastGeneration, settings.options.invitations) = (nil, nil, [])
    return settings
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` while guesses are slowed down,
  ///   ``/CofferPlatform/StoreError/Kind/otherVault`` if too many vaults are unlocked; the errors of opening and unlocking
  ///   the vault.
  func unlock(
    _ vault: AgentVault, with credentials: consuming Credentials, _ expectation: Greeting, _ times: UnlockTimes
  ) throws(StoreError) {
    let asked = vault.asked
    var given = Optional(credentials)
    try guesses.withLock { (guesses) throws(StoreError) in
      try guesses.check(now: clock.sinceBoot(), place: vault.settings.vault.description)
      guard unlocked.count(where: { $0 !== vault }) < Self.mostUnlocked else {
        throw StoreError(
          .otherVault, "the agent keeps \(Self.mostUnlocked) other vaults unlocked, which is its most",
          place: vault.settings.vault.description, cure: "AgentClient.lock() of one of them, or leave the agent out",
          remedy: .leaveAgentOut)
      }
      guard let credentials = given.take() else { return }
      do throws(StoreError) { try vault.unlock(with: credentials, expectation, times, asked) } catch {
        if error.kind == .wrongSecret { guesses.failed(now: clock.sinceBoot()) }
        throw error
      }
      guesses.succeeded()
    }
  }

  /// Whether `passphrase` opens the unlocked vault; false without one.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/wrongSecret``, ``/CofferPlatform/StoreError/Kind/busy`` while guesses are slowed
  ///   down; the errors of opening the vault.
  func proves(_ passphrase: SecretForm?, of vault: AgentVault) throws(StoreError) -> Bool {
    guard let passphrase else { return false }
    try guesses.withLock { (guesses) throws(StoreError) in
      try guesses.check(now: clock.sinceBoot(), place: vault.settings.vault.description)
      do throws(StoreError) { try vault.compare(passphrase) } catch {
        if error.kind == .wrongSecret { guesses.failed(now: clock.sinceBoot()) }
        throw error
      }
      guesses.succeeded()
    }
    return true
  }

  /// In the order of first request.
  var unlocked: [AgentVault] { all.filter(\.isUnlocked) }

  func lock(because reason: String) { Self.lock(all, because: reason) }

  /// No key waits for a running call in another vault.
  private static func lock(_ vaults: [AgentVault], because reason: String, forGood: Bool = false) {
    let running = vaults.filter { !$0.beginLocking(because: reason, forGood: forGood) }
    for vault in running { vault.finishLocking() }
  }

  private static let ended = "the agent ended"

  func end() {
    let vaults = places.withLock { places in
      places.hasEnded = true
      return places.vaults
    }
    Self.lock(vaults, because: Self.ended, forGood: true)
  }

  /// Locks vaults whose time is over; returns the shortest time left, nil if all are locked.
  func lapse() -> Duration? { unlocked.compactMap { $0.lapse() }.min() }
}
