import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferAgent

@Suite struct FindTests {
  private static let services = ["github.com", "GitHub.com", "gitlab.com", "日本語.jp", "a", "a/b"]
  private static let accounts = ["", "ada", "bob", "Éve"]
  private static let labels = ["", "CI token", "Clé é", "line\r\nbreak"]
  private static let values = ["prod", "test", ""]

  private static var queries: [ItemQuery] {
    var queries = [ItemQuery()] + (services + ["none"]).map { ItemQuery(service: $0) }
    for texts in [["git"], ["GIT", "ada"], ["é"], ["É"], ["clé"], ["\n"], ["\r\n"], ["zzz"], [""], ["tag"], ["prod"]] {
      var query = ItemQuery()
      query.texts = texts
      queries.append(query)
    }
    var byAttribute = ItemQuery(), byName = ItemQuery(service: "github.com")
    byAttribute.attributes = [.init("env", "prod")]
    byName.attributeNames = ["tag:work"]
    var marked = ItemQuery(service: "a"), valued = byAttribute
    marked.besides = .init("tag:work")
    valued.besides = .init("env", "test")
    return queries + [byAttribute, byName, marked, valued]
  }

  private static func expected(_ query: ItemQuery, of items: [VaultItem]) -> [VaultItem] {
    items.filter { item in
      let texts =
        [item.name.service, item.name.account, item.metadata.label] + item.metadata.attributes.flatMap { [$0.key, $0.value] }
      if let mark = query.besides, let value = item.metadata.attributes[mark.name], mark.value ?? value == value { return true }
      return (query.service.map { $0 == item.name.service } ?? true)
        && query.attributes.allSatisfy { item.metadata.attributes[$0.name] == $0.value }
        && query.attributeNames.allSatisfy { item.metadata.attributes[$0] != nil }
        && query.texts.allSatisfy { text in texts.contains { Self.holds($0, text) } }
    }
  }

  /// Whether `text` is in `whole`, by characters, so that a carriage return and a newline are one: Foundation's `contains`
  /// compares scalars.
  private static func holds(_ whole: String, _ text: String) -> Bool {
    text.isEmpty || whole.lowercased().firstRange(of: text.lowercased()) != nil
  }

  private static func change(_ client: AgentClient, _ other: borrowing UnlockedVault, _ random: inout Random) throws {
    let name = try ItemName(
      service: services.randomElement(using: &random) ?? "", account: accounts.randomElement(using: &random) ?? "")
    var metadata = ItemMetadata(label: labels.randomElement(using: &random) ?? "")
    if Bool.random(using: &random) { metadata.attributes["env"] = values.randomElement(using: &random) }
    if Bool.random(using: &random) { metadata.attributes["tag:work"] = "" }
    switch (Int.random(in: 0..<4, using: &random), Bool.random(using: &random)) {
    case (0, true): try client.remove(name)
    case (0, false): try other.remove(name)
    case (_, true): try client.set(form("x", metadata), for: name)
    case (_, false): try other.set(form("x", metadata), for: name)
    }
  }

  @Test func `the agent finds what is there, whoever changed it and whatever is asked for`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let other = try agent.vault()
    var random = Random(seed: 17)
    for _ in 0..<60 {
      try Self.change(client, other, &random)
      let all = try other.list()
      #expect(all == all.sorted { $0.name < $1.name })
      for query in Self.queries {
        let expected = Self.expected(query, of: all)
        #expect(try client.find(query).items() == expected, "\(query)")
        #expect(try other.find(query).items() == expected, "\(query)")
      }
      let accounts = all.filter { $0.name.service == "github.com" }.map(\.name.account)
      #expect(try client.names(of: "github.com", prefix: "") == accounts)
      // Both are ASCII, for which Swift's order is that of the bytes.
      let services = Set(all.map(\.name.service).filter { $0.hasPrefix("git") })
      #expect(try client.names(of: nil, prefix: "git") == services.sorted())
    }
  }

  @Test func `the index follows a new key, and goes with the unlocking`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    for number in 0..<50 { try client.set(form("x"), for: ItemName(service: "s\(number)", account: "a")) }
    #expect(try client.find(ItemQuery()).count == 50)
    try agent.vault().rotate()
    try agent.vault().set(form("x"), for: ItemName(service: "s99", account: "a"))
    #expect(try client.find(ItemQuery()).count == 51)
    #expect(try client.names(of: nil, prefix: "s9") == ["s9", "s99"])
    try client.lock()
    #expect(kind { _ = try client.find(ItemQuery()) } == .locked)
    #expect(kind { _ = try client.names(of: nil, prefix: "") } == .locked)
  }
}
