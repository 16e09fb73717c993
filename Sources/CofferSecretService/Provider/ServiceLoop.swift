internal import CofferAgent
internal import CofferPlatform
internal import Dispatch

/// The service on its bus: one thread reads and answers messages, and a queue asks the agent, so that a waiting client
/// delays no other.
final class ServiceLoop {
  let bus: Bus
  let settings: SecretServiceSettings
  let inbox: Inbox
  let vault: SecretVault
  /// The same, for questions on the bus's thread.
  let quickVault: SecretVault
  let queue = DispatchQueue(label: "coffer.secret-service")

  var moment: AgentMoment?
  var isUnlocked: Bool { moment?.vault != nil }
  /// The time of the last known lock or unlock; older notices are late.
  var since: UInt64 = 0
  /// The count of reported unlocks.
  var timesUnlocked: UInt64 = 0
  /// Whether clients see it locked, unless this machine unlocks it on demand.
  var isLocked: Bool { !isUnlocked && !settings.hasOwnKey }
  /// The collections as clients know them: names stay known while the vault is locked.
  var book = CollectionBook()

  let sessions = SessionTable()
  let announcer: Announcer
  let unlocker: Unlocker
  private(set) lazy var prompts = PromptCalls(self)
  private lazy var methods = MethodCalls(self)
  /// Calls in progress, and those that wait for the vault.
  var calls: [UInt64: Call] = [:]
  var parked: Set<UInt64> = []
  var shares = ClientShares()
  var waits = ProgramWaits()
  private var lastNumber: UInt64 = 0

  /// Whether a survey is running or due; when the next may begin.
  var surveyIsDue = false, surveyIsRunning = false
  var nextSurvey = ContinuousClock.now
  /// The items of each collection as last signaled.
  var listed: [String: [String]] = [:]

  private var isOver = false
  private var failure: StoreError? { outcome.failure }
  private let outcome: Outcome
  /// Waits for changes of the agent's vault.
  let watch: AgentWatch

  /// The bus's thread waits no longer for the agent: this is not noticeable, and most answers take a hundredth of it.
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
        // Waiting clients get the error on request.
        do throws(StoreError) { inbox.post(.moment(try vault.client.moment(after: nil))) } catch { inbox.post(.moment(nil)) }
      }
    }
    unlocker.refuseAll = { [unowned self] refusal in for number in parked { drop(number, refusal) } }
  }

  /// Determines the vault's state, and watches it from then on.
  func startWatching() throws(StoreError) {
    // Without an agent it is locked, and clients get any other error.
    do throws(StoreError) { note(try settings.client.moment(after: nil)) } catch { note(nil) }
    try watch.start()
  }

  /// A number unique in this process.
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

  /// The time until the next deadline.
  func timeLeft() -> Duration? {
    // A survey that cannot begin needs no deadline: the end of the running one, and the unlock, wake the loop.
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

  /// Sends `message`; a failure ends the service.
  func send(_ message: BusMessage) {
    do throws(StoreError) { try bus.send(message) } catch { fail(error) }
  }
}

/// The first error, which ends the service.
private final class Outcome {
  private(set) var failure: StoreError?

  func fail(_ error: StoreError) { if failure == nil { failure = error } }
}
