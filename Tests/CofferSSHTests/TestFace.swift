import CofferAgent
import CofferClient
import CofferMemory
import CofferPlatform
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferSSH

func secret(_ text: String) throws -> SecretBytes {
  try Array(text.utf8).span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
}

/// A vault, its agent and a face of ssh's on a socket, all in this process.
final class TestFace {
  let folder: TestFolder
  let face: SSHFace
  let socket: FilePath
  private let server: AgentServer
  private let agentSettings: AgentSettings
  private let agentIsDone = DispatchSemaphore(value: 0), isDone = DispatchSemaphore(value: 0)
  private let attempts = Collected<Bool>(), refusals = Collected<StoreError>()

  /// - Parameters:
  ///   - ownKey: whether the face may unlock the vault itself.
  ///   - change: of the face's settings.
  init(
    unlocked: Bool = true, ownKey: Bool = false, patience: Duration = .seconds(20),
    change: (inout SSHFaceSettings) -> Void = { _ in }
  ) throws {
    folder = try TestFolder("ssh")
    let vault = VaultPlace.file(folder.path.appending("vault.sqlite"))
    _ = try UnlockedVault.create(
      at: vault, with: Credentials(passphrase: try secret("correct horse")), cost: .testing, options: .withoutPins)
    agentSettings = AgentSettings(
      folder: folder.path.appending("run"), vault: vault, options: .withoutPins, idle: .seconds(36_000),
      lifetime: .seconds(36_000))
    server = try AgentServer(agentSettings)
    let client = AgentClient(folder: agentSettings.folder, vault: vault, options: .withoutPins)
    let (attempts, refusals) = (attempts, refusals)
    var offered = SSHVault(client: client) { (mayAsk) throws(StoreError) in
      attempts.add(mayAsk)
      do {
        if ownKey { _ = try client.unlock(with: Credentials(passphrase: try secret("correct horse"))) }
        return try TestBus.start([ownKey ? "/bin/true" : "/bin/false"])
      } catch { throw StoreError(.io(0), "no process", cure: "none") }
    }
    offered.hasOwnKey = ownKey
    var settings = SSHFaceSettings(vaults: [offered])
    settings.patience = patience
    settings.note = { (error: StoreError) in refusals.add(error) }
    change(&settings)
    face = try SSHFace(settings)
    socket = folder.path.appending("ssh.sock")
    let (server, agentIsDone, face, isDone) = (server, agentIsDone, face, isDone)
    let listener = Handover(try SSHListener(at: socket))
    Thread.detachNewThread {
      do { try server.run() } catch { Issue.record(error) }
      agentIsDone.signal()
    }
    if unlocked { try unlock() }
    Thread.detachNewThread {
      do { try face.run(on: listener.take()) } catch { Issue.record(error) }
      isDone.signal()
    }
  }

  deinit {
    face.stop()
    isDone.wait()
    server.stop()
    agentIsDone.wait()
  }

  var client: AgentClient { AgentClient(folder: agentSettings.folder, vault: agentSettings.vault, options: .withoutPins) }
  func unlock() throws { _ = try client.unlock(with: Credentials(passphrase: try secret("correct horse"))) }
  /// For each attempt to unlock the vault, whether it might ask a person.
  var tried: [Bool] { attempts.all }
  var refused: [StoreError] { refusals.all }

  struct Answer {
    let status: Int32, out: String
  }

  /// Runs a program of OpenSSH with the socket; skips the test without it.
  func run(_ words: String..., input: String? = nil, environment: [String: String] = [:]) throws -> Answer {
    guard access(words[0], X_OK) == 0 else { try Test.skip(without: words[0]) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path.string)
    process.environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path.string, "SSH_AUTH_SOCK": socket.string].merging(
      environment
    ) { $1 }
    let output = Pipe(), given = Pipe()
    (process.standardOutput, process.standardError, process.standardInput) = (output, output, given)
    try process.run()
    try given.fileHandleForWriting.write(contentsOf: Data((input ?? "").utf8))
    try given.fileHandleForWriting.close()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    return Answer(status: process.terminationStatus, out: text)
  }

  /// A connection without a program.
  func connect() throws -> RawConnection { try RawConnection(socket) }
}

/// Sends bytes, well-formed or not.
final class RawConnection {
  private let descriptor: Int32

  init(_ socket: FilePath) throws {
    descriptor = socket.withPlatformString { coffer_local_connect($0, 2000) }
    try #require(descriptor >= 0)
  }

  deinit { close() }
  private var isClosed = false
  func close() {
    if !isClosed { systemClose(descriptor) }
    isClosed = true
  }

  func send(_ bytes: [UInt8]) { bytes.withUnsafeBytes { _ = coffer_send(descriptor, $0.baseAddress, $0.count) } }

  /// The answer to a request without its length; nil if the connection ended.
  func ask(_ body: [UInt8]) -> [UInt8]? {
    send(withUnsafeBytes(of: UInt32(body.count).bigEndian) { Array($0) } + body)
    return answer()
  }

  func answer() -> [UInt8]? {
    guard let head = read(4) else { return nil }
    return read(Int(head.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }))
  }

  private func read(_ count: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var part = [UInt8](repeating: 0, count: count - bytes.count)
      let got = recv(descriptor, &part, part.count, 0)
      guard got > 0 else { return nil }
      bytes += part.prefix(got)
    }
    return bytes
  }
}

private func systemClose(_ descriptor: Int32) { close(descriptor) }
