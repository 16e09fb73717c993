internal import CofferAgent
internal import Dispatch

/// A client's prompt for an unlock.
final class Prompt {
  let client: String
  let path: String
  /// The objects to unlock: the exact paths from the client.
  let objects: [String]
  var isStarted = false

  init(client: String, path: String, objects: [String]) {
    self.client = client
    self.path = path
    self.objects = objects
  }
}

/// Answers calls that lock and unlock, and prompts.
final class PromptCalls {
  private unowned let service: ServiceLoop
  private var prompts: [String: Prompt] = [:]

  init(_ service: ServiceLoop) { self.service = service }

  /// The delay of a prompt without a person: go-keyring listens only after the answer to its call, and would miss an earlier
  /// signal.
  private static let afterwards = DispatchTimeInterval.milliseconds(50)
  private static let mostPrompts = 128

  func unlock(_ message: BusMessage) throws(Refusal) {
    let objects = try message.paths()
    let needVault = objects.filter { !Self.isOfSession($0) }
    guard !needVault.isEmpty else { return try replyUnlocked(message, objects) }
    try service.ask(message, waits: false) { (vault) throws(Refusal) in
      try vault.isUnlocked()
    } _: { [self] (isUnlocked) throws(Refusal) in
      if isUnlocked { return try replyUnlocked(message, objects) }
      guard service.settings.hasOwnKey else { return try replyPrompt(message, objects) }
      service.unlocker.unlock(mayAsk: false, until: service.waitingEnd(for: message)) {
        true
      } then: { [weak self] isDone in
        guard let self else { return }
        do throws(Refusal) { try isDone ? replyUnlocked(message, objects) : replyPrompt(message, objects) } catch {
          service.refuse(message, error)
        }
      }
    }
  }

  private func replyUnlocked(_ message: BusMessage, _ objects: [String]) throws(Refusal) {
    try service.reply(message) { (answer) throws(Refusal) in
      try answer.put(paths: objects.filter(isKnown))
      try answer.put(path: ObjectPath.none)
    }
  }

  private func replyPrompt(_ message: BusMessage, _ objects: [String]) throws(Refusal) {
    guard prompts.values.count(where: { $0.client == message.sender }) < Self.mostPrompts else {
      throw .limit("the client has \(Self.mostPrompts) prompts: use or dismiss some")
    }
    let prompt = Prompt(client: message.sender, path: ObjectPath.of(prompt: service.number()), objects: objects.filter(isKnown))
    prompts[prompt.path] = prompt
    try service.reply(message) { (answer) throws(Refusal) in
      try answer.put(paths: prompt.objects.filter(Self.isOfSession))
      try answer.put(path: prompt.path)
    }
  }

  /// Whether a path may be one of a collection or an item; items are not looked up.
  private func isKnown(_ path: String) -> Bool {
    let areAllKnown = service.isUnlocked && service.book.isRead
    return switch ObjectPath(path) {
    case .collection(let name): service.book[name] != nil || !areAllKnown
    case .alias(let name): service.book.collection(behind: name) != nil || !areAllKnown
    case .item(let item): service.book[item.collection] != nil || !areAllKnown
    default: false
    }
  }

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
    try service.ask(message, waits: false) { (vault) throws(Refusal) in
      try vault.lock()
    } _: { [self] (_) throws(Refusal) in
      service.note(nil as AgentMoment?)
      try replyLocked(message, locked)
    }
  }

  private func replyLocked(_ message: BusMessage, _ paths: [String]?) throws(Refusal) {
    try service.reply(message) { (answer) throws(Refusal) in
      guard let paths else { return }
      try answer.put(paths: paths)
      try answer.put(path: ObjectPath.none)
    }
  }

  // MARK: Prompt objects

  func call(_ message: BusMessage, _ method: String) throws(Refusal) {
    guard let prompt = prompts[message.path], prompt.client == message.sender else { throw .noSuchObject(message.path) }
    // The answer comes before any signal.
    try service.reply(message) { (_) throws(Refusal) in }
    guard method == "Prompt" else { return complete(prompt, isDone: false) }
    guard !prompt.isStarted else { return }
    prompt.isStarted = true
    guard !service.isUnlocked else {
      let inbox = service.inbox
      let path = prompt.path
      return service.queue.asyncAfter(deadline: .now() + Self.afterwards) { inbox.post(.prompted(path)) }
    }
    let deadline = service.settings.hasPrompt ? nil : service.waitingEnd(for: message)
    service.unlocker.unlock(mayAsk: true, until: deadline) { [weak self] in
      self?.prompts[prompt.path] != nil
    } then: { [weak self] isDone in
      self?.complete(prompt, isDone: isDone)
    }
  }

  /// Ends a prompt, once.
  private func complete(_ prompt: Prompt, isDone: Bool) {
    guard prompts.removeValue(forKey: prompt.path) != nil else { return }
    service.announcer.complete(prompt, isDone: isDone)
    endUnneededAttempt()
  }

  func complete(_ path: String) {
    if let prompt = prompts[path] { complete(prompt, isDone: service.isUnlocked) }
  }

  func dropAll(of client: String) {
    prompts = prompts.filter { $0.value.client != client }
    endUnneededAttempt()
  }

  func names(of client: String) -> [String] {
    prompts.values.filter { $0.client == client }.compactMap { $0.path.split(separator: "/").last.map(String.init) }.sorted()
  }

  /// Ends the asking program if nobody waits for its answer.
  func endUnneededAttempt() {
    guard service.parked.isEmpty, !prompts.values.contains(where: \.isStarted) else { return }
    service.unlocker.endAttempt()
  }
}
