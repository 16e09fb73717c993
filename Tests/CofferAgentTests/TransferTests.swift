import CofferClient
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferAgent

@Suite struct TransferTests {
  private func items(_ count: Int, bytes: Int = 3) throws -> [ImportedItem] {
    try (0..<count).map { number in
      try ImportedItem(
        name: ItemName(service: "s", account: "a\(number)"), form: form(String(repeating: "v", count: bytes)),
        created: Date(timeIntervalSince1970: 5), modified: Date(timeIntervalSince1970: 7))
    }
  }

  @Test func `an import of many messages is one transaction, with the times that it brings`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let many = try items(3000)
    let field = try ImportedItem(name: many[0].name.field(named: "pin"), form: form("1234"))
    #expect(try client.add(many + [field], isTrial: true).added.count == 3001)
    #expect(try client.list().isEmpty)
    let before = try agent.vault().status().generation
    let report = try client.add(many + [field], keeping: 3)
    #expect(report.added == many.map(\.name) + [field.name])
    #expect(try agent.vault().status().generation == before + 1)
    let item = try #require(try client.item(many[2999].name))
    #expect(item.history == 3)
    #expect(item.created == Date(timeIntervalSince1970: 5) && item.modified == Date(timeIntervalSince1970: 7))
    #expect(kind { _ = try client.add(many) } == .alreadyExists)
    #expect(try client.add(many, duplicates: .keep).kept == many.map(\.name))
    #expect(try client.add([many[1]], duplicates: .replace).kept == [many[1].name])
    #expect(kind { _ = try client.add([many[1], many[1]], duplicates: .replace) } == .ambiguous)
    let entry = try #require(try client.ask(Calls.log, 1).last)
    #expect(entry.event == .itemSet && entry.process == UInt32(getpid()))
  }

  @Test func `previous versions come with their item, and are no items of the report`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let name = try ItemName(service: "s", account: "a")
    let versions = try ["first", "second", "third"].map { text in
      try ImportedItem(name: name, form: form(text), created: nil, modified: nil, isPrevious: text != "third")
    }
    #expect(try client.add(versions, keeping: 10).added == [name])
    #expect(try (1...3).map { try client.get(name, revision: $0)?.text } == ["first", "second", "third"])
    #expect(try client.get(name)?.text == "third" && client.item(name)?.history == 10)
    #expect(try client.add(versions, duplicates: .replace, keeping: 10).kept == [name])
    #expect(try client.item(name)?.revision == 3)
  }

  @Test func `items that did not all reach the agent are not added`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let three = try items(3)
    try client.ask(.stage, isWrite: false) { (writer) throws(StoreError) in
      try writer.put(true)
      try writer.put(2 as UInt32)
      for item in three.prefix(2) { try writer.put(item) }
    } answer: { (_) throws(StoreError) in
    }
    let refused = kind {
      try client.ask(.add, isWrite: true) { (writer) throws(StoreError) in
        try writer.put(3 as UInt64)
        try writer.put(DuplicatePolicy.refuse.number)
        try writer.put(0 as UInt32)
        try writer.put(false)
      } answer: { (_) throws(StoreError) in
      }
    }
    #expect(refused == .conflict)
    #expect(try client.list().isEmpty)
  }

  @Test func `what waits to be added has a limit, and room again once its client is gone`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let large = try items(8, bytes: 1 << 20)
    // One item after another, so that no message is too large.
    func stage(_ client: AgentClient, begins: Bool) -> StoreError.Kind? {
      kind {
        try client.ask(.stage, isWrite: false) { (writer) throws(StoreError) in
          try writer.put(begins)
          try writer.put(UInt32(large.count))
          for item in large { try writer.put(item) }
        } answer: { (_) throws(StoreError) in
        }
      }
    }
    do {
      let greedy = agent.client()
      for number in 0..<7 { #expect(stage(greedy, begins: number == 0) == nil) }
      #expect(stage(greedy, begins: false) == .tooLarge(limit: AgentProtocol.mostStagedBytes))
      #expect(stage(agent.client(), begins: true) == .busy)
      #expect(stage(greedy, begins: true) == nil)
    }
    #expect(eventually { agent.server.connections.count == 0 })
    let next = agent.client()
    for number in 0..<7 { #expect(stage(next, begins: number == 0) == nil) }
    let (few, many) = (try items(3), try items(AgentProtocol.mostStaged + 1))
    #expect(AgentClient.takes(few) && !AgentClient.takes(many))
  }

  @Test func `an export through the agent holds what one beside it holds`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let name = try ItemName(service: "web", account: "ada")
    _ = try client.add(items(20))
    let described = ItemMetadata(
      label: "l", contentType: "t", attributes: ["k": "v"], expires: Date(timeIntervalSinceNow: -9))
    try client.set(form("value", described), for: name, keeping: 3)
    try client.set(form("pin"), for: name.field(named: "pin"))
    let vault = try agent.vault()
    func read(_ path: String, _ export: (VaultPlace) throws -> Int) throws -> (Int, [VaultItem], [String], Int) {
      let place = VaultPlace.file(agent.folder.appending(path))
      let count = try export(place)
      let made = try LockedVault.open(place, options: .withoutPins).unlock(with: TestAgent.credentials("new"))
      _ = try made.verify()
      var (items, values) = ([VaultItem](), [String]())
      try made.forEachItem(withFields: true) { item, form in
        items.append(item)
        values.append(form.text)
      }
      return (count, items, values, try made.logLength())
    }
    for services in [nil, ["web", "web"]] as [[String]?] {
      let tag = services == nil ? "all" : "web"
      let one = try read(tag + "-agent") { place in
        try client.export(
          to: place, of: agent.settings.vault, services: services, with: TestAgent.credentials("new"), cost: .testing)
      }
      let other = try read(tag + "-own") { place in
        try vault.export(to: place, services: services, with: TestAgent.credentials("new"), cost: .testing)
      }
      #expect(one.0 == other.0 && one.1 == other.1 && one.2 == other.2 && one.3 == other.3)
      #expect(one.0 == (services == nil ? 21 : 1))
    }
    let nowhere = kind {
      _ = try client.export(
        to: .file(agent.folder.appending("no")), of: agent.settings.vault, services: ["no"], with: TestAgent.credentials("new"))
    }
    #expect(nowhere == .notFound)
    #expect(access(agent.folder.appending("no").string, F_OK) != 0)
    var seen: [String] = []
    try client.forEachItem(withFields: true, withoutValue: { _ in }) { item, form in
      seen.append("\(item.name.description) \(form.text)")
    }
    let pin = try name.field(named: "pin")
    #expect(seen.count == 22 && seen.suffix(2) == ["\(name) value", "\(pin) pin"])
  }

  @Test func `the log and what the vault says of itself are those of the vault`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    try client.set(form("v"), for: ItemName(service: "x"))
    try client.remove(ItemName(service: "x"))
    let vault = try agent.vault()
    #expect(try client.ask(Calls.log, nil) == vault.log(limit: nil) && client.ask(Calls.log, 2) == vault.log(limit: 2))
    #expect(try client.ask(Calls.log, nil).count > 2)
    let said = try client.ask(Calls.describe)
    #expect(try said.status == vault.status() && said.log == vault.logLength() && said.pin == vault.pinStatus())
    #expect(said.lockedBytes + said.unlockedBytes > 0)
  }
}
