internal import CofferClient
public import CofferPlatform
internal import Synchronization
internal import SystemPackage

/// Keeps vaults unlocked for the other programs of one user.
///
/// It answers requests for items and never reveals a key. Each client has its own thread, so a slow or silent one delays no
/// other; a vault serves one call at a time.
public final class AgentServer: Sendable {
  private let place: AgentPlace
  private let listener: Int32
  private let lock: Int32
  private let bell: Bell
  let vaults: AgentVaults
  let staging = Staging()
  let connections = Connections()
  private let isStopping = Atomic<Bool>(false)

  /// While a vault is unlocked, a resume from suspension is noticed within this time. Any request checks for it before its
  /// answer.
  private static let watch = Duration.seconds(5)

  /// Microseconds between tries to accept a client when the system lacks room, or to take the lock of an ending agent.
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
      bell = try Bell()
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
    while !isStopping.load(ordering: .acquiring) {
      let left = vaults.lapse().map { min($0, Self.watch) }
      guard try wait(for: left) else { continue }
      let descriptor = coffer_accept(listener)
      guard descriptor >= 0 else {
        // Out of descriptors or memory: the client still waits, and an immediate retry would waste time.
        if errno != ECONNABORTED, errno != EINTR, errno != EAGAIN { usleep(Self.breather) }
        continue
      }
      admit(LocalSocket(descriptor))
    }
  }

  /// Locks all vaults.
  public func lockVaults() {
    vaults.lock(because: "it was asked to")
    bell.ring()
  }

  /// Makes ``run()`` return.
  public func stop() {
    isStopping.store(true, ordering: .releasing)
    bell.ring()
  }

  /// Makes ``run()`` check the times again after an unlock.
  func wake() { bell.ring() }

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

  /// Whether a client waits.
  private func wait(for limit: Duration?) throws(StoreError) -> Bool {
    var waiting = [
      pollfd(fd: listener, events: Int16(POLLIN), revents: 0), pollfd(fd: bell.hearing, events: Int16(POLLIN), revents: 0),
    ]
    let milliseconds = limit.map { max(0, $0.components.seconds * 1000 + 1) } ?? -1
    guard poll(&waiting, 2, Int32(clamping: milliseconds)) >= 0 || errno == EINTR else {
      throw StoreError(errno: errno, "wait for clients", place: place.socket)
    }
    if waiting[1].revents != 0 { bell.silence() }
    return waiting[0].revents != 0
  }

  private func admit(_ socket: consuming LocalSocket) {
    do throws(StoreError) {
      try AgentAddress.checkPeer(socket.descriptor, "the client", place: place.socket.string, StoreError.self)
      try connections.serve(socket) { [self] (socket, mark) in Conversation(self, mark).hold(with: socket) }
    } catch {
      // The client is another user's, or there was no thread: the connection can only be closed.
    }
  }
}
