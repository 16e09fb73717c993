internal import CofferPlatform
internal import CofferStorage
internal import CofferVault

extension Conversation {
  /// Answers a request for items.
  func answerFromVault(
    _ request: AgentProtocol.Request, _ frame: borrowing Frame, on socket: borrowing LocalSocket
  ) throws(AnswerFailure) {
    switch request {
    case .greet, .status, .unlock, .lock, .stop, .watch: return
    case .get:
      let name = try arguments(of: frame) { (fields) throws(StoreError) in try fields.itemName() }
      let form = try withVault { (vault) throws(StoreError) in try vault.get(name) }
      try done(on: socket) { (writer) throws(StoreError) in try writer.put(form) }
    case .item:
      let name = try arguments(of: frame) { (fields) throws(StoreError) in try fields.itemName() }
      let item = try withVault { (vault) throws(StoreError) in try vault.item(name) }
      try pages(of: item.map { [$0] } ?? [], on: socket) { (item, writer) throws(StoreError) in try writer.put(item) }
    case .find:
      let query = try arguments(of: frame) { (fields) throws(StoreError) in try fields.query() }
      let found = try withVault(isUse: query.isUse) { (vault) throws(StoreError) in try vault.find(query) }
      try pages(of: 0..<found.count, on: socket) { (position, writer) throws(StoreError) in
        try found.withDescription(at: position) { (raw) throws(StoreError) in try writer.put(prefixed: raw) }
      }
    case .apply:
      let changes = try arguments(of: frame) { (fields) throws(StoreError) in try fields.changes() }
      let items = try change(on: socket) { (vault) throws(StoreError) in try vault.apply(changes) }
      try pages(of: items, on: socket) { (item, writer) throws(StoreError) in try writer.put(item) }
    case .rehearse:
      let changes = try arguments(of: frame) { (fields) throws(StoreError) in try fields.changes() }
      try withVault { (vault) throws(StoreError) in try vault.rehearse(changes) }
      try done(on: socket) { (_) throws(StoreError) in }
    case .delete:
      let (name, condition, date) = try arguments(of: frame) { (fields) throws(StoreError) in
        (try fields.itemName(), try fields.condition(), try fields.optionalDate())
      }
      let isDone = try change(on: socket) { (vault) throws(StoreError) in
        try vault.remove(name, if: condition, keptUntil: date)
      }
      try done(on: socket) { (writer) throws(StoreError) in try writer.put(isDone) }
    case .fields:
      let name = try arguments(of: frame) { (fields) throws(StoreError) in try fields.itemName() }
      let items = try withVault { (vault) throws(StoreError) in try vault.fields(of: name) }
      try pages(of: items, on: socket) { (item, writer) throws(StoreError) in try writer.put(item) }
    case .verify:
      try checked { () throws(StoreError) in try frame.noArguments() }
      let report = try withVault { (vault) throws(StoreError) in try vault.verify() }
      try done(on: socket) { (writer) throws(StoreError) in
        try writer.put(UInt64(clamping: report.records))
        try writer.put(UInt64(clamping: report.items))
        try writer.put(UInt64(clamping: report.buckets))
      }
    case .log, .describe, .contents, .stage, .add: try answerTransfer(request, frame, on: socket)
    case .revisions, .revision, .deleted, .revert, .undelete, .prune: try answerFromHistory(request, frame, on: socket)
    case .load, .contains, .names, .commit, .forget, .version, .marked: try answerFromStore(request, frame, on: socket)
    }
  }

  /// Answers a request about what items and fields were.
  private func answerFromHistory(
    _ request: AgentProtocol.Request, _ frame: borrowing Frame, on socket: borrowing LocalSocket
  ) throws(AnswerFailure) {
    switch request {
    case .revisions:
      let name = try arguments(of: frame) { (fields) throws(StoreError) in try fields.itemName() }
      let revisions = try withVault { (vault) throws(StoreError) in try vault.revisions(of: name) }
      try pages(of: revisions, on: socket) { (revision, writer) throws(StoreError) in try writer.put(revision) }
    case .revision:
      let (name, revision) = try arguments(of: frame) { (fields) throws(StoreError) in
        (try fields.itemName(), try fields.number(UInt64.self))
      }
      let form = try withVault { (vault) throws(StoreError) in try vault.get(name, revision: revision) }
      try done(on: socket) { (writer) throws(StoreError) in try writer.put(form) }
    case .deleted:
      let service = try arguments(of: frame) { (fields) throws(StoreError) in try fields.optionalText() }
      let items = try withVault { (vault) throws(StoreError) in try vault.deleted(service: service) }
      try pages(of: items, on: socket) { (item, writer) throws(StoreError) in try writer.put(item) }
    case .revert:
      let (name, revision, condition) = try arguments(of: frame) { (fields) throws(StoreError) in
        (try fields.itemName(), try fields.number(UInt64.self), try fields.condition())
      }
      let item = try change(on: socket) { (vault) throws(StoreError) in
        try vault.revert(name, to: revision, if: condition)
      }
      try done(on: socket) { (writer) throws(StoreError) in try writer.put(item) }
    case .undelete:
      let name = try arguments(of: frame) { (fields) throws(StoreError) in try fields.itemName() }
      let item = try change(on: socket) { (vault) throws(StoreError) in try vault.undelete(name) }
      try done(on: socket) { (writer) throws(StoreError) in try writer.put(item) }
    case .prune:
      let (rule, name) = try arguments(of: frame) { (fields) throws(StoreError) in
        (try fields.pruneRule(), try fields.flag() ? try fields.itemName() : nil)
      }
      let count = try change(on: socket) { (vault) throws(StoreError) in try vault.prune(rule, of: name) }
      try done(on: socket) { (writer) throws(StoreError) in try writer.put(UInt64(clamping: count)) }
    default: return
    }
  }

  /// Answers a request for a store of one service.
  private func answerFromStore(
    _ request: AgentProtocol.Request, _ frame: borrowing Frame, on socket: borrowing LocalSocket
  ) throws(AnswerFailure) {
    switch request {
    case .load:
      let (service, names) = try arguments(of: frame) { (fields) throws(StoreError) in (try fields.text(), try fields.texts()) }
      let readings = try withVault { (vault) throws(StoreError) in
        try vault.load(names, service: service, mostBytes: AgentProtocol.mostLoaded)
      }
      try pages(of: readings, on: socket) { (reading, writer) throws(StoreError) in try writer.put(reading) }
    case .contains:
      let (service, name) = try arguments(of: frame) { (fields) throws(StoreError) in (try fields.text(), try fields.text()) }
      let isThere = try withVault { (vault) throws(StoreError) in try vault.contains(name, service: service) }
      try done(on: socket) { (writer) throws(StoreError) in try writer.put(isThere) }
    case .names:
      let (service, prefix) = try arguments(of: frame) { (fields) throws(StoreError) in
        (try fields.optionalText(), try fields.text())
      }
      let names = try withVault { (vault) throws(StoreError) in try vault.names(of: service, prefix: prefix) }
      try pages(of: names, on: socket) { (name, writer) throws(StoreError) in try writer.put(name) }
    case .version:
      let (service, name) = try arguments(of: frame) { (fields) throws(StoreError) in (try fields.text(), try fields.text()) }
      let version = try withVault { (vault) throws(StoreError) in try vault.version(of: name, service: service) }
      try done(on: socket) { (writer) throws(StoreError) in try writer.put(version) }
    case .marked:
      let service = try arguments(of: frame) { (fields) throws(StoreError) in try fields.text() }
      let items = try withVault { (vault) throws(StoreError) in try vault.sessionItems(service: service) }
      try pages(of: items.sorted { $0.key < $1.key }, on: socket) { (item, writer) throws(StoreError) in
        try writer.put(item.key)
        try writer.put(item.value)
      }
    case .commit:
      let (service, batch) = try arguments(of: frame) { (fields) throws(StoreError) in (try fields.text(), try fields.batch()) }
      let isDeserted = { [descriptor = socket.descriptor] in LocalSocket.isDeserted(descriptor) }
      try change(on: socket) { (vault) throws(StoreError) in
        try vault.commit(batch, service: service) { () throws(StoreError) in
          // Nobody hears of it: the answer to a client that is gone ends the connection.
          if isDeserted() { throw TransportFailure.gone.error }
        }
      }
      try done(on: socket) { (_) throws(StoreError) in }
    case .forget:
      let id = try arguments(of: frame) { (fields) throws(StoreError) in try fields.transactionID() }
      try withVault { (vault) throws(StoreError) in try vault.forget(id) }
      try done(on: socket) { (_) throws(StoreError) in }
    default: return
    }
  }

  func arguments<Result: ~Copyable>(
    of frame: borrowing Frame, _ body: (inout FrameReader) throws(StoreError) -> Result
  ) throws(AnswerFailure) -> Result {
    do throws(StoreError) { return try frame.arguments(body) } catch { throw .refused(error) }
  }

  /// Runs `body`, after which a failure may still be answered, with the vault.
  func withVault<Result: Sendable>(
    isUse: Bool = true, _ body: (borrowing UnlockedVault) throws(StoreError) -> Result
  ) throws(AnswerFailure) -> Result {
    do throws(StoreError) { return try use(isUse: isUse, body) } catch { throw .refused(error) }
  }

  /// Sends `elements` in as many frames as they need, each of which says how many it holds.
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

/// How answering a request failed.
enum AnswerFailure: Error {
  /// The request failed, or its answer cannot be sent: the client gets the error, unless its change was made.
  case refused(StoreError)
  /// The client cannot be told anything more: the connection ends.
  case transport(TransportFailure)
}
