import CofferClient
import CofferMemory
import CofferPlatform
import CofferStorage
import CofferVault
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferAgent

/// A folder with a vault, and its agent on a thread of this process.
final class TestAgent {
  let folder: FilePath
  let settings: AgentSettings
  let server: AgentServer
  private let isDone = DispatchSemaphore(value: 0)

  /// - Parameter place: the vault's place; by default in the folder.
  init(
    clock: AgentClock? = nil, folder: FilePath? = nil, place: VaultPlace? = nil, hasPins: Bool = false, unlocked: Bool = true
  ) throws {
    self.folder = try folder ?? Self.newFolder()
    let vault = place ?? .file(self.folder.appending("vault.sqlite"))
    let options = hasPins ? VaultOptions(pins: self.folder.appending("state/pins")) : .withoutPins
    if folder == nil {
      _ = try UnlockedVault.create(at: vault, with: Self.credentials(), cost: .testing, options: options)
    }
    // With the machine's own clock, none of these ends before a test does, on any slow machine.
    let (idle, lifetime): (Duration, Duration) =
      clock == nil ? (.seconds(36_000), .seconds(36_000)) : (.seconds(60), .seconds(600))
    settings = AgentSettings(
      folder: self.folder.appending("run"), vault: vault, options: options, idle: idle, lifetime: lifetime)
    server = try AgentServer(settings, clock: clock ?? .machine)
    let (server, isDone) = (server, isDone)
    Thread.detachNewThread {
      do { try server.run() } catch { Issue.record(error) }
      isDone.signal()
    }
    if unlocked { _ = try client().unlock(with: Self.credentials()) }
  }

  func stop() {
    server.stop()
    isDone.wait()
  }

  func client(_ options: VaultOptions = .withoutPins) -> AgentClient {
    AgentClient(folder: settings.folder, vault: settings.vault, options: options)
  }

  func store(_ service: String = "app") throws -> AgentStore {
    try AgentStore(service: service, vault: settings.vault, client: client())
  }

  /// The vault opened in this process, next to the agent.
  func vault() throws -> UnlockedVault {
    try LockedVault.open(settings.vault, options: settings.options).unlock(with: Self.credentials())
  }

  func connect() throws -> LocalSocket {
    guard let socket = try AgentPlace(folder: settings.folder).connect() else { throw CancellationError() }
    return socket
  }

  /// An invitation to an unrelated vault.
  static func invitation() throws -> Invitation {
    let folder = try newFolder()
    defer { remove(folder) }
    return try UnlockedVault.create(
      at: .file(folder.appending("v.sqlite")), with: credentials(), cost: .testing, options: .withoutPins
    ).invitation()
  }

  static func newFolder() throws -> FilePath {
    var name = Array("/tmp/coffer-agent-XXXXXX".utf8CString)
    try #require(mkdtemp(&name) != nil)
    return FilePath(String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
  }

  static func remove(_ folder: FilePath) { try? FileManager.default.removeItem(atPath: folder.string) }

  static func credentials(_ passphrase: String = "correct horse") throws -> Credentials {
    Credentials(passphrase: try secret(passphrase))
  }

  static func secret(_ text: String) throws -> SecretBytes {
    let bytes = Array(text.utf8)
    return try bytes.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
  }
}

func form(_ text: String, _ metadata: ItemMetadata = ItemMetadata()) throws -> SecretForm {
  SecretForm(try TestAgent.secret(text), metadata: metadata)
}

extension SecretForm {
  var text: String { bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

/// Two clocks that a test sets.
///
/// A thread that reads `awake` next gets a `sinceBoot` of the same moment: otherwise a minute passed in between would look
/// like a suspended machine.
final class HandClock: Sendable {
  private struct Times {
    var boot = Duration.seconds(1000), awake = Duration.seconds(1000)
    /// For the moment at which a thread has read `awake`.
    var bootThen: [pthread_t: Duration] = [:]
  }

  private let times = Mutex(Times())

  func pass(_ time: Duration, suspended: Bool = false) {
    times.withLock {
      $0.boot += time
      if !suspended { $0.awake += time }
    }
  }

  var clock: AgentClock {
    AgentClock(
      sinceBoot: { self.times.withLock { $0.bootThen.removeValue(forKey: pthread_self()) ?? $0.boot } },
      awake: {
        self.times.withLock {
          $0.bootThen[pthread_self()] = $0.boot
          return $0.awake
        }
      },
      part: { 0 })
  }
}
