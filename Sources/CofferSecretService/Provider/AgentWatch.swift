internal import CofferAgent
internal import CofferPlatform
internal import Synchronization

/// Reports changes of the agent's vault and its lock, on its own thread.
final class AgentWatch: Sendable {
  private let client: AgentClient
  private let inbox: Inbox
  private let isStopped = Atomic<Bool>(false)
  private let bell: Bell

  /// The pause between checks if the agent's folder cannot be watched.
  private static let pause = Duration.seconds(1)

  init(_ client: AgentClient, _ inbox: Inbox) throws(StoreError) {
    self.client = client
    self.inbox = inbox
    bell = try Bell()
  }

  func start() throws(StoreError) {
    try DetachedThread.start(stackBytes: 1 << 20, place: "secret service") { self.run() }
  }

  /// Ends it at the next notice.
  func stop() {
    isStopped.store(true, ordering: .relaxed)
    bell.ring()
  }

  private func run() {
    var known: AgentMoment?
    while !isStopped.load(ordering: .relaxed) {
      do throws(StoreError) {
        let now = try client.moment(after: known)
        if now != known { inbox.post(.moment(now)) }
        known = now
      } catch {
        // A vault that nobody holds counts as locked. Clients get the error on request.
        if known != nil { inbox.post(.moment(nil)) }
        known = nil
        awaitAgent()
      }
    }
  }

  private func awaitAgent() {
    let watch = client.watchForAgent { [bell] in bell.ring() }
    defer { watch?.cancel() }
    // It may have begun before the watch.
    do throws(StoreError) { if try client.isRunning() { return } } catch {}
    bell.wait(for: watch == nil ? Self.pause : Self.pause * 10)
  }
}
