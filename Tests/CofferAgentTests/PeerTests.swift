import CofferClient
import CofferTestSupport
import CofferPlatform
import CofferStorage
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferAgent

@Suite struct PeerTests {
  private static func bytes(_ socket: borrowing LocalSocket, _ bytes: [UInt8]) {
    _ = write(socket.descriptor, bytes, bytes.count)
  }

  /// The kind of the next error on `socket`; nil if it is closed without one.
  private static func failure(on socket: borrowing LocalSocket) throws -> StoreError.Kind? {
    switch try socket.receive(begins: .seconds(120), whole: .seconds(120)) {
    case .frame(let frame):
      guard try frame.answerKind() == .failed else { return nil }
      return try frame.arguments { (fields) throws(StoreError) in try fields.error() }.kind
    case .closed: return nil
    case .silence: return .busy
    }
  }

  @Test func `one agent runs in a folder, and a socket left behind is replaced`() throws {
    let agent = try TestAgent()
    #expect(kind { _ = try AgentServer(agent.settings) } == .alreadyExists)
    agent.stop()
    #expect(kind { _ = try agent.client().status() } == .noAgent)
    // A killed agent leaves its name, without a listener.
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = agent.settings.folder.appending("agent.sock").string
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    _ = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
    #expect(access(path, F_OK) == 0)
    #expect(kind { _ = try agent.client().status() } == .noAgent)
    #expect(try !agent.client().isRunning())
    let next = try TestAgent(folder: agent.folder)
    defer { next.stop(); TestAgent.remove(agent.folder) }
    #expect(try next.client().isRunning())
  }

  @Test func `a folder that others can enter is refused on both ends, and the socket is its owner's alone`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    var facts = stat()
    #expect(stat(agent.settings.folder.appending("agent.sock").string, &facts) == 0 && facts.st_mode & 0o777 == 0o600)
    #expect(stat(agent.settings.folder.string, &facts) == 0 && facts.st_mode & 0o777 == 0o700)
    chmod(agent.settings.folder.string, 0o755)
    #expect(kind { _ = try agent.client().status() } == .denied)
    #expect(kind { _ = try AgentServer(agent.settings) } == .denied)
    chmod(agent.settings.folder.string, 0o700)
    #expect(try agent.client().isRunning())
  }

  @Test func `a folder too deep for a socket's address works`() throws {
    let top = try TestAgent.newFolder()
    defer { TestAgent.remove(top) }
    let folder = top.appending(String(repeating: "d", count: 120))
    let server = try AgentServer(AgentSettings(folder: folder, vault: .file(top.appending("v")), options: .withoutPins))
    Thread.detachNewThread { try? server.run() }
    #expect(try AgentClient(folder: folder).isRunning())
    server.stop()
  }

  @Test func `gigabytes and nonsense end the connection and nothing else`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let version = AgentProtocol.version
    let huge = try agent.connect()
    Self.bytes(huge, [0, 0, 0, 0x40, version, 1])
    #expect(try Self.failure(on: huge) == .tooLarge(limit: AgentProtocol.largestBody))
    let short = try agent.connect()
    Self.bytes(short, [1, 0, 0, 0, version])
    #expect(try Self.failure(on: short) == .damaged)
    let newer = try agent.connect()
    Self.bytes(newer, [2, 0, 0, 0, version + 1, 2])
    #expect(try Self.failure(on: newer) == .newerFormat(found: Int(version) + 1, supported: Int(version)))
    let unnamed = try agent.connect()
    Self.bytes(unnamed, [2, 0, 0, 0, version, 13])
    #expect(try Self.failure(on: unnamed) == .damaged)
    let trailing = try agent.connect()
    Self.bytes(trailing, [3, 0, 0, 0, version, 2, 0])
    #expect(try Self.failure(on: trailing) == .damaged)
    #expect(try agent.client().isRunning())
  }

  @Test func `a call that the agent does not know is unsupported, and its connection goes on`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let socket = try agent.connect()
    let unknown = AgentProtocol.highestCall + 1
    for call in [unknown, 0, 255, unknown] {
      Self.bytes(socket, [3, 0, 0, 0, AgentProtocol.version, call, 7])
      #expect(try Self.failure(on: socket) == .unsupported)
    }
    Self.bytes(socket, [2, 0, 0, 0, AgentProtocol.version, AgentProtocol.Request.status.rawValue])
    guard case .frame(let frame) = try socket.receive(begins: .seconds(120), whole: .seconds(120)) else {
      Issue.record("no answer"); return
    }
    #expect(try frame.answerKind() == .done)
  }

  /// An agent of another protocol version: answers each frame as unreadable, and ends when asked to in its own version.
  private static func serve(version: UInt8, at place: AgentPlace) throws -> DispatchSemaphore {
    let listener = try place.listen(), ended = DispatchSemaphore(value: 0)
    // The agent waits for more than clients, and so never in accept(2).
    guard fcntl(listener, F_SETFL, 0) == 0 else { throw CancellationError() }
    Thread.detachNewThread {
      defer {
        close(listener)
        unlink(place.socket.string)
        ended.signal()
      }
      while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
        var head = [UInt8](repeating: 0, count: 6)
        guard recv(descriptor, &head, head.count, Int32(MSG_WAITALL)) == head.count else { close(descriptor); continue }
        let isEnd = head == [2, 0, 0, 0, version, 5]
        // Done; or failed with an error whose fields only that version knows.
        let answer: [UInt8] = isEnd ? [2, 0, 0, 0, version, 0] : [3, 0, 0, 0, version, 2, 200]
        _ = write(descriptor, answer, answer.count)
        shutdown(descriptor, Int32(SHUT_WR))
        // Closed once the client has read, as a reset would discard the answer.
        while recv(descriptor, &head, head.count, 0) > 0 {}
        close(descriptor)
        if isEnd { return }
      }
    }
    return ended
  }

  @Test(arguments: [AgentProtocol.version - 1, AgentProtocol.version + 1])
  func `an agent of another version is told from a change that was not answered, and can be ended`(version: UInt8) throws {
    let folder = try TestAgent.newFolder()
    defer { TestAgent.remove(folder) }
    let ended = try Self.serve(version: version, at: AgentPlace(folder: folder))
    let client = AgentClient(folder: folder, vault: .file(folder.appending("v")), options: .withoutPins)
    for ask: () throws -> Void in [
      { _ = try client.list() }, { try client.set(form("v"), for: ItemName(service: "x")) },
      { _ = try client.unlock(with: TestAgent.credentials()) }, { _ = try client.isRunning() },
    ] {
      let error = #expect(throws: StoreError.self) { try ask() }
      #expect(error?.kind == .newerFormat(found: Int(version), supported: Int(AgentProtocol.version)))
      #expect(error?.remedy == .restartAgent)
    }
    try client.stop()
    ended.wait()
    #expect(try !client.isRunning())
  }

  @Test func `an agent ends when it is asked to, also by a client that is gone before the answer`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let socket = try agent.connect()
    // While the vault is in use, the agent does not answer a stop: it locks first.
    try agent.server.vaults.at("").use { (_) throws(StoreError) in
      Self.bytes(socket, [2, 0, 0, 0, AgentProtocol.version, AgentProtocol.Request.stop.rawValue])
      #expect(shutdown(socket.descriptor, Int32(SHUT_RDWR)) == 0)
    }
    eventually("the agent ends") { (try? agent.client().isRunning()) == false }
  }

  @Test(.tags(.slow), .wholeRun)
  func `half frames and silence end the connection after a while, and others are answered meanwhile`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let half = try agent.connect()
    let silent = try agent.connect()
    Self.bytes(half, [200, 0, 0, 0, 2, 1, 5])
    for _ in 0..<100 { _ = try agent.client().list() }
    #expect(try Self.failure(on: silent) == nil)
    #expect(try Self.failure(on: half) == .busy)
    #expect(try agent.client().isRunning())
  }

  @Test func `more silent connections than there is room for keep nobody out`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    var held: [Int32] = []
    defer { for descriptor in held { close(descriptor) } }
    for _ in 0..<(Connections.most * 2) { held.append(dup(try agent.connect().descriptor)) }
    for _ in 0..<50 { #expect(try agent.client().list().isEmpty) }
  }

  @Test func `a client that is used again after its connection was ended connects anew`() throws {
    let agent = try TestAgent()
    let client = agent.client()
    try client.set(form("v"), for: ItemName(service: "x"))
    agent.stop()
    #expect(kind { _ = try client.list() } == .noAgent)
    #expect(kind { try client.remove(ItemName(service: "x")) } == .noAgent)
    let next = try TestAgent(folder: agent.folder)
    defer { next.stop(); TestAgent.remove(agent.folder) }
    #expect(try client.list().count == 1)
  }
}
