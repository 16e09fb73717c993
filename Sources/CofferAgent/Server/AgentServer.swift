internal import CofferClient
public import CofferPlatform
internal import SystemPackage

/// Keeps vaults unlocked for the other programs of one user.
///
/// It answers requests for items and never reveals a key. Each client has its own thread, so a slow or silent one delays no
/// other; a vault serves one call at a time.
public final class AgentServer: Sendable {
  private let place: AgentPlace
  private let listener: Int32
  private let lock: Int32
  let vaults: AgentVaults
  let staging = Staging()
  let connections: Connections

  /// While a vault is unlocked, a resume from suspension is noticed within this time. Any request checks for it before its
  /// answer.
  private static let watch = Duration.seconds(5)

  /// Microseconds between tries to take the lock of an ending agent.
  private static let breather: UInt32 = 10_000

  /// An agent that listens; ``run()`` answers.
  ///
  /// - Throws: `StoreError` `.alreadyExists` if an agent runs in this folder, `.denied` if others have access to the folder,
  ///   `.io`.
  public convenience init(_ settings: AgentSettings) throws(StoreError) { try self.init(settings, clock: .machine) }

  init(_ settings: AgentSettings, clock: AgentClock) throws(StoreError) {
    place = AgentPlace(folder: try TrustedPath.makePrivateFolder(settings.folder))
    lock = try Self.takeLock(place)
    do throws(StoreError) {
      connections = try Connections()
      listener = try place.listen()
    } catch {
      close(lock)
      throw error
    }
    vaults = AgentVaults(settings, clock: clock)
  }

  deinit {
    close(listener)
    close(lock)
  }

  /// An ending agent still answers its last clients before it releases its lock.
  private static let farewell = Duration.seconds(10)

  // The lock ends with the process, however that ends: a socket without it is stale.
  private static func takeLock(_ place: AgentPlace) throws(StoreError) -> Int32 {
    let descriptor = place.lock.withPlatformString { coffer_open($0, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the agent's lock", place: place.lock) }
    do throws(StoreError) {
      try lock(descriptor, place)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func lock(_ descriptor: Int32, _ place: AgentPlace) throws(StoreError) {
    let deadline = ContinuousClock.now + farewell
    while coffer_ofd_lock(descriptor, true) != 0 {
      guard errno == EAGAIN || errno == EACCES else { throw StoreError(errno: errno, "lock", place: place.lock) }
      guard try !place.isListening(), ContinuousClock.now < deadline else {
        throw StoreError(
          .alreadyExists, "an agent is running here", place: place.socket.string,
          cure: "AgentClient.status() shows it, AgentClient.stop() ends it", remedy: .endAgent)
      }
      usleep(breather)
    }
  }

  /// Answers clients until ``stop()``, then locks the vault, removes the socket and waits for running requests.
  public func run() throws(StoreError) {
    defer { finish() }
    try connections.run(
      at: listener, place.socket, "the client", pause: { vaults.lapse().map { min($0, Self.watch) } }
    ) { [self] (socket, mark) in Conversation(self, mark).hold(with: socket) }
  }

  /// Locks all vaults.
  public func lockVaults() {
    vaults.lock(because: "it was asked to")
    wake()
  }

  /// Makes ``run()`` return.
  public func stop() { connections.stop() }

  /// Makes ``run()`` check the times again after an unlock.
  func wake() { connections.wake() }

  /// Reads the vault's index in parallel with requests. Without a thread, the first request waits for it.
  func readAhead(_ vault: AgentVault) {
    do throws(StoreError) {
      try DetachedThread.start(stackBytes: Connections.stackBytes, place: "agent") { while vault.readAhead() {} }
    } catch {}
  }

  private func finish() {
    // The name first, so that no client finds an ending agent.
    _ = place.socket.withPlatformString { unlink($0) }
    vaults.end()
    connections.endAll()
    // Refuses waiting connections; the next agent may begin even while this object lives.
    shutdown(listener, Int32(SHUT_RDWR))
    _ = coffer_ofd_unlock(lock)
  }
}
