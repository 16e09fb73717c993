internal import CofferClient
internal import CofferPlatform
internal import CofferSync
internal import CofferVault
internal import Synchronization

extension Conversation {
  /// Syncs with a remote, or tells of the automatic syncs that nobody has been told of.
  func sync(_ frame: borrowing Frame, on socket: borrowing LocalSocket) throws(AnswerFailure) {
    let request = try arguments(of: frame) { (fields) throws(StoreError) in try fields.read(SyncRequest?.self) }
    let syncs = try checked { () throws(StoreError) in try vault.syncs }
    let outcomes: [SyncOutcome]
    if let request {
      let author = author(at: socket)
      let work = try withVault { (vault) throws(StoreError) in try syncs.sync(request, of: vault) }
      outcomes = [
        SyncOutcome(
          request.remote,
          .success(try end(of: { () throws(StoreError) in try author.represented(work) }, on: socket)))
      ]
    } else {
      outcomes = try withVault(isUse: false) { (_) throws(StoreError) in syncs.takeNews() }
    }
    let json = try checked { () throws(StoreError) in try outcomes.json }
    let parts = Array(stride(from: 0, to: json.count, by: AgentProtocol.pageBytes))
    try pages(of: parts, on: socket) { (start, writer) throws(StoreError) in
      try writer.put(Array(json[start..<min(start + AgentProtocol.pageBytes, json.count)]))
    }
  }

  /// Runs `work` on a thread of its own: it goes on if the client leaves, and the end of the agent does not wait for it.
  private func end(
    of work: @escaping @Sendable () throws(StoreError) -> SyncReport, on socket: borrowing LocalSocket
  ) throws(AnswerFailure) -> SyncReport {
    let answer = try checked { () throws(StoreError) in try LaterReport() }
    try checked { () throws(StoreError) in
      try DetachedThread.start(stackBytes: Connections.stackBytes, place: "agent") {
        do throws(StoreError) { answer.give(.success(try work())) } catch { answer.give(.failure(error)) }
      }
    }
    // Its end alone: the next request waits.
    var waiting = [
      pollfd(fd: answer.bell.hearing, events: Int16(POLLIN), revents: 0), pollfd(fd: socket.descriptor, events: 0, revents: 0),
    ]
    mark.waiting { while waiting.allSatisfy({ $0.revents == 0 }) { _ = poll(&waiting, 2, -1) } }
    guard let result = answer.result else { throw .transport(.gone) }
    return try checked { () throws(StoreError) in try result.get() }
  }

  private final class LaterReport: Sendable {
    let bell: Bell
    private let given = Mutex<Result<SyncReport, StoreError>?>(nil)

    init() throws(StoreError) { bell = try Bell() }

    var result: Result<SyncReport, StoreError>? { given.withLock { $0 } }

    func give(_ result: Result<SyncReport, StoreError>) {
      given.withLock { $0 = result }
      bell.ring()
    }
  }
}
