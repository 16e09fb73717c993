internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import Synchronization

/// The vaults that an agent serves. Each is unlocked by itself, and locked by times of its own.
final class AgentVaults: Sendable {
  /// Vaults that are unlocked at once, at most: each may have 64 MiB of descriptions in guarded memory, and two open files.
  static let mostUnlocked = 8
  /// Remembered places, at most, with the reasons why they are locked: a client may name any.
  static let mostPlaces = 64

  private let settings: AgentSettings
  private let clock: AgentClock
  private struct Places {
    var vaults: [AgentVault]
    /// Whether the agent has ended, after which nothing is unlocked.
    var hasEnded = false
  }
  private let places: Mutex<Places>
  /// One unlocking at a time, outside of the vaults' own locks: requests are told meanwhile that the vault is locked.
  private let guesses = Mutex(Guesses())
  /// Clients that wait for a change, of any vault.
  let watchers = Watchers()

  init(_ settings: AgentSettings, clock: AgentClock) {
    self.settings = settings
    self.clock = clock
    places = Mutex(Places(vaults: [AgentVault(settings, clock: clock, watchers: watchers)]))
  }

  private var all: [AgentVault] { places.withLock { $0.vaults } }

  /// The vault at `path`; at none the one that the agent was started for.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/otherVault`` for a path that begins at a current folder, of which the agent has
  ///   another.
  func at(_ path: String) throws(StoreError) -> AgentVault {
    try places.withLock { (places) throws(StoreError) in
      let path = path.isEmpty ? settings.vault.description : path
      if let vault = places.vaults.first(where: { $0.settings.vault.description == path }) { return vault }
      let place = VaultPlace(path)
      try place.check()
      guard place.path?.isAbsolute ?? true else {
        throw StoreError(
          .otherVault, "an agent takes only a whole path to a vault", place: path, cure: "give the path from / on",
          remedy: .leaveAgentOut)
      }
      if places.vaults.count >= Self.mostPlaces, let old = places.vaults.dropFirst().firstIndex(where: { !$0.isUnlocked }) {
        // An unlock of it that is under way would hold a key that nobody locks.
        places.vaults.remove(at: old).end("too many other vaults were asked for")
      }
      let vault = AgentVault(settings(of: place), clock: clock, watchers: watchers)
      if places.hasEnded { vault.end(Self.ended) }
      places.vaults.append(vault)
      return vault
    }
  }

  /// The settings for a vault beside the agent's first one, without the expectations about that.
  private func settings(of place: VaultPlace) -> AgentSettings {
    var settings = settings
    settings.vault = place
    (settings.options.expected, settings.options.leastGeneration, settings.options.invitations) = (nil, nil, [])
    return settings
  }

  /// Unlocks `vault`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` while guesses are slowed down,
  ///   ``/CofferPlatform/StoreError/Kind/otherVault`` where too many vaults are unlocked; what opening and unlocking the vault
  ///   throws.
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

  /// Those that are unlocked, in the order in which they were first asked for.
  var unlocked: [AgentVault] { all.filter(\.isUnlocked) }

  /// Waits for running calls and wipes all keys.
  func lock(because reason: String) { Self.lock(all, because: reason) }

  /// No key waits for a call that is running in another vault.
  private static func lock(_ vaults: [AgentVault], because reason: String, forGood: Bool = false) {
    let running = vaults.filter { !$0.beginLocking(because: reason, forGood: forGood) }
    for vault in running { vault.finishLocking() }
  }

  private static let ended = "the agent ended"

  /// Locks all vaults, for good.
  func end() {
    let vaults = places.withLock { places in
      places.hasEnded = true
      return places.vaults
    }
    Self.lock(vaults, because: Self.ended, forGood: true)
  }

  /// Locks each vault whose time is over, and returns how long until that may be so of one; nil where all are locked.
  func lapse() -> Duration? { unlocked.compactMap { $0.lapse() }.min() }
}
