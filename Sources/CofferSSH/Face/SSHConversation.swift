internal import CofferAgent
internal import CofferClient
internal import CofferMemory
internal import CofferPlatform

/// The requests of one connection.
final class SSHConversation {
  private let face: SSHFace
  private let mark: Connections.Mark
  private let descriptor: Int32
  /// The program at the other end; 0 if it is of another namespace.
  private let asker: UInt32
  /// The servers through which the requests come.
  private var bindings: [SessionBinding] = []
  /// Whether a server's binding was refused: nobody knows then where the requests come from.
  private var isMisbound = false

  /// A silent program may keep its connection: ssh does for a session.
  private static let silence = Duration.seconds(3600)
  private static let wholeMessage = Duration.seconds(10)

  init(_ face: SSHFace, _ socket: borrowing LocalSocket, _ mark: Connections.Mark) {
    (self.face, self.mark, descriptor) = (face, mark, socket.descriptor)
    asker = UInt32(clamping: coffer_peer_process(socket.descriptor))
  }

  /// Answers until the program leaves, or announces an impossible length.
  func hold(on socket: borrowing LocalSocket) {
    do throws(TransportFailure) {
      while !face.isEnding {
        let arrival = try mark.waiting { () throws(TransportFailure) in
          try socket.receive(
            into: SecretBytes.self, begins: Self.silence, whole: Self.wholeMessage, framing: SSHRequest.framing)
        }
        switch consume arrival {
        case .frame(let frame):
          let answer = frame.body.withUnsafeBytes { self.answer(to: $0) }
          try answer.span.bytes.withUnsafeBytes { (raw) throws(TransportFailure) in
            try socket.send(raw, within: Self.wholeMessage)
          }
        case .closed: return
        case .silence: continue
        }
      }
    } catch {
      // The connection is over in any case; who left knows why.
      if case .tooLarge = error { face.settings.note(error.error()) }
    }
  }

  private func answer(to raw: UnsafeRawBufferPointer) -> [UInt8] {
    do throws(StoreError) { return try answer(to: SSHRequest.parse(raw)) } catch {
      face.settings.note(error)
      return SSHAnswer.failure
    }
  }

  private func answer(to request: SSHRequest) throws(StoreError) -> [UInt8] {
    // RFC 9987, section 5.7: a locked agent names no key, and does nothing else.
    if face.lock.isLocked {
      switch request {
      case .unlock, .bind: break
      case .list: return SSHAnswer.list([])
      default: return SSHAnswer.failure
      }
    }
    try checkChanges(request)
    switch request {
    case .list: return SSHAnswer.list(try list())
    case .sign(let blob, let data, let flags): return try sign(blob, data, flags)
    case .add(let fields, let isConstrained): try add(fields, isConstrained: isConstrained)
    case .remove(let blob): return try drop(KeyBlob(blob)) > 0 ? SSHAnswer.success : SSHAnswer.failure
    case .removeAll: _ = try drop(nil)
    case .lock(let passphrase): return try face.lock.lock(with: passphrase) ? SSHAnswer.success : SSHAnswer.failure
    case .unlock(let passphrase): return try face.lock.unlock(with: passphrase) ? SSHAnswer.success : SSHAnswer.failure
    case .bind(let binding):
      guard bind(binding) else { return SSHAnswer.extensionFailure }
    case .query: return SSHAnswer.query
    case .unknown: return SSHAnswer.failure
    }
    return SSHAnswer.success
  }

  // MARK: Bindings

  /// Source: OpenSSH's PROTOCOL.agent, section 1. The agent checks the signatures, at each use.
  private func bind(_ binding: SessionBinding?) -> Bool {
    let isSound = binding.map(record) ?? false
    isMisbound = isMisbound || !isSound
    return isSound
  }

  private func record(_ binding: SessionBinding) -> Bool {
    guard bindings.allSatisfy(\.isForwarding) else { return false }
    // A session has one server.
    if let known = bindings.first(where: { $0.sessionID == binding.sessionID }) { return known.hostKey == binding.hostKey }
    guard bindings.count < KeyLimits.mostBindings else { return false }
    bindings.append(binding)
    return true
  }

  private func checkBound() throws(StoreError) {
    guard isMisbound else { return }
    throw StoreError(.refused, "a server's binding of this connection was refused", cure: "connect anew")
  }

  /// A host that has the forwarded agent changes nothing for this one: neither its keys nor its lock.
  private func checkChanges(_ request: SSHRequest) throws(StoreError) {
    switch request {
    case .add, .remove, .removeAll, .lock, .unlock: break
    default: return
    }
    try checkBound()
    guard !isForwarded else {
      throw StoreError(.refused, "another host may not change this agent's keys or its lock", cure: "ssh-add on this host")
    }
  }

  // MARK: Keys

  /// The keys of all vaults. One that stays locked keeps no others back.
  private func list() throws(StoreError) -> [KeyListing] {
    try checkBound()
    var keys: [KeyListing] = [], failure: StoreError?
    for waits in face.waits {
      do throws(StoreError) { keys += try offered(of: waits) } catch { failure = failure ?? error }
    }
    // Without a key, a program would go on as if there were none.
    if let failure, keys.isEmpty { throw failure }
    return keys
  }

  private func offered(of waits: UnlockWaits) throws(StoreError) -> [KeyListing] {
    let all = try unlocked(waits) { (vault) throws(StoreError) in try vault.client.ask(Calls.keys, bindings) }
    guard let names = face.settings.keys else { return all }
    return all.filter { names.contains($0.comment) }
  }

  private func sign(_ blob: [UInt8], _ data: [UInt8], _ flags: UInt32) throws(StoreError) -> [UInt8] {
    try checkBound()
    let use = KeyUse(blob: blob, work: .sign(data, flags: flags), bindings: bindings, asker: asker)
    var failure: StoreError?
    for waits in face.waits {
      do throws(StoreError) {
        if face.settings.keys != nil {
          guard try offered(of: waits).contains(where: { $0.blob == blob }) else { continue }
        }
        let signature = try unlocked(waits) { (vault) throws(StoreError) in try result(of: use, vault) }
        return signature.bytes.withUnsafeBytes { SSHAnswer.signature($0) }
      } catch {
        // The vault that has the key says more than the others.
        if failure == nil || error.kind != .notFound { failure = error }
        guard error.kind == .notFound else { break }
      }
    }
    throw failure ?? StoreError(.notFound, "this socket does not offer the key", cure: "ssh-add -L lists its keys")
  }

  private func add(_ fields: UnsafeRawBufferPointer, isConstrained: Bool) throws(StoreError) {
    try checkTakesKeys()
    let addition = KeyAddition.loaded(SecretForm(try .copy(of: fields)), isConstrained: isConstrained)
    _ = try unlocked(face.waits[0]) { (vault) throws(StoreError) in try vault.client.ask(Calls.put, addition) }
  }

  private func drop(_ blob: KeyBlob?) throws(StoreError) -> UInt64 {
    try checkTakesKeys()
    var count: UInt64 = 0, failure: StoreError?
    for vault in face.settings.vaults {
      do throws(StoreError) { count += try vault.client.ask(Calls.drop, blob).first ?? 0 } catch {
        // Nothing is offered without a vault.
        if !error.isOfLock, error.kind != .notFound { failure = failure ?? error }
      }
    }
    if let failure { throw failure }
    return count
  }

  private func checkTakesKeys() throws(StoreError) {
    guard face.settings.keys == nil else {
      throw StoreError(.refused, "this socket offers chosen keys alone", cure: "use another socket, without --key")
    }
  }

  // MARK: Waiting

  private func unlocked<Result>(
    _ waits: UnlockWaits, _ body: (SSHVault) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try waits.unlocked(isDeserted: { isDeserted }, tell: tellLocked) { () throws(StoreError) in try body(waits.vault) }
  }

  private func tellLocked(_ left: Duration) {
    guard !isForwarded, let terminal = AskerTerminal(of: asker) else { return }
    terminal.write(
      "\rcoffer: the vault is locked: 'coffer unlock' elsewhere within \(left.components.seconds + 1) s, or control-C\n")
  }

  private var isForwarded: Bool { bindings.contains(where: \.isForwarding) }
  private var isDeserted: Bool { face.isEnding || LocalSocket.isDeserted(descriptor) }

  /// Uses a key. If the agent has a question, its answer is awaited.
  private func result(of use: KeyUse, _ vault: SSHVault) throws(StoreError) -> SecretForm {
    var use = use, asking: Asking?
    while true {
      switch try vault.client.ask(Calls.use, use).first {
      case .done(let result)?: return result
      case .asks(let question)?:
        use.ticket = question.ticket
        guard !isDeserted else {
          try vault.client.allow(.no(question.ticket))
          throw StoreError(.closed, "the program has gone", cure: "try again")
        }
        // A terminal here is not that of a program elsewhere.
        let open =
          asking
          ?? Asking(
            question, by: vault, asker: isForwarded ? 0 : asker, patience: face.settings.patience, face.places)
        asking = open
        try open.goOn()
      case nil: throw StoreError(.notFound, "the agent gives no answer", cure: "try again")
      }
    }
  }
}
