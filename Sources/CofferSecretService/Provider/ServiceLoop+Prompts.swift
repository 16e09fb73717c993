internal import CofferPlatform
internal import Dispatch

/// What a client was given to have something unlocked by a person.
final class Prompt {
  let client: String
  let path: String
  /// What is unlocked with it: the very paths that the client named.
  let objects: [String]
  var isStarted = false

  init(client: String, path: String, objects: [String]) {
    self.client = client
    self.path = path
    self.objects = objects
  }
}

extension ServiceLoop {
  /// How long a prompt that needs nobody takes: go-keyring begins to listen only after the answer to its call, and would miss what comes
  /// at once.
  private static let afterwards = DispatchTimeInterval.milliseconds(50)
  /// Prompts of one client, at most.
  private static let mostPrompts = 128

  func unlockObjects(_ message: BusMessage) throws(Refusal) {
    let objects = try message.paths()
    let needVault = objects.filter { !Self.isOfSession($0) }
    guard !needVault.isEmpty else { return try replyUnlocked(message, objects) }
    try ask(message, waits: false) { (vault) throws(Refusal) in
      try vault.isUnlocked()
    } _: { [self] (isUnlocked) throws(Refusal) in
      if isUnlocked { return try replyUnlocked(message, objects) }
      guard settings.hasOwnKey else { return try replyPrompt(message, objects) }
      unlock(mayAsk: false, until: .now + settings.patience) { [weak self] isDone in
        guard let self else { return }
        do throws(Refusal) { try isDone ? replyUnlocked(message, objects) : replyPrompt(message, objects) } catch {
          refuse(message, error)
        }
      }
    }
  }

  private func replyUnlocked(_ message: BusMessage, _ objects: [String]) throws(Refusal) {
    try reply(message) { (answer) throws(Refusal) in
      try answer.put(paths: objects.filter(isKnown))
      try answer.put(path: ObjectPath.none)
    }
  }

  private func replyPrompt(_ message: BusMessage, _ objects: [String]) throws(Refusal) {
    guard prompts.values.count(where: { $0.client == message.sender }) < Self.mostPrompts else {
      throw .limit("the client has \(Self.mostPrompts) prompts: use or dismiss some")
    }
    let prompt = Prompt(client: message.sender, path: ObjectPath.of(prompt: number()), objects: objects.filter(isKnown))
    prompts[prompt.path] = prompt
    try reply(message) { (answer) throws(Refusal) in
      try answer.put(paths: prompt.objects.filter(Self.isOfSession))
      try answer.put(path: prompt.path)
    }
  }

  /// Whether a path may be one of a collection or of an item: those of items are not looked for.
  private func isKnown(_ path: String) -> Bool {
    switch ObjectPath(path) {
    case .collection(let name): book[name] != nil || !isUnlocked
    case .alias(let name): book.aliases[name] != nil || !isUnlocked
    case .item(let item): book[item.collection] != nil || !isUnlocked
    default: false
    }
  }

  /// Whether it is of the collection that is never locked.
  static func isOfSession(_ path: String) -> Bool {
    switch ObjectPath(path) {
    case .collection(let name), .alias(let name): name == CollectionState.session
    case .item(let item): item.collection == CollectionState.session
    default: false
    }
  }

  /// - Parameter paths: the objects to lock; nil for all.
  func lock(_ message: BusMessage, paths: [String]?) throws(Refusal) {
    let locked = paths?.filter { isKnown($0) && !Self.isOfSession($0) }
    guard locked?.isEmpty != true else { return try replyLocked(message, []) }
    try ask(message, waits: false) { (vault) throws(Refusal) in
      try vault.lock()
    } _: { [self] (_) throws(Refusal) in
      note(nil)
      try replyLocked(message, locked)
    }
  }

  private func replyLocked(_ message: BusMessage, _ paths: [String]?) throws(Refusal) {
    try reply(message) { (answer) throws(Refusal) in
      guard let paths else { return }
      try answer.put(paths: paths)
      try answer.put(path: ObjectPath.none)
    }
  }

  // MARK: Prompt objects

  func callPrompt(_ message: BusMessage, _ method: String) throws(Refusal) {
    guard let prompt = prompts[message.path], prompt.client == message.sender else { throw .noSuchObject(message.path) }
    // First the answer: what follows is a signal.
    try reply(message) { (_) throws(Refusal) in }
    guard method == "Prompt" else { return complete(prompt, isDone: false) }
    guard !prompt.isStarted else { return }
    prompt.isStarted = true
    guard !isUnlocked else {
      let inbox = inbox
      let path = prompt.path
      return queue.asyncAfter(deadline: .now() + Self.afterwards) { inbox.post(.prompted(path)) }
    }
    let deadline = settings.hasPrompt ? nil : ContinuousClock.now + settings.patience
    unlock(mayAsk: true, until: deadline) { [weak self] isDone in self?.complete(prompt, isDone: isDone) }
  }

  /// Tells the client, and nobody else, how its prompt ended: once.
  func complete(_ prompt: Prompt, isDone: Bool) {
    guard prompts.removeValue(forKey: prompt.path) != nil else { return }
    do throws(Refusal) {
      let signal = try BusMessage(signal: "Completed", Interface.prompt.name, at: prompt.path, bus)
      try signal.put(!isDone)
      try signal.putVariant("ao") { () throws(Refusal) in try signal.put(paths: isDone ? prompt.objects : []) }
      try signal.address(to: prompt.client)
      send(signal)
    } catch {
      fail(StoreError(.memory, "a signal cannot be made: \(error.text)", place: bus.address, cure: "close other programs"))
    }
    endUnneededAttempt()
  }

  /// Forgets a prompt whose client is gone.
  func drop(prompt path: String) {
    prompts[path] = nil
    endUnneededAttempt()
  }

  /// Ends the program that asks, when nobody waits for what it gets.
  private func endUnneededAttempt() {
    guard parked.isEmpty, !prompts.values.contains(where: \.isStarted) else { return }
    attempt?.end()
  }
}
