internal import CofferAgent
internal import CofferPlatform
internal import Dispatch

/// A call in progress.
final class Call {
  let message: BusMessage
  /// Its connection.
  let client: String
  /// The size of its content; all of it has been read.
  let bytes: Int
  /// The end of its wait for the vault.
  let deadline: ContinuousClock.Instant
  /// Whether a person was asked for it: nobody is asked twice.
  var wasAsked = false
  /// Nobody is asked for a client that has gone.
  var isAbandoned = false
  /// The count of unlocks when the work began.
  var timesUnlocked: UInt64 = 0
  let start: (_ hasWaited: Bool) -> Void
  /// Answers with the result, or throws the client's error.
  let finish: () throws(Refusal) -> Void

  init(
    _ message: BusMessage, until deadline: ContinuousClock.Instant, start: @escaping (Bool) -> Void,
    finish: @escaping () throws(Refusal) -> Void
  ) {
    self.message = message
    (client, bytes) = (message.sender, message.bytesRead)
    self.deadline = deadline
    self.start = start
    self.finish = finish
  }
}

extension ServiceLoop {
  /// The most pending calls: each holds its message, and more would outlast their clients' patience.
  private static let mostCalls = 16_384

  /// Does `work` outside of the bus's thread, and answers `message` by `answer`. While the vault is locked, the call waits.
  ///
  /// - Parameters:
  ///   - waits: false refuses it at once instead.
  ///   - isQuick: whether it reads little, and may be tried on this thread.
  func ask<Value: Sendable>(
    _ message: BusMessage, waits: Bool = true, isQuick: Bool = false,
    _ work: @escaping @Sendable (SecretVault) throws(Refusal) -> Value,
    _ answer: @escaping (Value) throws(Refusal) -> Void,
    otherwise: @escaping (Refusal) throws(Refusal) -> Void = { (refusal) throws(Refusal) in throw refusal }
  ) throws(Refusal) {
    if isQuick, let value = tried(work) { return try answer(value) }
    guard calls.count < Self.mostCalls else { throw .limit("\(Self.mostCalls) calls wait for an answer") }
    try shares.check(message, waits: waits && !isUnlocked)
    let (slot, number, vault, inbox, queue) = (Slot<Value>(), number(), vault, inbox, queue)
    let start = ContinuousClock.now
    let deadline = waits ? waitingEnd(for: message) : start
    let lastStart = start + max(settings.patience, settings.longestDelay)
    let call = Call(message, until: deadline) { hasWaited in
      queue.async {
        // The client has already got an error.
        let isLate = waits && ContinuousClock.now > (hasWaited ? deadline : lastStart)
        do throws(Refusal) {
          guard !isLate else {
            throw hasWaited
              ? .isLocked("the vault was not unlocked in time; coffer unlock, then try again")
              : .late("earlier requests took too long; nothing was done; try again")
          }
          slot.put(.success(try work(vault)))
        } catch { slot.put(.failure(error)) }
        inbox.post(.done(number))
      }
    } finish: { () throws(Refusal) in
      switch slot.take() {
      case .success(let value): try answer(value)
      case .failure(let refusal):
        // It may still wait; the other answer is for the end.
        guard refusal.isForUnlocking, ContinuousClock.now < deadline else { return try otherwise(refusal) }
        throw refusal
      }
    }
    shares.add(call)
    calls[number] = call
    begin(call, hasWaited: false)
  }

  func waitingEnd(for message: BusMessage) -> ContinuousClock.Instant {
    // A patience for people does not shorten the wait for this machine's own key.
    let patience = settings.hasOwnKey ? max(settings.patience, SecretServiceSettings.usualPatience) : settings.patience
    guard !isUnlocked else { return .now + patience }
    do throws(StoreError) { return waits.end(of: try bus.process(of: message.sender), patience) } catch {
      // The client has gone.
      return .now + patience
    }
  }

  @discardableResult func remove(_ number: UInt64) -> Call? {
    parked.remove(number)
    guard let call = calls.removeValue(forKey: number) else { return nil }
    shares.remove(call)
    return call
  }

  private func begin(_ call: Call, hasWaited: Bool) {
    call.timesUnlocked = timesUnlocked
    call.start(hasWaited)
  }

  /// The result of `work`, on this thread: waking the queue and this thread takes longer than the agent's answer. Nil while
  /// other work comes first, and if the agent is slow or refuses, for a reason that the usual way finds.
  private func tried<Value>(_ work: (SecretVault) throws(Refusal) -> Value) -> Value? {
    guard isUnlocked, calls.count == parked.count, !surveyIsRunning else { return nil }
    do throws(Refusal) { return try work(quickVault) } catch { return nil }
  }

  /// Answers a finished call, or makes it wait for the vault.
  func finish(call number: UInt64) {
    guard let call = calls[number] else { return }
    do throws(Refusal) {
      try call.finish()
      remove(number)
    } catch {
      guard error.isForUnlocking, ContinuousClock.now < call.deadline, !call.isAbandoned else { return drop(number, error) }
      park(number, call)
    }
  }

  private func park(_ number: UInt64, _ call: Call) {
    // Unlocked since the work asked for it: there is no further notice.
    guard call.timesUnlocked == timesUnlocked else { return begin(call, hasWaited: true) }
    do throws(Refusal) { try shares.checkWaiting(call) } catch { return drop(number, error) }
    parked.insert(number)
    guard !call.wasAsked else { return }
    call.wasAsked = true
    unlocker.unlock(mayAsk: true, until: call.deadline) { [weak self] in
      self?.parked.contains(number) == true
    } then: { [weak self] isDone in
      if isDone { self?.resume(number) }
    }
  }

  private func resume(_ number: UInt64) {
    guard parked.remove(number) != nil, let call = calls[number] else { return }
    begin(call, hasWaited: true)
  }

  func resumeAll() { for number in parked.sorted() { resume(number) } }

  func expire() {
    let now = ContinuousClock.now
    for number in parked where calls[number].map({ $0.deadline <= now }) ?? true {
      drop(number, .isLocked("the vault is locked, and nobody unlocked it in time; coffer unlock, then try again"))
    }
    if unlocker.expire(now) { prompts.endUnneededAttempt() }
  }

  func drop(_ number: UInt64, _ refusal: Refusal) {
    guard let call = remove(number) else { return }
    refuse(call.message, refusal)
  }

  func refuse(_ message: BusMessage, _ refusal: Refusal) {
    guard message.expectsAnswer else { return }
    do throws(Refusal) { send(try BusMessage(refusing: message, refusal)) } catch {
      fail(StoreError(.memory, "an answer cannot be made: \(error.text)", place: bus.address, cure: "close other programs"))
    }
  }

  /// Answers `message` by `put`.
  func reply(_ message: BusMessage, _ put: (BusMessage) throws(Refusal) -> Void) throws(Refusal) {
    guard message.expectsAnswer else { return }
    let answer = try BusMessage(answerTo: message)
    try put(answer)
    send(answer)
  }

  /// The author of a change in the vault's log.
  func author(of message: BusMessage) -> AgentClient {
    do throws(StoreError) {
      let process = try bus.process(of: message.sender)
      return settings.client.on(
        Behalf(process: UInt32(clamping: process), program: ProviderOwner(process: process).program))
    } catch {
      // The client has gone: the log names this program.
      return settings.client
    }
  }
}
