import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferSecretService

@Suite(.tags(.process), .wholeRun) struct BadInputTests {
  @Test func `what no object, interface or method is, is refused by its name`() throws {
    guard let service = try TestService() else { return }
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
    guard let service = try TestService() else { return }
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
    guard let service = try TestService() else { return }
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
    guard let service = try TestService() else { return }
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
    guard let service = try TestService(unlocked: false) else { return }
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

  @Test func `a second provider is told who has the name, and the bus's end ends the service`() throws {
    guard let service = try TestService() else { return }
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
    guard let service = try TestService() else { return }
    let bus = try Bus(address: service.bus.address)
    #expect(try bus.takeName(SecretServiceProvider.busName, replacing: true))
    eventually("the service ends") { service.failure != nil }
    #expect(service.failure?.kind == .closed)
  }
}
