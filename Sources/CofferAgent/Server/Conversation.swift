internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import SystemPackage

/// One client's questions and the answers to them, on the client's thread.
final class Conversation {
  let server: AgentServer
  private let mark: Connections.Mark
  private var greeting: Greeting?
  /// The client, once it is needed.
  private var author: Author?
  /// Items that wait to be added.
  var staged = StagedItems()
  /// Whether the request at hand has changed the vault: it cannot be answered by a failure any more.
  private var hasChanged = false

  /// How long a client may take to say its first word, and how long it may be silent afterwards.
  private static let firstSilence = Duration.seconds(5)
  private static let longestSilence = Duration.seconds(300)
  /// How long a message may take, either way: the largest are of some megabytes, and both ends are on one machine.
  private static let wholeMessage = Duration.seconds(10)

  init(_ server: AgentServer, _ mark: Connections.Mark) {
    self.server = server
    self.mark = mark
  }

  /// Answers until the client goes, is silent for too long, or says what cannot be understood.
  func hold(with socket: borrowing LocalSocket) {
    // An answer that could not be sent, or not whole, is followed by the end of the connection and by nothing else: a client
    // would take more bytes for the rest of it, and a failure for what became of its request.
    do throws(AnswerFailure) { while try answerNext(on: socket) {} } catch {}
    server.staging.leave(&staged)
  }

  private func answerNext(on socket: borrowing LocalSocket) throws(AnswerFailure) -> Bool {
    let silence = greeting == nil ? Self.firstSilence : Self.longestSilence
    let arrival: LocalSocket.Arrival
    do throws(TransportFailure) {
      arrival = try mark.waiting { () throws(TransportFailure) in try socket.receive(begins: silence, whole: Self.wholeMessage) }
    } catch {
      // Nothing was done of a request that was not read. Where the next one begins is not known.
      try fail(error.error, on: socket)
      return false
    }
    switch consume arrival {
    case .closed: return false
    case .silence: return false
    case .frame(let frame): return try answer(frame, on: socket)
    }
  }

  /// Answers a request; false when the conversation is over.
  private func answer(_ frame: consuming Frame, on socket: borrowing LocalSocket) throws(AnswerFailure) -> Bool {
    let request: AgentProtocol.Request
    do throws(StoreError) { request = try frame.request() } catch {
      try fail(error, on: socket)
      return false
    }
    hasChanged = false
    do throws(AnswerFailure) {
      try answer(request, frame, on: socket)
      return request != .stop
    } catch {
      // A client that failed to receive, or whose change was made and cannot be told, is told by the end of the connection.
      guard case .refused(let error) = error, !hasChanged else { throw error }
      try fail(error, on: socket)
      // After a failed greeting the request that came with it must not be answered for another vault.
      return request != .greet
    }
  }

  private func answer(
    _ request: AgentProtocol.Request, _ frame: borrowing Frame, on socket: borrowing LocalSocket
  ) throws(AnswerFailure) {
    if request == .greet {
      try checked { () throws(StoreError) in
        greeting = try frame.arguments { (fields) throws(StoreError) in try fields.greeting() }
        try checkGreeting()
      }
      return try done(on: socket) { (_) throws(StoreError) in }
    }
    switch request {
    case .greet: return
    case .status:
      let status = try checked { () throws(StoreError) in
        try frame.noArguments()
        return try report
      }
      try done(on: socket) { (writer) throws(StoreError) in try writer.put(status) }
    case .lock:
      try checked { () throws(StoreError) in
        try frame.noArguments()
        guard let greeting, !greeting.path.isEmpty else { return server.vaults.lock(because: "it was asked to") }
        try vault.lock(because: "it was asked to")
      }
      try done(on: socket) { (_) throws(StoreError) in }
    case .stop:
      try checked { () throws(StoreError) in try frame.noArguments() }
      // After the answer, also to a client that does not wait for it.
      defer { server.stop() }
      server.vaults.lock(because: "the agent ended")
      try done(on: socket) { (_) throws(StoreError) in }
    case .unlock:
      try checked { () throws(StoreError) in
        let expectation = try vaultGreeting()
        var times = UnlockTimes()
        let credentials = try frame.arguments { (fields) throws(StoreError) in
          let credentials = try fields.credentials()
          times = try fields.unlockTimes()
          return credentials
        }
        let vault = try vault
        try server.vaults.unlock(vault, with: credentials, expectation, times)
        server.readAhead(vault)
      }
      server.wake()
      let status = try checked { () throws(StoreError) in try report }
      try done(on: socket) { (writer) throws(StoreError) in try writer.put(status) }
    case .watch:
      let known = try checked { () throws(StoreError) in
        _ = try vaultGreeting()
        return try frame.arguments { (fields) throws(StoreError) in try fields.optionalMoment() }
      }
      let moment = try checked { () throws(StoreError) in
        let vault = try vault
        let moment = try vault.moment(after: known, of: socket)
        try greeting?.check(moment.vault, at: vault.settings.vault)
        return moment
      }
      try done(on: socket) { (writer) throws(StoreError) in try writer.put(moment) }
    default:
      _ = try checked { () throws(StoreError) in try vaultGreeting() }
      try answerFromVault(request, frame, on: socket)
    }
  }

  /// The vault that the greeting named, else the one that the agent was started for.
  private var vault: AgentVault {
    get throws(StoreError) { try server.vaults.at(greeting?.path ?? "") }
  }

  private var report: AgentStatus {
    get throws(StoreError) {
      let vault = try vault
      let held = vault.describe()
      try greeting?.check(held.id, at: vault.settings.vault)
      return AgentStatus(
        process: getpid(), vault: vault.settings.vault, unlocked: held.id, whyLocked: held.whyLocked, idle: held.limits.idle,
        lifetime: held.limits.lifetime, idleLeft: max(.zero, held.idle), lifetimeLeft: max(.zero, held.life),
        others: server.vaults.unlocked.filter { $0 !== vault }.compactMap(\.held),
        connections: server.connections.count, unlockedMemory: SecretMemory.report.unlockedBytes)
    }
  }

  private func vaultGreeting() throws(StoreError) -> Greeting {
    guard let greeting, !greeting.path.isEmpty else { throw FrameReader.malformed("no greeting named the vault") }
    return greeting
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/otherVault`` for a path that is not whole,
  ///   ``/CofferPlatform/StoreError/Kind/replaced`` for another vault than is expected.
  private func checkGreeting() throws(StoreError) {
    guard let greeting, !greeting.path.isEmpty else { return }
    let vault = try vault
    try greeting.check(vault.describe().id, at: vault.settings.vault)
  }

  /// Runs `body` with the vault that the greeting asked for: of that id, at least as new, and of a key that comes from all that
  /// the client knows. That is checked each time, as the vault goes on meanwhile.
  func use<Result: Sendable>(
    isUse: Bool = true, _ body: (borrowing UnlockedVault) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let least = greeting?.leastGeneration
    return try vault.use(isUse: isUse) { (vault) throws(StoreError) in
      if let greeting {
        // Another vault may have been unlocked since the greeting.
        try greeting.check(vault.id, at: vault.place)
        try vault.check(greeting.invitations(to: vault.id))
      }
      if let least {
        let found = try vault.status().generation
        guard found >= least else {
          throw StoreError(
            .rolledBack, "commit \(found) stands where commit \(least) was expected", place: vault.place.description,
            cure: "find out who put an older vault back")
        }
      }
      return try body(vault)
    }
  }

  /// Runs `body`, which changes the vault, in the name of the client, if that still waits for an answer: one that was not
  /// answered in time has told its user so. It may go right after it was looked for, which is then a change whose outcome it does
  /// not know.
  func change<Result: Sendable>(
    on socket: borrowing LocalSocket, _ body: (borrowing UnlockedVault) throws(StoreError) -> Result
  ) throws(AnswerFailure) -> Result {
    guard !socket.isDeserted else { throw .transport(.gone) }
    let author = author ?? PeerProcess.author(at: socket, for: greeting?.behalf)
    self.author = author
    let result = try checked { () throws(StoreError) in
      try author.represented { () throws(StoreError) in try use(body) }
    }
    hasChanged = true
    server.vaults.watchers.tell()
    return result
  }

  /// Runs `body`, whose errors the client is told of.
  func checked<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(AnswerFailure) -> Result {
    do throws(StoreError) { return try body() } catch { throw .refused(error) }
  }

  /// Sends the answer, or its last page.
  func done(
    on socket: borrowing LocalSocket, _ body: (inout FrameWriter) throws(StoreError) -> Void
  ) throws(AnswerFailure) {
    try send(.done, on: socket, body)
  }

  func send(
    _ answer: AgentProtocol.Answer, on socket: borrowing LocalSocket, _ body: (inout FrameWriter) throws(StoreError) -> Void
  ) throws(AnswerFailure) {
    let writer = try checked { () throws(StoreError) in
      var writer = try FrameWriter(answer: answer)
      try body(&writer)
      return writer
    }
    try send(writer, on: socket)
  }

  func send(_ writer: consuming FrameWriter, on socket: borrowing LocalSocket) throws(AnswerFailure) {
    do throws(TransportFailure) {
      try writer.withFrame { (frame) throws(TransportFailure) in try socket.send(frame, within: Self.wholeMessage) }
    } catch { throw .transport(error) }
  }

  private func fail(_ error: StoreError, on socket: borrowing LocalSocket) throws(AnswerFailure) {
    try send(.failed, on: socket) { (writer) throws(StoreError) in try writer.put(error) }
  }
}

extension Greeting {
  /// - Throws: ``/CofferPlatform/StoreError/Kind/replaced`` for another vault than the client expects; a locked one is no other.
  fileprivate func check(_ found: VaultID?, at place: VaultPlace) throws(StoreError) {
    guard let expected = vault, let found, found != expected else { return }
    throw StoreError(
      .replaced, "the agent holds another vault than \(expected)", place: place.description,
      cure: "AgentClient.lock(), then unlock the vault that you expect", remedy: .relockAgent)
  }
}
