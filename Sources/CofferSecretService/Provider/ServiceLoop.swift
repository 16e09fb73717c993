internal import CofferAgent
internal import CofferPlatform
internal import Dispatch
internal import Synchronization

/// The service on its bus: one thread hears and answers, and a queue asks the agent for it, so that a client that waits keeps no
/// other waiting.
final class ServiceLoop {
  let bus: Bus
  let settings: SecretServiceSettings
  let inbox: Inbox
  let vault: SecretVault
  /// The same, for questions on the bus's thread.
  let quickVault: SecretVault
  let queue = DispatchQueue(label: "coffer.secret-service")

  /// The last known moment of the agent's vault.
  var moment: AgentMoment?
  var isUnlocked: Bool { moment?.vault != nil }
  /// The time of the last known lock or unlock; older notices are late.
  var since: UInt64 = 0
  /// How often it was heard that the vault is unlocked.
  var timesUnlocked: UInt64 = 0
  /// Whether a client has to have it unlocked: not where this machine does that by itself when it is needed.
  var isLocked: Bool { !isUnlocked && !settings.hasOwnKey }
  /// The collections as clients know them: the names stay known while the vault is locked.
  var book = CollectionBook()

  let sessions = SessionTable()
  let announcer: Announcer
  let unlocker: Unlocker
  private(set) lazy var prompts = PromptCalls(self)
  private lazy var methods = MethodCalls(self)
  /// The calls whose work is being done, and those that wait for the vault.
  var calls: [UInt64: Call] = [:]
  var parked: Set<UInt64> = []
  var shares = ClientShares()
  var waits = ProgramWaits()
  private var lastNumber: UInt64 = 0

  /// Whether a survey is under way or due; when the next may begin.
  var surveyIsDue = false, surveyIsRunning = false
  var nextSurvey = ContinuousClock.now
  /// The items of each collection as clients were told them last.
  var listed: [String: [String]] = [:]

  private var isOver = false
  /// What ends the service.
  private var failure: StoreError? { outcome.failure }
  private let outcome: Outcome
  /// Waits for the agent's vault to change.
  let watch: AgentWatch

  /// How long the bus's thread waits for the agent at most: nobody notices that, and an answer mostly takes a hundredth of it.
  private static let quickTime = Duration.milliseconds(20)

  init(_ bus: Bus, _ settings: SecretServiceSettings, _ inbox: Inbox) throws(StoreError) {
    watch = try AgentWatch(settings.client, inbox)
    self.bus = bus
    self.settings = settings
    self.inbox = inbox
    let vault = SecretVault(settings.client)
    self.vault = vault
    quickVault = vault.asked(by: settings.client.waiting(Self.quickTime))
    let (outcome, queue) = (Outcome(), queue)
    self.outcome = outcome
    announcer = Announcer(bus) { message in
      do throws(StoreError) { try bus.send(message) } catch { outcome.fail(error) }
    } fail: { error in
      outcome.fail(error)
    }
    unlocker = Unlocker(settings, inbox) {
      queue.async {
        // Waiting clients get the error when they ask.
        do throws(StoreError) { inbox.post(.moment(try vault.client.moment(after: nil))) } catch { inbox.post(.moment(nil)) }
      }
    }
    unlocker.refuseAll = { [unowned self] refusal in for number in parked { drop(number, refusal) } }
  }

  /// Finds out how the vault is before anybody asks, and hears of it from then on.
  func startWatching() throws(StoreError) {
    // Where no agent runs it is locked, and what else is wrong is said to clients.
    do throws(StoreError) { note(try settings.client.moment(after: nil)) } catch { note(nil) }
    try watch.start()
  }

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
    unlocker.endAttempt()
    for case .tried(let process) in inbox.close() { UnlockAttempt.reap(process) }
    for number in calls.keys { drop(number, .failed("the service ended")) }
  }

  /// Ends the service with an error.
  func fail(_ error: StoreError) { outcome.fail(error) }

  private func handle(_ event: Inbox.Event) {
    switch event {
    case .done(let number): finish(call: number)
    case .moment(let now): note(now)
    case .tried(let process): unlocker.attemptEnded(process)
    case .surveyed(let survey, let cost): surveyed(survey, cost)
    case .prompted(let path): prompts.complete(path)
    case .stop: isOver = true
    }
  }

  /// How long nothing has to be done by itself.
  func timeLeft() -> Duration? {
    // One that cannot begin by itself is no reason to wake: the end of the one under way and the unlocking of the vault do that.
    let survey = surveyIsDue && isUnlocked && !surveyIsRunning ? [nextSurvey] : []
    let deadlines = parked.compactMap { calls[$0]?.deadline } + [unlocker.deadline].compactMap(\.self) + survey
    return deadlines.min().map { $0 - .now }
  }

  private func hear(_ message: BusMessage) {
    switch message.kind {
    case .call: methods.answer(message)
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
    sessions.closeAll(of: client)
    for (number, call) in calls where call.client == client {
      // Finished work is signaled to others.
      if parked.contains(number) { remove(number) } else { call.isAbandoned = true }
    }
    // After the calls: a client without any has asked nobody.
    prompts.dropAll(of: client)
  }

  /// Sends `message`; where the bus does not take it, the service is over.
  func send(_ message: BusMessage) {
    do throws(StoreError) { try bus.send(message) } catch { fail(error) }
  }
}

/// What ends the service, whoever finds it.
private final class Outcome {
  private(set) var failure: StoreError?

  func fail(_ error: StoreError) { if failure == nil { failure = error } }
}
