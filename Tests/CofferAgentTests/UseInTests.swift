import CofferClient
import CofferTestSupport
import Foundation
import Testing

@testable import CofferAgent

@Suite struct UseInTests {
  private static func lines(_ path: String) throws -> [String] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
    return try String(contentsOf: root.appending(path: path), encoding: .utf8).components(separatedBy: "\n")
  }

  @Test func `every Swift block of the page is compiled here`() throws {
    let compiled = try Self.lines("Tests/CofferAgentTests/UseInExamples.swift")
    var blocks: [[String]] = [], isInside = false
    for line in try Self.lines("Sources/Coffer/Coffer.docc/UseIn.md") {
      if line == "```swift" {
        isInside = true
        blocks.append([])
      } else if line == "```" {
        isInside = false
      } else if isInside {
        blocks[blocks.count - 1].append(line)
      }
    }
    #expect(blocks.count == 3)
    for block in blocks {
      let isThere = compiled.indices.contains { compiled[$0...].starts(with: block) }
      #expect(isThere, "this block is not in UseInExamples.swift: \(block.joined(separator: "\n"))")
    }
  }

  @Test func `xtool's storage keeps data, replaces it and removes it with nil`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let storage = AgentKeyValueStorage(agent: agent.connection())
    #expect(try storage.data(forKey: "token") == nil)
    for data in [Data([0, 1, 0xFF]), Data("second".utf8), Data()] {
      try storage.setData(data, forKey: "token")
      #expect(try storage.data(forKey: "token") == data)
    }
    try storage.setData(nil, forKey: "token")
    try storage.setData(nil, forKey: "token")
    #expect(try storage.data(forKey: "token") == nil)
  }

  @Test func `a token provider reads the token of a login, and nil without one`() async throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let provider = TokenProvider.agent(agent.connection(), account: "ada")
    #expect(try await provider.getToken() == nil)
    try await agent.connection().set(SecretBuffer("hf_1"), for: AgentItem(service: "huggingface.co", account: "ada"))
    #expect(try await provider.getToken() == "hf_1")
  }

  @Test func `OAuthKit's storage lists, reads, deletes and clears the keys of an account`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    var storage = Keychain.AgentStorage(account: "com.example.app")
    storage.agent = .success(agent.connection())
    #expect(try storage.get(key: "github") == nil && storage.keys == [])
    #expect(try storage.set(Data("t".utf8), for: "github") && storage.set(Data("u".utf8), for: "google"))
    #expect(try storage.get(key: "github") == Data("t".utf8))
    #expect(storage.keys == ["com.example.app.github.oauth-token", "com.example.app.google.oauth-token"])
    #expect(storage.delete(key: storage.accountKey("github")) && !storage.delete(key: storage.accountKey("github")))
    #expect(storage.clear() && storage.keys == [] && storage.clear())
    try agent.connection().lock()
    #expect(throws: ClientError.self) { try storage.get(key: "github") }
    #expect(storage.keys == [] && !storage.delete(key: "x"))
  }
}
