import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Synchronization
import Testing

@testable import CofferAgent

/// The vault is to be locked during an unlock, which is slow because it hashes a passphrase.
@Suite struct UnlockOrderTests {
  private final class MidwayClock: Sendable {
    let hand = HandClock()
    private struct State {
      var event: (@Sendable () -> Void)?
      var thread: pthread_t?
      var isPaired = false
    }
    private let state = Mutex(State())

    func during(_ body: () throws -> Void, _ event: @escaping @Sendable () -> Void) rethrows {
      state.withLock { $0 = State(event: event, thread: pthread_self()) }
      try body()
    }

    var clock: AgentClock {
      let clock = hand.clock
      return AgentClock(
        sinceBoot: {
          let event = self.state.withLock { state -> (@Sendable () -> Void)? in
            guard state.thread == pthread_self() else { return nil }
            defer { state.isPaired = false }
            return state.isPaired ? nil : state.event.take()
          }
          event?()
          return clock.sinceBoot()
        },
        awake: {
          self.state.withLock { state in if state.thread == pthread_self() { state.isPaired = true } }
          return clock.awake()
        })
    }
  }

  private func unlock(_ agent: TestAgent) throws {
    try agent.server.vaults.unlock(
      agent.server.vaults.at(""), with: TestAgent.credentials(), Greeting(path: agent.settings.vault.description), UnlockTimes())
  }

  @Test func `an unlock that was asked for before a lock does not open the vault after it`() throws {
    let midway = MidwayClock()
    let agent = try TestAgent(clock: midway.clock, unlocked: false)
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let server = agent.server
    midway.during {
      #expect(kind { try unlock(agent) } == .locked)
    } _: {
      server.lockVaults()
    }
    #expect(try agent.server.vaults.at("").unlockedPlace == nil)
    try unlock(agent)
    #expect(try agent.server.vaults.at("").unlockedPlace != nil)
  }

  @Test func `a machine that is suspended in the midst of an unlock wakes up with a locked vault`() throws {
    let midway = MidwayClock()
    let agent = try TestAgent(clock: midway.clock, unlocked: false)
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    try midway.during {
      try unlock(agent)
    } _: {
      midway.hand.pass(.seconds(30), suspended: true)
    }
    #expect(kind { _ = try agent.client().get(ItemName(service: "x")) } == .locked)
    #expect(try agent.client().status().whyLocked.contains("suspended"))
  }

  @Test func `an agent that has ended holds no key, whatever it was asked before`() throws {
    let midway = MidwayClock()
    let agent = try TestAgent(clock: midway.clock, unlocked: false)
    defer { TestAgent.remove(agent.folder) }
    // It is stopped on this thread, during the call.
    nonisolated(unsafe) let stop = { agent.stop() }
    midway.during {
      #expect(kind { try unlock(agent) } == .locked)
    } _: {
      stop()
    }
    #expect(try agent.server.vaults.at("").unlockedPlace == nil)
    #expect(kind { try unlock(agent) } == .locked)
  }
}
