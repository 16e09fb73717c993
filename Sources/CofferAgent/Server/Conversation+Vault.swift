internal import CofferClient
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault

extension Conversation {
  func answerFromVault(
    _ request: AgentProtocol.Request, _ frame: borrowing Frame, on socket: borrowing LocalSocket
  ) throws(AnswerFailure) {
    switch request {
    case .greet, .status, .unlock, .lock, .stop, .watch: return
    case .get: try answer(Calls.get, frame, on: socket) { (form, name) in form == nil ? [] : [name] }
    case .item: try answer(Calls.item, frame, on: socket)
    case .fields: try answer(Calls.fields, frame, on: socket)
    case .apply: try answer(Calls.apply, frame, on: socket)
    case .rehearse: try answer(Calls.rehearse, frame, on: socket)
    case .delete: try answer(Calls.remove, frame, on: socket)
    case .names: try answer(Calls.names, frame, on: socket)
    case .revisions: try answer(Calls.revisions, frame, on: socket)
    case .revision: try answer(Calls.revision, frame, on: socket) { (form, name, _) in form == nil ? [] : [name] }
    case .deleted: try answer(Calls.deleted, frame, on: socket)
    case .revert: try answer(Calls.revert, frame, on: socket)
    case .undelete: try answer(Calls.undelete, frame, on: socket)
    case .prune: try answer(Calls.prune, frame, on: socket)
    case .load:
      try answer(Calls.load, frame, on: socket) { (found, service, names) in
        zip(found, names).compactMap { $0.form == nil ? nil : ItemName(sealed: service, $1) }
      }
    case .contains: try answer(Calls.contains, frame, on: socket)
    case .version: try answer(Calls.version, frame, on: socket)
    case .marked: try answer(Calls.marked, frame, on: socket)
    case .forget: try answer(Calls.forget, frame, on: socket)
    case .verify: try answer(Calls.verify, frame, on: socket)
    case .log: try answer(Calls.log, frame, on: socket)
    case .describe: try answer(Calls.describe, frame, on: socket)
    case .contents:
      try answer(Calls.contents, frame, on: socket) { (found, names) in
        zip(found, names).compactMap { if case .form = $0 { $1 } else { nil } }
      }
    case .find: try find(frame, on: socket)
    case .commit: try commit(frame, on: socket)
    case .stage: try stage(frame, on: socket)
    case .add: try add(frame, on: socket)
    case .keys: try answer(Calls.keys, frame, on: socket)
    case .use: try answer(Calls.use, frame, on: socket)
    case .allow: try allow(frame, on: socket)
    case .put: try answer(Calls.put, frame, on: socket)
    case .drop: try answer(Calls.drop, frame, on: socket)
    case .uses: try answer(Calls.uses, frame, on: socket)
    case .sync: try sync(frame, on: socket)
    }
  }

  private func answer<each Argument: WireValue, Answer: WireValue>(
    _ call: Call<Answer, repeat each Argument>, _ frame: borrowing Frame, on socket: borrowing LocalSocket,
    reads: ((Answer, repeat each Argument) -> [ItemName])? = nil
  ) throws(AnswerFailure) {
    let given = try arguments(of: frame) { (fields) throws(StoreError) in (repeat try (each Argument).read(from: &fields)) }
    let answer = try perform(call.effect, on: socket) { (vault) throws(StoreError) in
      let answer = try call.work(vault, repeat each given)
      if let reads { note(reads(answer, repeat each given), in: vault, on: socket) }
      return answer
    }
    try done(on: socket) { (writer) throws(StoreError) in try answer.put(in: &writer) }
  }

  private func answer<each Argument: WireValue, Element: WireValue>(
    _ call: ListCall<Element, repeat each Argument>, _ frame: borrowing Frame, on socket: borrowing LocalSocket,
    reads: (([Element], repeat each Argument) -> [ItemName])? = nil
  ) throws(AnswerFailure) {
    let given = try arguments(of: frame) { (fields) throws(StoreError) in (repeat try (each Argument).read(from: &fields)) }
    let list = try perform(call.effect, on: socket) { (vault) throws(StoreError) in
      let list = try call.work(vault, repeat each given)
      if let reads { note(reads(list, repeat each given), in: vault, on: socket) }
      return list
    }
    try pages(of: list, on: socket) { (element, writer) throws(StoreError) in try element.put(in: &writer) }
  }

  private func answer<each Argument: WireValue, Element: WireValue>(
    _ call: KeyCall<Element, repeat each Argument>, _ frame: borrowing Frame, on socket: borrowing LocalSocket
  ) throws(AnswerFailure) {
    let given = try arguments(of: frame) { (fields) throws(StoreError) in (repeat try (each Argument).read(from: &fields)) }
    let keyring = try checked { () throws(StoreError) in try vault.keyring }
    let client = peer(at: socket)
    let list = try perform(call.effect, on: socket) { (vault) throws(StoreError) in
      try call.work(keyring, client, vault, repeat each given)
    }
    try pages(of: list, on: socket) { (element, writer) throws(StoreError) in try element.put(in: &writer) }
  }

  /// Before the answer, and without any effect on it.
  private func note(_ names: [ItemName], in unlocked: borrowing UnlockedVault, on socket: borrowing LocalSocket) {
    do throws(StoreError) {
      let uses = try vault.uses
      uses.noteReads(of: names, by: peer(at: socket), in: unlocked)
    } catch {
      // The call itself has used the vault, so there is one.
    }
  }

  /// A passphrase is compared before the vault's turn, and wrong ones slow down as those of an unlock.
  private func allow(_ frame: borrowing Frame, on socket: borrowing LocalSocket) throws(AnswerFailure) {
    let approval = try arguments(of: frame) { (fields) throws(StoreError) in try fields.read(KeyApproval.self) }
    let vault = try checked { () throws(StoreError) in try self.vault }
    let isProven = try checked { () throws(StoreError) in try server.vaults.proves(approval.passphrase, of: vault) }
    try withVault { (unlocked) throws(StoreError) in
      try vault.keyring.allow(approval, isProven: isProven, in: unlocked)
    }
    try done(on: socket) { (_) throws(StoreError) in }
  }

  private func perform<Result: Sendable>(
    _ effect: CallEffect, on socket: borrowing LocalSocket, _ body: (borrowing UnlockedVault) throws(StoreError) -> Result
  ) throws(AnswerFailure) -> Result {
    effect == .items ? try change(on: socket, body) : try withVault(body)
  }

  private func find(_ frame: borrowing Frame, on socket: borrowing LocalSocket) throws(AnswerFailure) {
    let query = try arguments(of: frame) { (fields) throws(StoreError) in try fields.read(ItemQuery.self) }
    let found = try withVault(isUse: query.isUse) { (vault) throws(StoreError) in try vault.find(query) }
    try pages(of: 0..<found.count, on: socket) { (position, writer) throws(StoreError) in
      try found.withDescription(at: position) { (raw) throws(StoreError) in try writer.put(prefixed: raw) }
    }
  }

  private func commit(_ frame: borrowing Frame, on socket: borrowing LocalSocket) throws(AnswerFailure) {
    let (service, batch) = try arguments(of: frame) { (fields) throws(StoreError) in
      (try fields.text(), try fields.read(Batch<Vault>.self))
    }
    let isDeserted = { [descriptor = socket.descriptor] in LocalSocket.isDeserted(descriptor) }
    try change(on: socket) { (vault) throws(StoreError) in
      try vault.commit(batch, service: service) { () throws(StoreError) in
        // Never reported: the answer to a departed client ends the connection.
        if isDeserted() { throw TransportFailure.gone.error(as: StoreError.self) }
      }
    }
    try done(on: socket) { (_) throws(StoreError) in }
  }

  func arguments<Result: ~Copyable>(
    of frame: borrowing Frame, _ body: (inout FrameReader) throws(StoreError) -> Result
  ) throws(AnswerFailure) -> Result {
    do throws(StoreError) { return try frame.arguments(body) } catch { throw .refused(error) }
  }

  /// A failure may still be answered.
  func withVault<Result: Sendable>(
    isUse: Bool = true, _ body: (borrowing UnlockedVault) throws(StoreError) -> Result
  ) throws(AnswerFailure) -> Result {
    do throws(StoreError) { return try use(isUse: isUse, body) } catch { throw .refused(error) }
  }

  /// In as many frames as necessary, each with its count.
  func pages<Elements: RandomAccessCollection>(
    of elements: Elements, on socket: borrowing LocalSocket,
    _ put: (Elements.Element, inout FrameWriter) throws(StoreError) -> Void
  ) throws(AnswerFailure) {
    var rest = elements[...]
    repeat {
      let page = try checked { () throws(StoreError) in
        var page = try FrameWriter(page: ())
        var count: UInt32 = 0
        while let element = rest.first, count == 0 || page.bodyCount < AgentProtocol.pageBytes {
          try put(element, &page)
          count += 1
          rest.removeFirst()
        }
        page.finishPage(count, isLast: rest.isEmpty)
        return page
      }
      try send(page, on: socket)
    } while !rest.isEmpty
  }
}

enum AnswerFailure: Error {
  /// The request failed, or its answer cannot be sent: the client gets the error, unless its change was made.
  case refused(StoreError)
  /// The client cannot be reached any more: the connection ends.
  case transport(TransportFailure)
}
