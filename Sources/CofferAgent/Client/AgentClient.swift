internal import CofferClient
internal import CofferMemory
public import CofferPlatform
internal import CofferStorage
public import CofferVault
public import SystemPackage

/// Asks a running agent for the items of one vault. Safe to share between threads; reconnects when necessary.
///
/// The agent's errors are those of the vault in this process. Nothing was done after
/// ``/CofferPlatform/StoreError/Kind/locked`` (the agent holds no key) and ``/CofferPlatform/StoreError/Kind/noAgent`` (none
/// is running). Without an answer, a change throws ``/CofferPlatform/StoreError/Kind/outcomeUnknown``, any other request
/// ``/CofferPlatform/StoreError/Kind/busy``. Failures at this end, such as exhausted memory, keep their kind.
public final class AgentClient: Sendable {
  let place: AgentPlace
  private let greeting: Greeting
  private let line: AgentLine<SecretBytes>

  /// The limit for an unlock: the agent hashes one passphrase of a user at a time, and a turn may take 30 s to come.
  static let unlockTime = Duration.seconds(120)

  /// A client of the agent in `folder`, for the vault at `vault`.
  ///
  /// - Parameters:
  ///   - folder: the run folder.
  ///   - vault: the vault's place, as given to the agent.
  ///   - options: the expected vault, which the agent checks before each answer; the oldest accepted commit and the
  ///     invitations, which it checks before each answer from the vault. It uses its own pins.
  ///   - known: further invitations, as from an identity's file: those to other vaults do not count.
  public convenience init(folder: FilePath, vault: VaultPlace, options: VaultOptions, known: [Invitation] = []) {
    self.init(folder: folder, vault: vault, options: options, known: known, answerTime: nil)
  }

  package convenience init(
    folder: FilePath, vault: VaultPlace, options: VaultOptions, known: [Invitation] = [], answerTime: Duration?
  ) {
    let greeting = Greeting(
      path: vault.description, vault: options.expected ?? options.invitations.first?.vault,
      leastGeneration: options.leastGeneration,
      invitations: options.invitations, known: known)
    self.init(AgentPlace(folder: folder), greeting, answerTime)
  }

  private init(_ place: AgentPlace, _ greeting: Greeting, _ answerTime: Duration?) {
    (self.place, self.greeting) = (place, greeting)
    line = AgentLine(place.address, answerTime: answerTime) { (writer) throws(StoreError) in try writer.put(greeting) }
  }

  /// The vault's log ascribes its changes to another process, unchecked.
  package func on(_ behalf: Behalf) -> AgentClient {
    var greeting = greeting
    greeting.behalf = behalf
    return AgentClient(place, greeting, line.answerTime)
  }

  /// Another limit for an answer to begin.
  package func waiting(_ answerTime: Duration) -> AgentClient {
    AgentClient(place, greeting, answerTime)
  }

  /// A client for questions about the agent in `folder` itself.
  public convenience init(folder: FilePath) { self.init(AgentPlace(folder: folder), Greeting(path: ""), nil) }

  /// Whether an agent listens.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` if its folder or process is another user's.
  public func isRunning() throws(StoreError) -> Bool { try line.isAnswered() }

  /// The agent's status.
  public func status() throws(StoreError) -> AgentStatus {
    try ask(.status) { (fields) throws(StoreError) in try fields.read() }
  }

  /// Makes the agent unlock the vault.
  ///
  /// - Parameters:
  ///   - credentials: the secrets for the vault.
  ///   - idle: the time without a request after which it locks again, at least 1 s; nil for the agent's own.
  ///   - lifetime: the time after which it locks in any case, at least 1 s; nil for the agent's own.
  /// - Throws: the errors of unlocking; ``/CofferPlatform/StoreError/Kind/busy`` after many wrong secrets.
  public func unlock(
    with credentials: borrowing Credentials, idle: Duration? = nil, lifetime: Duration? = nil
  ) throws(StoreError) -> AgentStatus {
    try ask(.unlock, isWrite: true, within: Self.unlockTime) { (writer) throws(StoreError) in
      try writer.put(credentials)
      try writer.put(UnlockTimes(idle: idle, lifetime: lifetime))
    } answer: { (fields) throws(StoreError) in
      try fields.read(AgentStatus.self)
    }
  }

  /// Makes the agent wipe the keys of this client's vault; without a vault all keys.
  public func lock() throws(StoreError) { try ask(.lock) { (_) throws(StoreError) in } }

  /// Makes the agent wipe its keys and end, even in another protocol version.
  public func stop() throws(StoreError) {
    do throws(StoreError) { try ask(.stop) { (_) throws(StoreError) in } } catch {
      guard case .newerFormat(let version, _) = error.kind, let version = UInt8(exactly: version) else { throw error }
      try line.stop(inVersion: version, after: error)
    }
  }

  package func ask<each Argument: WireValue, Answer: WireValue>(
    _ call: Call<Answer, repeat each Argument>, _ arguments: repeat each Argument
  ) throws(StoreError) -> Answer {
    let arguments = (repeat each arguments)
    return try ask(call.request, isWrite: call.effect != .none) { (writer) throws(StoreError) in
      try writer.put(repeat each arguments)
    } answer: { (fields) throws(StoreError) in
      try fields.read()
    }
  }

  package func ask<each Argument: WireValue, Element: WireValue>(
    _ call: ListCall<Element, repeat each Argument>, _ arguments: repeat each Argument
  ) throws(StoreError) -> [Element] {
    let arguments = (repeat each arguments)
    return try askForList(call.request, call.effect) { (writer) throws(StoreError) in try writer.put(repeat each arguments) }
  }

  package func ask<each Argument: WireValue, Element: WireValue>(
    _ call: KeyCall<Element, repeat each Argument>, _ arguments: repeat each Argument
  ) throws(StoreError) -> [Element] {
    let arguments = (repeat each arguments)
    return try askForList(call.request, call.effect) { (writer) throws(StoreError) in try writer.put(repeat each arguments) }
  }

  private func askForList<Element: WireValue>(
    _ request: AgentProtocol.Request, _ effect: CallEffect, _ put: (inout FrameWriter) throws(StoreError) -> Void
  ) throws(StoreError) -> [Element] {
    var list: [Element] = []
    try askForPages(request, isWrite: effect != .none, put) { (fields) throws(StoreError) in list.append(try fields.read()) }
    return list
  }

  /// Answers a question about a key, or approves uses ahead.
  package func allow(_ approval: KeyApproval) throws(StoreError) {
    try ask(.allow, isWrite: true, within: Self.unlockTime) { (writer) throws(StoreError) in
      try writer.put(approval)
    } answer: { (_) throws(StoreError) in
    }
  }

  func ask<Result>(
    _ request: AgentProtocol.Request, isWrite: Bool = false, within time: Duration? = nil,
    _ put: (inout FrameWriter) throws(StoreError) -> Void = { _ in },
    answer: (inout FrameReader) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let (rest, timing) = try begin(time)
    defer { timing?.end() }
    return try line.ask(request, isWrite: isWrite, within: rest, put, answer: answer)
  }

  func askForPages(
    _ request: AgentProtocol.Request, isWrite: Bool = false, within time: Duration? = nil,
    _ put: (inout FrameWriter) throws(StoreError) -> Void, element: (inout FrameReader) throws(StoreError) -> Void
  ) throws(StoreError) {
    let (rest, timing) = try begin(time)
    defer { timing?.end() }
    try line.askForPages(request, isWrite: isWrite, within: rest, put, element: element)
  }

  /// The rest of `time`, of which asynchronous code may have spent a part behind other calls.
  private func begin(_ time: Duration?) throws(StoreError) -> (rest: Duration, Measure?) {
    try Reentrancy.check(place.socket.string)
    try Waiting.refuse(at: place.socket.string)
    try Waiting.checkGoesOn(at: place.socket.string)
    let rest = (time ?? line.answerTime) - Waiting.waited
    guard rest > .zero else { throw line.said(of: .unsent(.slow), isWrite: false) }
    return (rest, Measure.begin(.agentCall))
  }
}

extension AgentClient {
  /// Waits up to half a minute for a lock, unlock or change of the vault. It is no use of the vault.
  ///
  /// - Parameter known: the last moment; nil returns the current one at once.
  package func moment(after known: AgentMoment?) throws(StoreError) -> AgentMoment {
    try ask(.watch) { (writer) throws(StoreError) in
      try writer.put(known)
    } answer: { (fields) throws(StoreError) in
      try fields.read(AgentMoment.self)
    }
  }

  /// Calls `tell` when an agent may have begun to listen; nil if that cannot be observed, as its folder does not exist yet.
  package func watchForAgent(_ tell: @escaping @Sendable () -> Void) -> Subscription? {
    do throws(StoreError) {
      return try DirectoryWatch.start(place.folder, names: [place.socket.lastName ?? ""]) { _ in tell() }
    } catch { return nil }
  }
}
