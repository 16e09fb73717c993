import CofferClient
import CofferPlatform
import Foundation
import SystemPackage

@testable import CofferAgent

/// A listener in the agent's place that sends each client given bytes, and then nothing more or the same forever.
final class SilentAgent: Sendable {
  private let folder: FilePath
  private let listener: Int32
  private let came = DispatchSemaphore(value: 0), ended = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - bytes: for each client, after its greeting and its question.
  ///   - more: sent after them, again and again.
  ///   - closing: whether the connection is closed after them.
  init(_ bytes: [UInt8] = [], more: [UInt8] = [], closing: Bool = false) throws {
    folder = try TestAgent.newFolder()
    chmod(folder.string, 0o700)
    listener = try AgentPlace(folder: folder).listen()
    // The agent waits for more than clients, and so never in accept(2).
    guard fcntl(listener, F_SETFL, 0) == 0 else { throw CancellationError() }
    let (listener, came, ended) = (listener, came, ended)
    Thread.detachNewThread {
      var clients: [Int32] = []
      while case let client = accept(listener, nil, nil), client >= 0 {
        clients.append(client)
        // The greeting and the question, so that nothing of them is unsent when the connection ends.
        guard Self.skipFrame(client), Self.skipFrame(client) else { continue }
        came.signal()
        var next = bytes
        while !next.isEmpty, send(client, next, next.count, Int32(MSG_NOSIGNAL)) == next.count { next = more }
        if closing { shutdown(client, Int32(SHUT_RDWR)) }
      }
      for client in clients { close(client) }
      ended.signal()
    }
  }

  private static func skipFrame(_ client: Int32) -> Bool {
    var count: UInt32 = 0
    guard recv(client, &count, 4, Int32(MSG_WAITALL)) == 4 else { return false }
    var body = [UInt8](repeating: 0, count: Int(UInt32(littleEndian: count)))
    return recv(client, &body, body.count, Int32(MSG_WAITALL)) == body.count
  }

  func connection() -> AgentConnection { AgentConnection(folder: folder.string, vault: "/v") }

  func waitForClient() { came.wait() }

  func end() {
    shutdown(listener, Int32(SHUT_RDWR))
    ended.wait()
    close(listener)
    TestAgent.remove(folder)
  }
}
