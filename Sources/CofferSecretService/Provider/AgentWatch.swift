internal import CofferAgent
internal import CofferPlatform
internal import Synchronization

/// Hears from the agent when the vault is locked, unlocked or changed, on a thread of its own.
final class AgentWatch: Sendable {
  private let client: AgentClient
  private let inbox: Inbox
  private let isStopped = Atomic<Bool>(false)
  /// Whether a client waits for the vault.
  let isUrgent = Atomic<Bool>(false)

  /// Milliseconds between two looks for an agent, where none runs: one is seen soon where a client waits for it.
  private static let pause: UInt32 = 1000
  private static let shortPause: UInt32 = 50

  init(_ client: AgentClient, _ inbox: Inbox) {
    self.client = client
    self.inbox = inbox
  }

  func start() throws(StoreError) {
    try DetachedThread.start(stackBytes: 1 << 20, place: "secret service") { self.run() }
  }

  /// Ends it with what it hears next.
  func stop() { isStopped.store(true, ordering: .relaxed) }

  private func run() {
    var known: AgentMoment?
    while !isStopped.load(ordering: .relaxed) {
      do throws(StoreError) {
        let now = try client.moment(after: known)
        if now != known { inbox.post(.moment(now)) }
        known = now
      } catch {
        // Nobody holds the vault: that is as good as locked. What is wrong is said to clients, by the questions that they ask.
        if known != nil { inbox.post(.moment(nil)) }
        known = nil
        wait()
      }
    }
  }

  private func wait() {
    for _ in 0..<(Self.pause / Self.shortPause) {
      usleep(Self.shortPause * 1000)
      if isUrgent.load(ordering: .relaxed) || isStopped.load(ordering: .relaxed) { return }
    }
  }
}
