import CofferClient
import CofferTestSupport
import Foundation
import Testing

@testable import CofferAgent

/// Another program in the agent's place.
@Suite struct HostileAgentTests {
  private static let version = AgentProtocol.version
  /// A frame of `body`.
  private static func frame(_ body: [UInt8]) -> [UInt8] {
    withUnsafeBytes(of: UInt32(body.count).littleEndian, Array.init) + body
  }
  private static let greeted = frame([version, 0, AgentProtocol.highestCall])

  private static func failure(
    _ bytes: [UInt8], closing: Bool = false,
    _ ask: (AgentConnection) throws -> Void = { _ = try $0.value(of: AgentItem(service: "a")) }
  ) throws -> ClientError? {
    let agent = try SilentAgent(bytes, closing: closing)
    defer { agent.end() }
    do { try ask(agent.connection()) } catch let error as ClientError { return error }
    return nil
  }

  @Test func `a frame that is too large, too short or cut off is an error, and so is one that is no message`() throws {
    let version = Self.version
    for (bytes, kind) in [
      ([0, 0, 0, 0x40, version, 0], .damaged), ([255, 255, 255, 255], .damaged), ([1, 0, 0, 0, version], .damaged),
      ([0, 0, 0, 0], .damaged), (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), .damaged),
      // The greeting's answer: no kind, no fields, too many.
      (Self.frame([version, 7]), .damaged), (Self.frame([version, 0]), .damaged), (Self.frame([version, 0, 1, 1]), .damaged),
      (Self.frame([version - 1, 2, 200]), .otherVersion), (Self.frame([version + 1, 0]), .otherVersion),
      // A value's: a flag of 2; a secret that is longer than its frame; a text that is none; a rest.
      (Self.greeted + Self.frame([version, 0, 2]), .damaged),
      (Self.greeted + Self.frame([version, 0, 1] + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + [255, 255, 255, 255]), .damaged),
      (Self.greeted + Self.frame([version, 0, 1] + [1, 0, 0, 0, 255]), .damaged),
      (Self.greeted + Self.frame([version, 0, 0, 0]), .damaged),
      // Attributes without bytes.
      (Self.greeted + Self.frame([version, 0, 1] + [0, 0, 0, 0, 0, 0, 0, 0, 0] + [255, 255, 255, 127]), .damaged),
    ] as [([UInt8], ClientError.Kind)] {
      let error = try Self.failure(bytes)
      #expect(error?.kind == kind && error?.cure.isEmpty == false, "\(bytes): \(error.map { "\($0)" } ?? "no error")")
    }
    for bytes in [[], [10, 0], Self.greeted + [200, 0, 0, 0, version, 0, 5]] as [[UInt8]] {
      #expect(try Self.failure(bytes, closing: true)?.kind == .noAgent)
      // Whether the agent has made the change, nobody knows.
      let kind = try Self.failure(bytes, closing: true) {
        try $0.set(SecretBuffer("v"), for: AgentItem(service: "a"))
      }?.kind
      #expect(kind == .outcomeUnknown)
    }
  }

  @Test func `pages without end are cut off`() throws {
    // Each has one name of 8 MB.
    let count = 8 << 20
    let name = withUnsafeBytes(of: UInt32(count).littleEndian, Array.init) + [UInt8](repeating: 0x61, count: count)
    let agent = try SilentAgent(Self.greeted, more: Self.frame([Self.version, 1, 1, 0, 0, 0] + name))
    defer { agent.end() }
    let error = #expect(throws: ClientError.self) { try agent.connection().services() }
    #expect(error?.kind == .damaged && error?.what.contains("more pages") == true)
  }

  @Test func `control characters of a stranger's error do not reach a terminal`() throws {
    func text(_ text: String) -> [UInt8] { withUnsafeBytes(of: UInt32(text.utf8.count).littleEndian, Array.init) + text.utf8 }
    let numbers = [UInt8](repeating: 0, count: 16)
    let error = try Self.failure(
      Self.frame([Self.version, 2, 200] + numbers + text("") + text("\u{1B}[2Jgone\n") + [0, 0] + text("none\u{202E}") + [0]))
    #expect(error?.kind.rawValue == 200 && error?.what == "\u{1B}[2Jgone\n" && error?.description == "[2Jgone; none")
  }

  @Test func `a folder that others can enter, a link to it and a writable parent are refused before anything is sent`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let folder = agent.settings.folder.string
    #expect(try agent.connection().isRunning())
    func kind(_ folder: String) -> ClientError.Kind? {
      do throws(ClientError) {
        _ = try AgentConnection(folder: folder, vault: "/v").isRunning()
        return nil
      } catch { return error.kind }
    }
    chmod(folder, 0o750)
    #expect(kind(folder) == .denied)
    chmod(folder, 0o700)
    symlink(folder, agent.folder.string + "/link")
    #expect(kind(agent.folder.string + "/link") == .denied)
    chmod(agent.folder.string, 0o777)
    #expect(kind(folder) == .denied)
    chmod(agent.folder.string, 0o700)
    #expect(kind(folder) == nil && kind(folder + "/none") == nil)
  }

  @Test(.tags(.slow), .wholeRun)
  func `half of a message is given up`() throws {
    let error = try Self.failure([200, 0, 0, 0, Self.version, 0, 5])
    #expect(error?.kind == .busy)
  }
}
