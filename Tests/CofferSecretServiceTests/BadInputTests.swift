import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferSecretService

@Suite(.tags(.process), .wholeRun) struct BadInputTests {
  @Test func `what no object, interface or method is, is refused by its name`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let root = BusClient.root
    #expect(try client.refusal { try client.call("/nowhere", .service, "LockService") } == "UnknownObject")
    #expect(try client.refusal { try client.call(root, "org.example.None", "LockService") } == "UnknownInterface")
    #expect(try client.refusal { try client.call(root, .collection, "Delete") } == "UnknownInterface")
    #expect(try client.refusal { try client.call(root, .service, "None") } == "UnknownMethod")
    #expect(try client.refusal { try client.call(root, .service, "SearchItems") } == "InvalidArgs")
    #expect(
      try client.refusal {
        try client.call(root, .service, "ReadAlias") { (message) throws(Refusal) in try message.put(UInt32(1)) }
      } == "InvalidArgs")
    #expect(try client.refusal { _ = try client.text(root, .service, "None") } == "UnknownProperty")
    #expect(try client.refusal { _ = try client.text(root, .collection, "Label") } == "UnknownInterface")
    #expect(try client.refusal { _ = try client.text(root + "/collection/none", .collection, "Label") } == "NoSuchObject")
    #expect(try client.refusal { _ = try client.search([:], in: root + "/collection/none") } == "NoSuchObject")
    #expect(try client.refusal { _ = try client.search([:], in: root + "/aliases/none") } == "NoSuchObject")
    #expect(try client.refusal { try client.call(root + "/session/s1", .session, "Close") } == "NoSession")
    #expect(try client.refusal { try client.call(root + "/prompt/p1", .prompt, "Dismiss") } == "NoSuchObject")
    #expect(try client.refusal { try client.call(BusClient.login + "/none", .item, "Delete") } == "NoSuchObject")
    for (name, type) in [("Locked", "b"), ("Created", "t")] {
      let refusal = try client.refusal {
        try client.call(BusClient.login, .propertiesOf, "Set") { (message) throws(Refusal) in
          try message.put(Interface.collection.name)
          try message.put(name)
          try message.putVariant(type) { () throws(Refusal) in
            if type == "b" { try message.put(true) } else { try message.put(seconds: 1) }
          }
        }
      }
      #expect(refusal == "PropertyReadOnly")
    }
    #expect(try client.search([:]) == [])
  }

  @Test func `a session is of its client alone, and ends with it`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let item = try client.create("a", [:], "s", session: client.openPlain())
    var stranger: BusClient? = try BusClient(service.bus.address)
    let foreign = try #require(try stranger?.openPlain())
    #expect(try client.refusal { _ = try client.secret(item, session: foreign) } == "NoSession")
    #expect(try client.refusal { _ = try client.create("b", [:], "s", session: foreign) } == "NoSession")
    #expect(try client.refusal { try client.call(foreign, .session, "Close") } == "NoSession")
    stranger = nil
    let own = try client.openPlain()
    try client.call(own, .session, "Close")
    #expect(try client.refusal { _ = try client.secret(item, session: own) } == "NoSession")
    #expect(try client.refusal { _ = try client.secret(item, session: "/") } == "NoSession")
    #expect(try client.search([:]) == [item])
  }

  @Test func `the algorithms that are not known are not supported, which has libraries try the next`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    func open(_ algorithm: String, _ type: String) throws -> String {
      try client.refusal {
        try client.call(BusClient.root, .service, "OpenSession") { (message) throws(Refusal) in
          try message.put(algorithm)
          try message.putVariant(type) { () throws(Refusal) in
            if type == "s" { try message.put("") } else { try message.put(UnsafeRawBufferPointer(start: nil, count: 0)) }
          }
        }
      }
    }
    #expect(try open("dh-ietf2048-sha256-aes256-gcm", "s") == "NotSupported")
    #expect(try open(KeyExchange.name, "s") == "InvalidArgs")
    #expect(try open(KeyExchange.name, "ay") == (Gcrypt.table == nil ? "NotSupported" : "InvalidArgs"))
    #expect(try open("plain", "ay") == "")
  }

  @Test func `what the vault cannot hold is refused with a text, and nothing is stored`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    func refused(_ label: String = "", _ attributes: [String: String] = [:], _ secret: String = "s", type: String = "text/plain")
      throws -> String
    {
      try client.refusal { _ = try client.create(label, attributes, secret, session: session, type: type) }
    }
    let many = Dictionary(uniqueKeysWithValues: (0...64).map { ("name\($0)", "value") })
    #expect(try refused("", many) == "InvalidArgs")
    #expect(try refused("", [String(repeating: "n", count: 257): "v"]) == "InvalidArgs")
    #expect(try refused("", ["n": String(repeating: "v", count: 4097)]) == "InvalidArgs")
    #expect(try refused(String(repeating: "l", count: 1025)) == "InvalidArgs")
    #expect(try refused("", [:], String(repeating: "s", count: VaultItem.largestValue + 1)) == "InvalidArgs")
    #expect(try refused("", [:], "s", type: String(repeating: "t", count: 257)) == "InvalidArgs")
    #expect(try client.search([:]) == [])
    let largest = String(repeating: "s", count: VaultItem.largestValue)
    let item = try client.create("large", ["a": String(repeating: "v", count: 4096)], largest, session: session)
    #expect(try client.secret(item, session: session).text == largest)
  }

  @Test func `one client takes no more than its share of sessions and prompts`() throws {
    let service = try TestService(unlocked: false)
    let client = try BusClient(service.bus.address)
    var count = 0
    #expect(try client.refusal { for _ in 0..<10_000 { _ = try client.openPlain(); count += 1 } } == "LimitsExceeded")
    #expect(count == 1024)
    count = 0
    #expect(
      try client.refusal { for _ in 0..<10_000 { _ = try client.unlock([BusClient.login]); count += 1 } } == "LimitsExceeded")
    #expect(count == 128)
    _ = try BusClient(service.bus.address).openPlain()
  }

  @Test func `the session's collection takes so many bytes, and more once some are deleted`() throws {
    // All share one value, so that this test needs no such memory itself.
    let secret = SecretForm(try SecretBytes(zeros: VaultItem.largestValue))
    var (items, stored) = (SessionItems(), [StoredItem]())
    let draft = ItemDraft()
    for _ in 0..<SessionItems.mostBytes / VaultItem.largestValue { stored.append(try items.set(draft, secret, at: nil)) }
    func refusal(_ draft: ItemDraft, at element: String?) -> String {
      do throws(Refusal) { _ = try items.set(draft, secret, at: element) } catch { return error.name }
      return ""
    }
    let full = Refusal.limit("").name
    let element = stored[0].path.element
    #expect(refusal(draft, at: nil) == full)
    #expect(refusal(draft, at: element) == "", "it takes the place of what it was")
    #expect(refusal(ItemDraft(label: "l"), at: element) == full && refusal(ItemDraft(attributes: ["": "v"]), at: element) == full)
    #expect(items.find([:]).count == stored.count && items.item(element)?.label == "")
    let isRemoved = items.remove(element)
    #expect(isRemoved)
    #expect(refusal(draft, at: nil) == "" && refusal(draft, at: nil) == full)
    items = SessionItems()
    let small = SecretForm(try SecretBytes(zeros: 1))
    for _ in 0..<4096 { _ = try items.set(draft, small, at: nil) }
    #expect(refusal(draft, at: nil) == full, "so small they may be")
  }

  @Test func `a path that is named again is answered once, and secrets that are too many together are refused`() throws {
    let service = try TestService(unlocked: false)
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    let collection = BusClient.root + "/collection/session"
    let large = String(repeating: "s", count: VaultItem.largestValue)
    let count = MethodCalls.mostSecretBytes / VaultItem.largestValue
    let paths = try (0...count).map { try client.create("large", ["n": "\($0)"], large, in: collection, session: session) }
    func secrets(_ paths: [String]) throws -> Int {
      let answer = try client.call(BusClient.root, .service, "GetSecrets") { (message) throws(Refusal) in
        try message.put(paths: paths)
        try message.put(path: session)
      }
      var count = 0
      _ = try answer.container("a", "{o" + Session.signature + "}") { () throws(Refusal) in
        while try answer.container(
          "e", "o" + Session.signature, { () throws(Refusal) in try answer.skip("o" + Session.signature) }) != nil
        {
          count += 1
        }
      }
      return count
    }
    #expect(try secrets(Array(repeating: paths[0], count: 1000) + [paths[1], paths[0]]) == 2)
    #expect(try client.refusal { _ = try secrets(paths) } == "LimitsExceeded")
    #expect(try secrets(Array(paths.prefix(4))) == 4)
  }

  private func send(_ secret: [UInt8], _ session: String, by client: BusClient) throws {
    let message = try BusMessage(
      callOf: "CreateItem", Interface.collection.name, BusClient.login, at: SecretServiceProvider.busName, client.bus)
    try message.putArray("{sv}") { () throws(Refusal) in }
    try BusClient.put(secret, session, message)
    try message.put(true)
    try client.bus.send(message)
  }

  @Test func `one client's calls that wait for the vault are so many and of so many bytes, and another's are taken`() throws {
    let service = try TestService(unlocked: false, patience: .seconds(600))
    let small = try BusClient(service.bus.address), large = try BusClient(service.bus.address)
    let (first, second) = (try small.openPlain(), try large.openPlain())
    for _ in 0..<ClientShares.mostWaiting { try send([1], first, by: small) }
    #expect(try small.refusal { _ = try small.create("one more", [:], "s", session: first) } == "LimitsExceeded")
    let secret = [UInt8](repeating: 1, count: VaultItem.largestValue)
    for _ in 1..<ClientShares.mostBytes / VaultItem.largestValue { try send(secret, second, by: large) }
    let more = String(repeating: "s", count: VaultItem.largestValue)
    #expect(try large.refusal { _ = try large.create("one more", [:], more, session: second) } == "LimitsExceeded")
    let (address, stored) = (service.bus.address, Collected<String>())
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      do {
        let other = try BusClient(address)
        stored.add(try other.create("other", ["of": "another"], "s", session: other.openPlain()))
      } catch { Issue.record(error) }
      isDone.signal()
    }
    try service.unlock()
    isDone.wait()
    #expect(try BusClient(address).search(["of": "another"]) == stored.all)
  }

  @Test func `a second provider is told who has the name, and the bus's end ends the service`() throws {
    let service = try TestService()
    var settings = SecretServiceSettings(client: service.client) { (_) throws(StoreError) in 0 }
    settings.bus = service.bus.address
    let second = try SecretServiceProvider(settings)
    let error = try expect(.alreadyExists) { try second.run() }
    #expect(error.what.contains("process \(getpid())"))
    service.bus.stop()
    eventually("the service ends") { service.failure != nil }
    guard case .io? = service.failure?.kind else { return #expect(Bool(false), "\(String(describing: service.failure))") }
  }

  @Test func `another provider may take the name, which ends the service`() throws {
    let service = try TestService()
    let bus = try Bus(address: service.bus.address)
    #expect(try bus.takeName(SecretServiceProvider.busName, replacing: true))
    eventually("the service ends") { service.failure != nil }
    #expect(service.failure?.kind == .closed)
  }
}
