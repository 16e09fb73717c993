internal import CofferPlatform
internal import Foundation
internal import Testing

/// Two computers with a wire between them: Linux network namespaces, which end with this object, or with the process.
///
/// The wire carries only their own packets, and no other process sees its names, so tests use the same addresses at once.
public final class TestNetwork: Sendable {
  /// How packets are lost.
  public enum Loss: String, Sendable, CaseIterable {
    case toServer
    case fromServer
    case bothWays
    /// All of them, and the server's computer sees that its wire is unplugged.
    case cable
  }

  private struct End: Sendable {
    let shell: HeldShell
    let name: String
    let address: String
    let hardware: String

    var words: [String] { ["/usr/bin/nsenter", "--net=/proc/\(shell.id)/ns/net"] }

    func run(_ commands: String) throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: words[0])
      process.arguments = Array(words.dropFirst()) + ["/bin/sh", "-ec", commands]
      try process.run()
      process.waitUntilExit()
      try #require(process.terminationStatus == 0, "\(commands)")
    }
  }

  private let server: End
  private let client: End

  /// The server's address for the client.
  public var address: String { server.address }
  var atServer: [String] { server.words }
  /// The words before a program at the client's end.
  public var atClient: [String] { client.words }

  /// Skips the test without network namespaces.
  public static func make() throws -> TestNetwork {
    for program in ["/usr/bin/unshare", "/usr/bin/nsenter", "/sbin/ip"] where access(program, X_OK) != 0 {
      try Test.skip(without: program)
    }
    guard let server = HeldShell.start(["/usr/bin/unshare", "--net"]),
      let client = HeldShell.start(["/usr/bin/unshare", "--net"])
    else { try Test.skip("no network namespace can be made here, which is root's") }
    return try TestNetwork(server, client)
  }

  private init(_ server: HeldShell, _ client: HeldShell) throws {
    self.server = End(shell: server, name: "wire0", address: "192.0.2.1", hardware: "02:00:00:00:00:01")
    self.client = End(shell: client, name: "wire1", address: "192.0.2.2", hardware: "02:00:00:00:00:02")
    try self.server.run(
      """
      ip link set lo up
      ip link add wire0 address \(self.server.hardware) type veth peer name wire1 address \(self.client.hardware) netns \(client.id)
      ip address add \(self.server.address)/24 dev wire0
      """)
    try self.client.run("ip link set lo up; ip address add \(self.client.address)/24 dev wire1")
    try mend()
  }

  /// Silently loses packets from now on: they are addressed to a card that is not at the other end.
  public func lose(_ loss: Loss) throws {
    switch loss {
    case .toServer: try misdirect(client, server)
    case .fromServer: try misdirect(server, client)
    case .bothWays:
      try misdirect(client, server)
      try misdirect(server, client)
    case .cable: try server.run("ip link set wire0 down")
    }
  }

  private func misdirect(_ from: End, _ to: End) throws {
    try from.run("ip neighbor replace \(to.address) lladdr 02:00:00:00:00:99 dev \(from.name) nud permanent")
  }

  /// Stops losing packets.
  public func mend() throws {
    for (from, to) in [(server, client), (client, server)] {
      try from.run(
        """
        ip link set \(from.name) up
        ip neighbor replace \(to.address) lladdr \(to.hardware) dev \(from.name) nud permanent
        """)
    }
  }
}

/// A shell that sleeps until this object or this process ends, and keeps resources alive.
final class HeldShell: Sendable {
  private struct Parts: @unchecked Sendable {
    let process: Process
    let input: Pipe
  }
  private let parts: Parts
  var id: Int32 { parts.process.processIdentifier }

  private init(_ parts: Parts) { self.parts = parts }

  deinit {
    // A line, not just the end of its input: a program just started by another test may hold the pipe open.
    try? parts.input.fileHandleForWriting.write(contentsOf: Data("end\n".utf8))
    try? parts.input.fileHandleForWriting.close()
    parts.process.waitUntilExit()
  }

  /// Starts it behind `words`, which end in its execution; nil if they fail.
  ///
  /// - Parameter last: its action at the end, with `arguments`.
  static func start(_ words: [String], last: String = ":", _ arguments: [String] = []) -> HeldShell? {
    let (process, input, output) = (Process(), Pipe(), Pipe())
    let whole = words + ["/bin/sh", "-c", "echo held; read how; \(last)", "sh"] + arguments
    process.executableURL = URL(fileURLWithPath: whole[0])
    process.arguments = Array(whole.dropFirst())
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    do { try process.run() } catch {
      Issue.record(error)
      return nil
    }
    guard output.fileHandleForReading.availableData == Data("held\n".utf8) else {
      process.waitUntilExit()
      return nil
    }
    return HeldShell(Parts(process: process, input: input))
  }
}
