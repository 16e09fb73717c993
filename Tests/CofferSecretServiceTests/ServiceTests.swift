import CofferAgent
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferSecretService

@Suite(.tags(.process), .defaultRun) struct ServiceTests {
  @Test func `an item is stored, found, read, changed and deleted, and is an item of the vault`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    let path = try client.create("Token", ["service": "gh", "user": "ada"], "first", session: session, type: "text/x-token")
    #expect(try client.search(["user": "ada"]) == [path])
    #expect(try client.search(["user": "ada"], in: BusClient.login) == [path])
    #expect(try client.search(["user": "Ada"]) == [])
    #expect(try client.search(["user": "ada", "none": ""]) == [])
    #expect(try client.secret(path, session: session) == ("first", "text/x-token"))
    let items = try service.client.list(service: "secret-service:login")
    #expect(
      items.map(\.metadata) == [
        ItemMetadata(label: "Token", contentType: "text/x-token", attributes: ["service": "gh", "user": "ada"])
      ])
    #expect(path == BusClient.login + "/" + items[0].name.account)

    try client.call(path, .item, "SetSecret") { (message) throws(Refusal) in try BusClient.put("second", session, message) }
    #expect(try client.secret(path, session: session) == ("second", "text/plain"))
    try client.call(path, .propertiesOf, "Set") { (message) throws(Refusal) in
      try message.put("org.freedesktop.Secret.Item")
      try message.put("Label")
      try message.putVariant("s") { () throws(Refusal) in try message.put("Other") }
    }
    #expect(try client.text(path, .item, "Label") == "Other")
    #expect(try client.secret(path, session: session).text == "second")
    #expect(try client.call(path, .item, "Delete").objectPath() == "/")
    #expect(try client.search([:]) == [])
    #expect(try client.refusal { _ = try client.secret(path, session: session) } == "NoSuchObject")
    #expect(try service.client.list().isEmpty)
  }

  @Test func `an item replaces the one of equal attributes, and no other`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    let one = try client.create("one", ["a": "1"], "x", session: session)
    let two = try client.create("two", ["a": "1", "b": "2"], "y", session: session)
    #expect(one != two)
    #expect(try client.create("new", ["a": "1"], "z", session: session) == one)
    #expect(try client.secret(one, session: session).text == "z" && client.text(one, .item, "Label") == "new")
    #expect(try client.create("", ["a": "1"], "z", session: session) == one)
    #expect(try client.text(one, .item, "Label") == "", "one that is left empty replaces too")
    #expect(try client.create("copy", ["a": "1"], "w", session: session, replace: false) != one)
    #expect(try client.search(["a": "1"]).count == 3)
  }

  @Test func `several secrets are read at once, without those that are not there`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    let paths = try (0..<3).map { try client.create("\($0)", ["n": "\($0)"], "secret \($0)", session: session) }
    let answer = try client.call(BusClient.root, .service, "GetSecrets") { (message) throws(Refusal) in
      try message.put(paths: paths + [BusClient.login + "/none", "/elsewhere"])
      try message.put(path: session)
    }
    #expect(answer.signature == "a{o(oayays)}")
    #expect(try client.secret(paths[2], session: session).text == "secret 2")
  }

  @Test func `empty secrets, empty labels and no attributes are stored`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    let path = try client.create("", [:], "", session: session)
    #expect(try client.secret(path, session: session).text == "")
    #expect(try client.text(path, .item, "Label") == "")
    #expect(try client.search([:]) == [path])
  }

  @Test func `what the shell does is told to clients, and what clients do is seen by the vault`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    try client.listen()
    let session = try client.openPlain()
    let path = try client.create("Token", ["a": "b"], "x", session: session)
    #expect(try client.await("ItemCreated")?.argument == path)
    // Before the service knows the items, it cannot report changes.
    eventually("the service knows what is there") { (try? service.vault().list().count) == 1 }
    let vault = try service.vault()
    try vault.set(SecretForm(TestService.secret("y")), for: ItemName(service: "secret-service:login", account: "by.hand"))
    eventually("the new item is told") {
      try? client.hear()
      return client.signals.contains { $0.member == "ItemCreated" && $0.argument == BusClient.login + "/by_2ehand" }
    }
    #expect(try client.secret(BusClient.login + "/by_2ehand", session: session) == ("y", "text/plain"))
    #expect(try vault.remove(ItemName(service: "secret-service:login", account: String(path.split(separator: "/").last ?? ""))))
    #expect(try client.await("ItemDeleted")?.argument == path)
    #expect(try client.search(["a": "b"]) == [])
  }

  @Test func `collections are made, labelled, found by their alias and deleted with their items`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    try client.listen()
    let session = try client.openPlain()
    func make(_ label: String, _ alias: String) throws -> String {
      try client.call(BusClient.root, .service, "CreateCollection") { (message) throws(Refusal) in
        try message.putArray("{sv}") { () throws(Refusal) in
          try message.putProperty("org.freedesktop.Secret.Collection.Label", "s") { () throws(Refusal) in try message.put(label) }
        }
        try message.put(alias)
      }.objectPath()
    }
    let work = try make("My Work", "work")
    #expect(work == BusClient.root + "/collection/My_20Work")
    #expect(try client.await("CollectionCreated")?.argument == work)
    #expect(try make("Another label", "work") == work, "the alias leads to one already")
    #expect(try make("My Work", "") == work + "_202")
    #expect(try client.collections().contains(work))
    let alias = BusClient.root + "/aliases/work"
    let item = try client.create("a", ["k": "v"], "s", in: alias, session: session)
    #expect(item.hasPrefix(work + "/"))
    #expect(try client.text(alias, .collection, "Label") == "My Work")
    try client.call(work, .propertiesOf, "Set") { (message) throws(Refusal) in
      try message.put("org.freedesktop.Secret.Collection")
      try message.put("Label")
      try message.putVariant("s") { () throws(Refusal) in try message.put("Renamed") }
    }
    #expect(try client.text(work, .collection, "Label") == "Renamed")
    func read(_ alias: String) throws -> String {
      try client.call(BusClient.root, .service, "ReadAlias") { (message) throws(Refusal) in try message.put(alias) }.objectPath()
    }
    func setAlias(_ alias: String, _ path: String) throws {
      try client.call(BusClient.root, .service, "SetAlias") { (message) throws(Refusal) in
        try message.put(alias)
        try message.put(path: path)
      }
    }
    #expect(try read("default") == BusClient.login && read("none") == "/" && read("work") == work)
    try setAlias("default", work)
    #expect(try read("default") == work)
    #expect(try client.refusal { _ = try client.call(work, .collection, "Delete") } == "NotSupported")
    try setAlias("default", "/")
    #expect(try read("default") == BusClient.login)
    #expect(try client.call(work, .collection, "Delete").objectPath() == "/")
    #expect(try client.await("CollectionDeleted")?.argument == work)
    #expect(try client.search(["k": "v"]) == [] && !client.collections().contains(work))
    #expect(try client.refusal { _ = try client.call(BusClient.login, .collection, "Delete") } == "NotSupported")
    #expect(try client.refusal { _ = try client.create("x", [:], "y", in: work, session: session) } == "NoSuchObject")
  }

  @Test func `collections and aliases are told apart by their bytes, whatever characters Unicode makes of them`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    // The mark combines with the character before the name in the vault; the other two are one text to Unicode.
    let names = ["\u{301}x", "caf\u{E9}", "cafe\u{301}"]
    for name in names {
      let made = try client.call(BusClient.root, .service, "CreateCollection") { (message) throws(Refusal) in
        try message.putArray("{sv}") { () throws(Refusal) in
          try message.putProperty("org.freedesktop.Secret.Collection.Label", "s") { () throws(Refusal) in try message.put(name) }
        }
        try message.put(name)
      }
      let path = try made.objectPath()
      #expect(path == ObjectPath.of(collection: name))
      let alias = try client.call(BusClient.root, .service, "ReadAlias") { (message) throws(Refusal) in try message.put(name) }
      #expect(try alias.objectPath() == path)
    }
    var items: [String] = []
    for name in names {
      let path = ObjectPath.of(collection: name)
      let item = try client.create("a", ["k": "v"], Self.hexadecimal(name), in: path, session: session)
      #expect(item.hasPrefix(path + "/"))
      #expect(try client.search(["k": "v"], in: ObjectPath.of(alias: name)) == [item])
      #expect(try client.secret(item, session: session).text == Self.hexadecimal(name))
      items.append(item)
    }
    #expect(try client.search(["k": "v"]) == items.sorted())
    #expect(try client.call(ObjectPath.of(collection: names[1]), .collection, "Delete").objectPath() == "/")
    #expect(try client.search(["k": "v"]) == [items[0], items[2]].sorted())
    let left = try client.collections()
    #expect(names.map { left.contains(ObjectPath.of(collection: $0)) } == [true, false, true])
  }

  @Test(arguments: ["login", "session"])
  func `attributes are told apart by their bytes, and two names that are one text to Unicode are refused`(name: String) throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let (session, collection) = (try client.openPlain(), ObjectPath.of(collection: name))
    let (one, two) = ("caf\u{E9}", "cafe\u{301}")
    let first = try client.create("a", [one: one], "s", in: collection, session: session)
    #expect(try client.search([one: one], in: collection) == [first])
    #expect(try client.search([two: one], in: collection) == [] && client.search([one: two], in: collection) == [])
    let second = try client.create("b", [two: one], "t", in: collection, session: session)
    #expect(try second != first && client.search([two: one]) == [second])
    #expect(try client.search([one: one]) == [first] && client.secret(first, session: session).text == "s")
    func putBoth(_ message: BusMessage) throws(Refusal) {
      try message.putArray("{ss}") { () throws(Refusal) in
        for name in [two, one] {
          try message.putEntry("ss") { () throws(Refusal) in
            try message.put(name)
            try message.put(one)
          }
        }
      }
    }
    for (path, interface) in [(BusClient.root, .service), (collection, .collection)] as [(String, Interface)] {
      let refusal = try client.refusal { try client.call(path, interface, "SearchItems", putBoth) }
      #expect(refusal == "InvalidArgs")
    }
    let refusal = try client.refusal {
      try client.call(collection, .collection, "CreateItem") { (message) throws(Refusal) in
        try message.putArray("{sv}") { () throws(Refusal) in
          try message.putProperty("org.freedesktop.Secret.Item.Attributes", "a{ss}") { () throws(Refusal) in
            try putBoth(message)
          }
        }
        try BusClient.put("s", session, message)
        try message.put(true)
      }
    }
    #expect(try refusal == "InvalidArgs" && client.search([:], in: collection).count == 2)
  }

  @Test func `a collection has one alias of a text, and refuses it in another spelling`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    func read(_ alias: String) throws -> String {
      try client.call(BusClient.root, .service, "ReadAlias") { (message) throws(Refusal) in try message.put(alias) }.objectPath()
    }
    func setAlias(_ alias: String, _ path: String) throws -> String {
      try client.refusal {
        try client.call(BusClient.root, .service, "SetAlias") { (message) throws(Refusal) in
          try message.put(alias)
          try message.put(path: path)
        }
      }
    }
    let (one, two) = ("caf\u{E9}", "cafe\u{301}")
    #expect(try setAlias(one, BusClient.login) == "" && read(one) == BusClient.login && read(two) == "/")
    #expect(try setAlias(two, BusClient.login) == "InvalidArgs" && read(one) == BusClient.login && read(two) == "/")
    #expect(try setAlias(one, "/") == "" && read(one) == "/")
    #expect(try setAlias(two, BusClient.login) == "" && read(two) == BusClient.login && read(one) == "/")
  }

  private static func hexadecimal(_ text: String) -> String { text.utf8.map { String($0, radix: 16) }.joined() }

  @Test func `the session's collection is never locked, and nothing of it is in the vault`() throws {
    let service = try TestService(unlocked: false)
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    let collection = BusClient.root + "/collection/session"
    let path = try client.create("a", ["k": "v"], "s", in: collection, session: session)
    #expect(try client.search(["k": "v"], in: collection) == [path])
    #expect(try client.secret(path, session: session).text == "s")
    #expect(try client.create("b", ["k": "v"], "t", in: collection, session: session) == path)
    #expect(try client.secret(path, session: session).text == "t")
    #expect(try !client.isLocked(collection))
    #expect(try client.unlock([collection, path]) == ([collection, path], "/"))
    #expect(try client.call(path, .item, "Delete").objectPath() == "/")
    #expect(try client.search([:], in: collection) == [])
    try service.unlock()
    #expect(try service.client.list().isEmpty)
  }

  @Test func `an item of the vault that is shared appears with what programs search for`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    let name = try ItemName(service: "github.com", account: "ada")
    try service.client.set(SecretForm(TestService.secret("shared")), for: name)
    #expect(try client.search([:]) == [])
    let metadata = try #require(try service.client.item(name).flatMap { SharedItems.changed($0.metadata, isShared: true) })
    try service.client.apply([.describe(name, as: metadata)])
    let found = try client.search(["service": "github.com", "username": "ada"])
    #expect(found.count == 1 && found[0].hasPrefix(BusClient.login + "/"))
    #expect(try client.secret(found[0], session: session).text == "shared")
    #expect(try client.text(found[0], .item, "Label") == "github.com/ada")
    try client.call(found[0], .item, "SetSecret") { (message) throws(Refusal) in try BusClient.put("new", session, message) }
    let isNew = try service.client.get(name)?.bytes.isEqual(to: TestService.secret("new"))
    #expect(isNew == true)
    #expect(try client.call(found[0], .item, "Delete").objectPath() == "/")
    #expect(try client.search([:]) == [])
    #expect(try service.client.item(name)?.metadata.attributes == [:])
  }

  /// Names that Coffer's code trusts, current ones and those of earlier versions.
  static let believed = [
    "coffer.auth", "coffer.auth.client", "coffer.oauth.token-endpoint", "coffer.oauth.revocation-endpoint", "coffer.oauth.client",
    "coffer.oauth.scope", "coffer.oauth.secret-in-body", "coffer.oauth.authority", "coffer.ends-with-session", "coffer.named",
    "oauth.token-endpoint", "oauth.revocation-endpoint", "oauth.client", "oauth.scope", "oauth.secret-in-body", "secret-service",
  ]

  @Test(arguments: believed)
  func `what Coffer believes of a login is hidden from programs, stays, and is refused from them`(attribute: String) throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    let name = try ItemName(service: "git.example", account: "ada")
    let own = ["coffer.auth": "token", VaultNaming.shared: "login"].merging(
      attribute == "coffer.named" ? [:] : [attribute: attribute == VaultNaming.shared ? "login" : "genuine"]
    ) { old, _ in old }
    let metadata = ItemMetadata(attributes: own.merging(["mine": "1"]) { old, _ in old })
    try service.client.set(SecretForm(TestService.secret("token"), metadata: metadata), for: name)
    let path = try #require(try client.search(["mine": "1"]).first)
    #expect(try client.search([attribute: own[attribute] ?? ""]) == [])
    func attributes() throws -> [String: String] {
      try client.property(path, .item, "Attributes", "a{ss}") { (answer) throws(Refusal) in try answer.attributes() }
    }
    let seen = ["mine": "1", "service": "git.example", "server": "git.example", "account": "ada", "username": "ada"]
    #expect(try attributes() == seen)
    func describe(_ attributes: [String: String]) throws -> String {
      try client.refusal {
        try client.call(path, .propertiesOf, "Set") { (message) throws(Refusal) in
          try message.put(Interface.item.name)
          try message.put("Attributes")
          try message.putVariant("a{ss}") { () throws(Refusal) in try message.put(attributes: attributes) }
        }
      }
    }
    #expect(try describe(["mine": "2", attribute: "forged"]) == "InvalidArgs")
    for collection in [BusClient.login, BusClient.root + "/collection/session"] {
      let refusal = try client.refusal {
        _ = try client.create("x", [attribute: "forged"], "s", in: collection, session: session)
      }
      #expect(refusal == "InvalidArgs")
    }
    #expect(try client.refusal { _ = try client.create("x", seen, "forged", session: session) } == "AccessDenied")
    #expect(
      try client.refusal {
        try client.call(path, .item, "SetSecret") { (message) throws(Refusal) in try BusClient.put("forged", session, message) }
      } == "AccessDenied")
    #expect(try service.client.item(name)?.metadata == metadata)
    #expect(try describe(["mine": "2"]) == "")
    #expect(try service.client.item(name)?.metadata.attributes == own.merging(["mine": "2"]) { old, _ in old })
    #expect(try client.secret(path, session: session).text == "token")
  }

  @Test func `who listens is told which items a collection has`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    try client.listen()
    var told: [String]?
    func hear() throws {
      while let message = try client.bus.next() {
        guard message.member == "PropertiesChanged", message.path == BusClient.login else { continue }
        _ = try message.string()
        try message.entries("v") { (name) throws(Refusal) in
          guard name == "Items" else { return try message.skip("v") }
          told = try message.variant("ao") { () throws(Refusal) in try message.paths() }
        }
      }
    }
    let path = try client.create("a", [:], "s", session: client.openPlain())
    try eventually("the new item is told") {
      try hear()
      return told == [path]
    }
    try client.call(path, .item, "Delete")
    try eventually("that it is gone is told") {
      try hear()
      return told == []
    }
  }

  @Test func `an item that a program stored is found before one that is shared`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let shared = SecretForm(try TestService.secret("shared"), metadata: ItemMetadata(attributes: [VaultNaming.shared: "login"]))
    try service.client.set(shared, for: ItemName(service: "example.com", account: "ada"))
    let stored = try client.create("a", ["service": "example.com"], "s", session: client.openPlain())
    let answer = try client.call(BusClient.root, .service, "SearchItems") { (message) throws(Refusal) in
      try message.put(attributes: ["service": "example.com"])
    }
    let found = try answer.paths()
    #expect(found.count == 2 && found.first == stored)
  }

  @Test func `changes are in the vault's log with the program that asked for them`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    _ = try client.create("a", [:], "s", session: client.openPlain())
    let entries = try service.vault().log()
    let entry = try #require(entries.last { $0.process == UInt32(getpid()) })
    #expect(entry.program.hasSuffix(")") && entry.program.contains(" (by "), "\(entry.program)")
  }

  @Test func `sandboxed applications have secrets that stay the same, each its own`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address, destination: SecretServiceProvider.portalName)
    func secret(_ application: String) throws -> Data {
      let pipe = Pipe()
      let answer = try client.call(ObjectPath.portalRoot, .portal, "RetrieveSecret") { (message) throws(Refusal) in
        try message.put(path: "/org/freedesktop/portal/desktop/request/1_1/t")
        try message.put(application)
        try message.put(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        try message.putArray("{sv}") { () throws(Refusal) in }
      }
      #expect(try answer.number() == 0)
      try pipe.fileHandleForWriting.close()
      return pipe.fileHandleForReading.readDataToEndOfFile()
    }
    let first = try secret("org.example.App")
    #expect(first.count == 64)
    #expect(try secret("org.example.App") == first)
    #expect(try secret("org.example.Other") != first)
    #expect(try BusClient(service.bus.address).search([:]) == [])
  }

  @Test func `the secret of an application goes into a pipe or a socket that has room, and nobody is waited for`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address, destination: SecretServiceProvider.portalName)
    func refusal(_ descriptor: Int32) throws -> String {
      try client.refusal {
        try client.call(ObjectPath.portalRoot, .portal, "RetrieveSecret") { (message) throws(Refusal) in
          try message.put(path: "/org/freedesktop/portal/desktop/request/1_1/t")
          try message.put("org.example.App")
          try message.put(descriptor: descriptor)
          try message.putArray("{sv}") { () throws(Refusal) in }
        }
      }
    }
    var (full, ended, sockets) = (
      [Int32](repeating: 0, count: 2), [Int32](repeating: 0, count: 2), [Int32](repeating: 0, count: 2)
    )
    try #require(pipe(&full) == 0 && pipe(&ended) == 0 && socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &sockets) == 0)
    defer { for end in full + ended.suffix(1) + sockets { close(end) } }
    close(ended[0])
    while case let count = coffer_write_at_once(full[1], [UInt8](repeating: 0, count: 4096), 4096), count > 0 {}
    let file = open(service.bus.folder.path.appending("file").string, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(file) }
    for other in [full[1], ended[1], file] { #expect(try refusal(other) == "Failed") }
    #expect(try refusal(sockets[1]) == "")
    var bytes = [UInt8](repeating: 0, count: 128)
    #expect(recv(sockets[0], &bytes, bytes.count, Int32(MSG_DONTWAIT)) == 64)
  }

  @Test func `objects describe themselves and what is beneath them`() throws {
    let service = try TestService()
    let client = try BusClient(service.bus.address)
    let item = try client.create("a", [:], "s", session: client.openPlain())
    func describe(_ path: String) throws -> String { try client.call(path, .introspectable, "Introspect").string() }
    #expect(try describe("/").contains("<node name=\"org\"/>"))
    #expect(try describe(BusClient.root).contains("<interface name=\"org.freedesktop.Secret.Service\">"))
    #expect(try describe(BusClient.root + "/collection").contains("<node name=\"login\"/>"))
    #expect(try describe(BusClient.login).contains("<node name=\"\(item.split(separator: "/").last ?? "")\"/>"))
    #expect(try describe(item).contains("<property name=\"Attributes\" type=\"a{ss}\" access=\"readwrite\"/>"))
    let all = try client.call(item, .propertiesOf, "GetAll") { (message) throws(Refusal) in try message.put("") }
    var names: [String] = []
    try all.entries("v") { (name) throws(Refusal) in
      names.append(name)
      try all.skip("v")
    }
    #expect(names.sorted() == ["Attributes", "Created", "Label", "Locked", "Modified"])
  }
}
