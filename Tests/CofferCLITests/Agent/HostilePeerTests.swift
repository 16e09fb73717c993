import CofferClient
import CofferTestSupport
import Foundation
import Testing

@testable import CofferAgent
@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct HostilePeerTests {
  /// A listener in the agent's place that does one thing to each client.
  private final class FalseAgent: Sendable {
    private let listener: Int32

    init(_ home: Home, _ behavior: @escaping @Sendable (Int32) -> Void) throws {
      try FileManager.default.createDirectory(atPath: home.path + "/run", withIntermediateDirectories: true)
      chmod(home.path + "/run", 0o700)
      listener = try LocalAddress.listener(home.path + "/run/agent.sock")
      let listener = listener
      Thread.detachNewThread {
        while case let client = accept(listener, nil, nil), client >= 0 {
          Thread.detachNewThread {
            behavior(client)
            close(client)
          }
        }
      }
    }

    /// Ends the wait for clients, and with it the thread.
    deinit {
      shutdown(listener, Int32(SHUT_RDWR))
      close(listener)
    }
  }

  /// Reads until the other end is gone.
  private static func hold(_ client: Int32) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while recv(client, &buffer, buffer.count, 0) > 0 {}
  }

  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set github ada", in: "tok3n")
    return home
  }

  @Test
  func `an agent that sends a gigabyte is cut off, and is no agent: 65`() throws {
    let home = try home()
    let agent = try FalseAgent(home) { client in
      LocalAddress.send([0, 0, 0, 0x40, 3, 0], to: client)
      let chunk = [UInt8](repeating: 0x41, count: 1 << 20)
      for _ in 0..<1024 where LocalAddress.send(chunk, to: client) {}
    }
    try withExtendedLifetime(agent) {
      try home.transcript("vault get github", err: "announces more than an agent sends", exit: 65)
      try home.transcript("vault get github --no-agent", out: "tok3n")
      try home.transcript("vault get github --key-file \(home.path)/key", out: "tok3n")
      #expect(try home.coffer("doctor").status == 2)
    }
  }

  @Test
  func `an agent of another version, or something else altogether, is said to be that`() throws {
    for (bytes, words, status) in [
      ([2, 0, 0, 0, AgentProtocol.version + 1, 0], "speak different versions", 76),
      (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), "announces more", 65),
      ([1, 0, 0, 0, AgentProtocol.version], "malformed", 65), ([3, 0, 0, 0, AgentProtocol.version, 7, 7], "malformed", 65),
    ] as [([UInt8], String, Int32)] {
      let home = try home()
      let agent = try FalseAgent(home) { client in
        LocalAddress.send(bytes, to: client)
        Self.hold(client)
      }
      try withExtendedLifetime(agent) { try home.transcript("vault get github", err: words, exit: status) }
    }
  }

  @Test
  func `an agent that goes away, at once or in the midst of its answer, is none: the next source opens the vault`() throws {
    for bytes in [[], [200, 0, 0, 0, 2, 0, 5]] as [[UInt8]] {
      let home = try home()
      let agent = try FalseAgent(home) { LocalAddress.send(bytes, to: $0) }
      try withExtendedLifetime(agent) {
        try home.transcript("vault get github", out: "tok3n")
        home.locked()
        try home.transcript("vault get github", err: "nothing to unlock it with", exit: 69)
      }
    }
  }

  @Test(arguments: [[], [200, 0, 0, 0, 2, 0, 5]] as [[UInt8]])
  func `an agent that says nothing, or half of something, is given up: 75`(bytes: [UInt8]) throws {
    let home = try home()
    let agent = try FalseAgent(home) { client in
      LocalAddress.send(bytes, to: client)
      Self.hold(client)
    }
    try withExtendedLifetime(agent) {
      try home.transcript("vault get github", err: "the agent does not answer", exit: 75)
      try home.transcript("vault get github --no-agent", out: "tok3n")
    }
  }

  @Test
  func `clients that send a gigabyte, half a message or nothing hold up nobody, and fill no memory`() throws {
    let home = try home()
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    home.locked()
    let status = try JSONSerialization.jsonObject(with: home.coffer("status --agent --json").bytes) as? [String: Any]
    let agent = try #require(status?["process"] as? Int)
    let socket = home.path + "/run/agent.sock"
    var open: [Int32] = []
    defer { for descriptor in open { close(descriptor) } }
    for first in [[0, 0, 0, 0x40, 2, 1], [200, 0, 0, 0, 2, 1, 5], [], [0x00, 0x00, 0x84, 0x00, 2, 11]] as [[UInt8]] {
      for _ in 0..<8 {
        let client = try LocalAddress.connection(socket)
        open.append(client)
        LocalAddress.send(first, to: client)
      }
    }
    let huge = try LocalAddress.connection(socket)
    open.append(huge)
    LocalAddress.send([0, 0, 0, 0x40, 2, 1], to: huge)
    let chunk = [UInt8](repeating: 0x41, count: 1 << 20)
    var sent = 0
    while sent < 1024, LocalAddress.send(chunk, to: huge) { sent += 1 }
    #expect(sent < 1024, "the agent took a gigabyte")
    try home.transcript("vault get github", out: "tok3n")
    let facts = try String(contentsOfFile: "/proc/\(agent)/status", encoding: .utf8)
    let peak = try #require(facts.firstMatch(of: /VmHWM:\s+(\d+) kB/)).output.1
    // An unlocked agent has about 40 MB, more in a debug build; each client announced more than 8 MB.
    #expect(try #require(Int(peak)) < 160_000, "\(peak) kB")
  }

  @Test(arguments: [true, false])
  func `an agent that goes while the editor runs: the next source is used and said, else nothing is changed`(hasKey: Bool) throws
  {
    guard access("/dev/shm", W_OK) == 0 else { try Test.skip("there is no /dev/shm") }
    let home = try home()
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    if !hasKey { home.locked() }
    let editor = try home.file("editor", "#!/bin/sh\n\(Home.coffer) agent stop\nprintf changed > $1\n", mode: 0o700)
    if hasKey {
      try home.transcript("vault edit github", with: ["EDITOR": editor], err: "so the vault is unlocked here")
    } else {
      try home.transcript("vault edit github", with: ["EDITOR": editor], err: "nothing to unlock it with", exit: 69)
    }
    try home.transcript("vault get github --key-file \(home.path)/key", out: hasKey ? "changed" : "tok3n")
  }
}
