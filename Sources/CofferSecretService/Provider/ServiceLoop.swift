internal import CofferAgent
internal import CofferPlatform
internal import Dispatch
internal import Synchronization

/// The service on its bus: one thread hears and answers, and a queue asks the agent for it, so that a client that waits keeps no other
/// waiting.
final class ServiceLoop {
  let bus: Bus
  let settings: SecretServiceSettings
  let inbox: Inbox
  let vault: SecretVault
  let queue = DispatchQueue(label: "coffer.secret-service")

  /// What is known of the agent's vault.
  var moment: AgentMoment?
  var isUnlocked: Bool { moment?.vault != nil }
  /// The collections as clients know them: the names stay known while the vault is locked.
  var book = CollectionBook()

  var sessions: [String: Session] = [:]
  var prompts: [String: Prompt] = [:]
  /// The calls whose work is being done, and those that wait for the vault.
  var calls: [UInt64: Call] = [:]
  var parked: Set<UInt64> = []
  private var lastNumber: UInt64 = 0

  /// A process that unlocks, and who waits for it.
  var attempt: UnlockAttempt?
  var unlocking: [UnlockWaiter] = []

  /// Whether a survey is under way or due; when the next may begin.
  var surveyIsDue = false, surveyIsRunning = false
  var nextSurvey = ContinuousClock.now

  private var isOver = false
  /// What ends the service.
  private var failure: StoreError?
  /// Waits for the agent's vault to change.
  let watch: AgentWatch

  init(_ bus: Bus, _ settings: SecretServiceSettings, _ inbox: Inbox) throws(StoreError) {
    watch = try AgentWatch(settings.client, inbox)
    self.bus = bus
    self.settings = settings
    self.inbox = inbox
    vault = SecretVault(settings.client)
  }

  func startWatching() throws(StoreError) { try watch.start() }

  /// A number that nothing else of this process has.
  func number() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  func run() throws(StoreError) {
    defer { finish() }
    while !isOver {
      while let message = try bus.next() {
        hear(message)
        if let failure { throw failure }
      }
      for event in inbox.take() { handle(event) }
      if let failure { throw failure }
      expire()
      startDueSurvey()
      if !isOver { try bus.wait(inbox.bell.hearing, for: timeLeft()) }
    }
  }

  private func finish() {
    watch.stop()
    attempt?.end()
    for number in calls.keys { drop(number, .failed("the service ended")) }
  }

  /// Ends the service with an error.
  func fail(_ error: StoreError) { if failure == nil { failure = error } }

  private func handle(_ event: Inbox.Event) {
    switch event {
    case .done(let number): finish(call: number)
    case .moment(let now): note(now)
    case .tried(let process): attemptEnded(process)
    case .surveyed(let survey, let cost): surveyed(survey, cost)
    case .prompted(let path): if let prompt = prompts[path] { complete(prompt, isDone: isUnlocked) }
    case .stop: isOver = true
    }
  }

  /// How long nothing has to be done by itself.
  private func timeLeft() -> Duration? {
    let deadlines =
      parked.compactMap { calls[$0]?.deadline } + unlocking.compactMap(\.deadline) + (surveyIsDue ? [nextSurvey] : [])
    return deadlines.min().map { $0 - .now }
  }

  private func hear(_ message: BusMessage) {
    switch message.kind {
    case .call: answer(message)
    case .signal: hear(signal: message)
    case .other: break
    }
  }

  private func hear(signal message: BusMessage) {
    switch (message.sender, message.member) {
    case ("org.freedesktop.DBus", "NameOwnerChanged"):
      do throws(Refusal) { clientWent(try message.string()) } catch { return }
    case ("org.freedesktop.DBus", "NameLost"):
      do throws(Refusal) {
        guard try message.string() == SecretServiceProvider.busName else { return }
      } catch { return }
      fail(
        StoreError(
          .closed, "another provider took the name \(SecretServiceProvider.busName)", place: bus.address,
          cure: "coffer secret-service status names it"))
    default: break
    }
  }

  /// Nothing of a client outlives its connection.
  private func clientWent(_ client: String) {
    guard client.hasPrefix(":") else { return }
    for (path, session) in sessions where session.client == client { sessions[path] = nil }
    for (path, prompt) in prompts where prompt.client == client { drop(prompt: path) }
    for (number, call) in calls where call.message.sender == client && parked.contains(number) {
      calls[number] = nil
      parked.remove(number)
    }
  }

  /// Sends `message`; where the bus does not take it, the service is over.
  func send(_ message: BusMessage) {
    do throws(StoreError) { try bus.send(message) } catch { fail(error) }
  }
}
