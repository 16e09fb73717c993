internal import CofferClient
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault

/// On the client's thread.
final class Conversation {
  let server: AgentServer
  let mark: Connections.Mark
  private var greeting: Greeting?
  private var knownAuthor: Author?
  private let began = Duration.nanoseconds(coffer_time_since_boot())
  private var knownPeer: ProcessFacts??
  var staged = StagedItems()
  /// Its answer can be no failure any more.
  private var hasChanged = false

  /// A client's longest silence before its first request, and afterwards.
  private static let firstSilence = Duration.seconds(5)
  private static let longestSilence = Duration.seconds(300)
  /// The limit for a message in either direction: the largest are a few megabytes, within one machine.
  private static let wholeMessage = Duration.seconds(10)

  init(_ server: AgentServer, _ mark: Connections.Mark) {
    self.server = server
    self.mark = mark
  }

  /// Answers until the client leaves, is silent for too long, or sends something malformed.
  func hold(with socket: borrowing LocalSocket) {
    // After an incomplete answer the connection must end at once: a client would take more bytes for the rest of it, and a
    // failure for the outcome of its request.
    do throws(AnswerFailure) { while try answerNext(on: socket) {} } catch {}
    server.staging.leave(&staged)
  }

  private func answerNext(on socket: borrowing LocalSocket) throws(AnswerFailure) -> Bool {
    let silence = greeting == nil ? Self.firstSilence : Self.longestSilence
    let arrival: LocalSocket.Arrival<SecretBytes>
    do throws(TransportFailure) {
      arrival = try mark.waiting { () throws(TransportFailure) in try socket.receive(begins: silence, whole: Self.wholeMessage) }
    } catch {
      // The unread request has no effect. The start of the next one is unknown.
      try fail(error.error(), on: socket)
      return false
    }
    switch consume arrival {
    case .closed: return false
    case .silence: return false
    case .frame(let frame): return try answer(frame, on: socket)
    }
  }

  /// False when the conversation is over.
  private func answer(_ frame: consuming Frame, on socket: borrowing LocalSocket) throws(AnswerFailure) -> Bool {
    let kind: UInt8
    do throws(StoreError) { kind = try frame.kind() } catch {
      try fail(error, on: socket)
      return false
    }
    guard let request = AgentProtocol.Request(rawValue: kind) else {
      // A call of a newer agent. The client can do without it.
      try fail(StoreError(.unknownCall(kind)), on: socket)
      return true
    }
    hasChanged = false
    do throws(AnswerFailure) {
      try answer(request, frame, on: socket)
      return request != .stop
    } catch {
      // Only the end of the connection reports to a client that failed to receive, or whose change was made and cannot be
      // confirmed.
      guard case .refused(let error) = error, !hasChanged else { throw error }
      try fail(error, on: socket)
      // After a failed greeting, the request after it must not be answered for another vault.
      return request != .greet
    }
  }

  private func answer(
    _ request: AgentProtocol.Request, _ frame: borrowing Frame, on socket: borrowing LocalSocket
  ) throws(AnswerFailure) {
    if request == .greet {
      try checked { () throws(StoreError) in
        greeting = try frame.arguments { (fields) throws(StoreError) in try fields.read(Greeting.self) }
        try checkGreeting()
      }
      return try done(on: socket) { (writer) throws(StoreError) in try writer.put(AgentProtocol.highestCall) }
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
      // After the answer, even if the client does not wait for it.
      defer { server.stop() }
      server.vaults.lock(because: "the agent ended")
      try done(on: socket) { (_) throws(StoreError) in }
    case .unlock:
      try checked { () throws(StoreError) in
        let expectation = try vaultGreeting()
        var times = UnlockTimes()
        let credentials = try frame.arguments { (fields) throws(StoreError) in
          let credentials = try fields.credentials()
          times = try fields.read()
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
        return try frame.arguments { (fields) throws(StoreError) in try fields.read(AgentMoment?.self) }
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

  /// The greeting's vault, else the agent's first.
  var vault: AgentVault {
    get throws(StoreError) { try server.vaults.at(greeting?.path ?? "") }
  }

  /// The client's process, as it was at its first use of a key or read of a value; nil if it is unknown.
  func peer(at socket: borrowing LocalSocket) -> ProcessFacts? {
    if let knownPeer { return knownPeer }
    let peer = ProcessFacts(of: coffer_peer_process(socket.descriptor), before: began)
    knownPeer = peer
    return peer
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
    guard let greeting, !greeting.path.isEmpty else { throw StoreError.malformed("no greeting named the vault") }
    return greeting
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/otherVault`` for a relative path,
  ///   ``/CofferPlatform/StoreError/Kind/replaced`` for another vault than expected.
  private func checkGreeting() throws(StoreError) {
    guard let greeting, !greeting.path.isEmpty else { return }
    let vault = try vault
    try greeting.check(vault.describe().id, at: vault.settings.vault)
  }

  /// Runs `body` after checking the greeting's demands on the vault: its id, its least commit, and a key that comes from all
  /// invitations known to the client. Checked each time, as the vault changes meanwhile.
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
        let found = try vault.generation()
        guard found >= least else {
          throw StoreError(
            .rolledBack, "commit \(found) is where commit \(least) was expected", place: vault.place.description,
            cure: "find out who put an older vault back")
        }
      }
      return try body(vault)
    }
  }

  /// Runs `body`, which changes the vault, in the name of the client, if that still waits: it reports a missing answer to
  /// its user. If it leaves right after this check, the outcome is unknown to it.
  func change<Result: Sendable>(
    on socket: borrowing LocalSocket, _ body: (borrowing UnlockedVault) throws(StoreError) -> Result
  ) throws(AnswerFailure) -> Result {
    guard !socket.isDeserted else { throw .transport(.gone) }
    let author = author(at: socket)
    let result = try checked { () throws(StoreError) in
      try author.represented { () throws(StoreError) in try use(body) }
    }
    hasChanged = true
    server.vaults.watchers.tell()
    return result
  }

  /// The client, in the vault's log.
  func author(at socket: borrowing LocalSocket) -> Author {
    let author = knownAuthor ?? PeerProcess.author(at: socket, for: greeting?.behalf)
    knownAuthor = author
    return author
  }

  func checked<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(AnswerFailure) -> Result {
    do throws(StoreError) { return try body() } catch { throw .refused(error) }
  }

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
  /// - Throws: ``/CofferPlatform/StoreError/Kind/replaced`` for another vault than expected; a locked one does not count.
  fileprivate func check(_ found: VaultID?, at place: VaultPlace) throws(StoreError) {
    guard let expected = vault, let found, found != expected else { return }
    throw StoreError(
      .replaced, "the agent holds another vault than \(expected)", place: place.description,
      cure: "AgentClient.lock(), then unlock the vault that you expect", remedy: .relockAgent)
  }
}
