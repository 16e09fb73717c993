import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferSecretService

@Suite(.tags(.campaign, .process), .wholeRun) struct ManyItemsTests {
  @Test func `many items are found, listed, changed and deleted, each the one that is meant`() throws {
    let service = try TestService(unlocked: false)
    let count = Campaign.size(short: 400, long: 10_000)
    let vault = try service.vault()
    let items = try (0..<count).map { number in
      let metadata = ItemMetadata(label: "item \(number)", attributes: ["number": "\(number)", "half": "\(number % 2)"])
      return ImportedItem(
        name: try ItemName(service: VaultNaming.service(of: "login"), account: "number\(number)"),
        form: SecretForm(try TestService.secret("secret \(number)"), metadata: metadata))
    }
    _ = try vault.add(items)
    try service.unlock()
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    try client.listen()
    func paths() throws -> [String] {
      try client.property(BusClient.login, .collection, "Items", "ao") { (answer) throws(Refusal) in try answer.paths() }
    }
    #expect(try paths().count == count)
    #expect(try client.search(["half": "1"]).count == count / 2)
    for number in stride(from: 0, to: count, by: max(1, count / 40)) {
      let found = try client.search(["number": "\(number)"])
      #expect(found.count == 1)
      #expect(try client.secret(#require(found.first), session: session).text == "secret \(number)")
    }
    // Another program deletes one of many: clients learn of that one.
    try vault.remove(ItemName(service: VaultNaming.service(of: "login"), account: "number7"))
    let told = try #require(try client.await("ItemDeleted"))
    #expect(told.argument.hasSuffix("/number7"))
    #expect(client.signals.filter { $0.member.hasPrefix("Item") }.count == 1)
    let last = try client.search(["number": "\(count - 1)"])
    try client.call(#require(last.first), .item, "Delete")
    #expect(try client.search(["number": "\(count - 1)"]) == [])
    let new = try client.create("new", ["number": "7"], "other", session: session)
    #expect(try client.search(["number": "7"]) == [new])
    #expect(try paths().count == count - 1)
    print("\(count) items were found, listed, changed and deleted")
  }
}
