import CofferAgent
import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferSecretService

/// A vault, its agent and a provider of secrets on a bus, all in this process except the bus.
final class TestService {
  let bus: TestBus
  let provider: SecretServiceProvider
  let server: AgentServer
  let agentSettings: AgentSettings
  private let agentIsDone = DispatchSemaphore(value: 0), isDone = DispatchSemaphore(value: 0)
  private let ended = Collected<StoreError>()
  private let tried = Collected<Bool>()
  private let started = Collected<Int32>()

  /// Skips the test if no bus is possible.
  ///
  /// - Parameters:
  ///   - ownKey: whether the service may unlock the vault itself.
  ///   - prompt: whether a program prompts, and whether somebody then unlocked.
  ///   - window: a shell script in place of the prompting program.
  ///   - delay: how long a call may wait for earlier ones.
  init(
    unlocked: Bool = true, ownKey: Bool = false, prompt: Bool? = nil, window: String? = nil,
    patience: Duration = .seconds(20), delay: Duration = .seconds(20)
  ) throws {
    let bus = try TestBus()
    self.bus = bus
    let vault = bus.folder.path.appending("vault.sqlite")
    _ = try UnlockedVault.create(at: .file(vault), with: Self.credentials(), cost: .testing, options: .withoutPins)
    agentSettings = AgentSettings(
      folder: bus.folder.path.appending("run"), vault: .file(vault), options: .withoutPins, idle: .seconds(36_000),
      lifetime: .seconds(36_000))
    server = try AgentServer(agentSettings)
    let client = AgentClient(folder: agentSettings.folder, vault: agentSettings.vault, options: .withoutPins)
    let (tried, started) = (tried, started)
    var settings = SecretServiceSettings(client: client) { (mayAsk) throws(StoreError) in
      tried.add(mayAsk)
      let succeeds = ownKey || mayAsk && prompt == true
      if succeeds { _ = try client.unlock(with: Self.credentials()) }
      let words = window.map { ["/bin/sh", "-c", $0] } ?? [succeeds ? "/bin/true" : "/bin/false"]
      do {
        let process = try TestBus.start(words)
        started.add(process)
        return process
      } catch {
        throw StoreError(.io(0), "no process", cure: "none")
      }
    }
    settings.bus = bus.address
    settings.hasOwnKey = ownKey
    settings.hasPrompt = prompt != nil || window != nil
    settings.patience = patience
    settings.longestDelay = delay
    provider = try SecretServiceProvider(settings)
    let (server, agentIsDone, provider, isDone, ended) = (server, agentIsDone, provider, isDone, ended)
    Thread.detachNewThread {
      do { try server.run() } catch { Issue.record(error) }
      agentIsDone.signal()
    }
    if unlocked { _ = try client.unlock(with: Self.credentials()) }
    Thread.detachNewThread {
      do throws(StoreError) { try provider.run() } catch { ended.add(error) }
      isDone.signal()
    }
    eventually("the service answers") { provider.isReady || !ended.all.isEmpty }
  }

  deinit {
    provider.stop()
    isDone.wait()
    server.stop()
    agentIsDone.wait()
  }

  /// The service's failure; nil while it runs, or after a requested end.
  var failure: StoreError? { ended.all.first }
  /// For each attempt to unlock the vault by a process, whether it might prompt a person.
  var attempts: [Bool] { tried.all }
  var processes: [Int32] { started.all }

  var client: AgentClient { AgentClient(folder: agentSettings.folder, vault: agentSettings.vault, options: .withoutPins) }

  /// The vault opened in this process, next to the agent.
  func vault() throws -> UnlockedVault {
    try LockedVault.open(agentSettings.vault, options: .withoutPins).unlock(with: Self.credentials())
  }

  func unlock() throws { _ = try client.unlock(with: Self.credentials()) }

  static func credentials() -> Credentials {
    var credentials = Credentials()
    credentials.passphrase = try? secret("correct horse")
    return credentials
  }

  static func secret(_ text: String) throws -> SecretBytes {
    try text.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
  }
}
