import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSecretService

/// Random operations on this service and on gnome-keyring, each on its own bus: both answer the same.
///
/// Known differences are avoided:
/// - gnome-keyring also replaces an item with more attributes than given; the specification says the same ones, as does
///   Coffer. All items here have attributes of the same names.
/// - Of several items with equal attributes it replaces any, and Coffer the oldest. Here there is at most one.
/// - It adds a general `xdg:schema` to each item, which is removed here.
/// - It forgets content types and always returns `text/plain`. They are not compared.
/// - It names errors of removed objects as its library does. The name is not compared.
@Suite(.tags(.campaign, .process), .wholeRun) struct GnomeKeyringTests {
  /// gnome-keyring on its own bus, unlocked; skips the test if it is not installed.
  private final class Keyring {
    let bus: TestBus
    private let daemon: Int32
    private static let program = "/usr/bin/gnome-keyring-daemon"

    private static func needProgram() throws {
      guard access(program, X_OK) == 0 else { try Test.skip(without: "gnome-keyring") }
    }

    init() throws {
      try Self.needProgram()
      let bus = try TestBus()
      self.bus = bus
      let home = bus.folder.path.string
      let passphrase = home + "/passphrase"
      try Data("correct horse".utf8).write(to: URL(fileURLWithPath: passphrase))
      daemon = try TestBus.start(
        [Self.program, "--foreground", "--unlock", "--components=secrets", "--control-directory=\(home)/control"],
        environment: [
          "HOME": home, "XDG_DATA_HOME": home + "/share", "XDG_RUNTIME_DIR": home, "DBUS_SESSION_BUS_ADDRESS": bus.address,
        ], input: passphrase)
      let client = try BusClient(bus.address)
      eventually("gnome-keyring answers") { (try? client.isLocked()) == false }
    }

    deinit {
      kill(daemon, SIGKILL)
      waitpid(daemon, nil, 0)
    }
  }

  private final class Side {
    let client: BusClient
    let session: String
    /// By the item's number; nil once it is deleted.
    var paths: [Int: String] = [:]

    init(_ address: String) throws {
      client = try BusClient(address)
      session = try client.openPlain()
    }

    private func number(of path: String) -> Int { paths.first { $0.value == path }?.key ?? -1 }

    func answer(_ operation: Operation) -> String {
      do {
        switch operation {
        case .create(let number, let label, let attributes, let secret, let replace):
          let path = try client.create(label, attributes, secret, session: session, replace: replace)
          let known = self.number(of: path)
          if known < 0 { paths[number] = path }
          return "\(known < 0 ? number : known)"
        case .search(let attributes, let inCollection):
          let found = try client.search(attributes, in: inCollection ? BusClient.login : nil)
          return "\(found.map(number).sorted())"
        case .read(let item): return try client.secret(path(item), session: session).text
        case .write(let item, let secret):
          try client.call(path(item), .item, "SetSecret") { (message) throws(Refusal) in
            try BusClient.put(secret, session, message)
          }
          return "written"
        case .label(let item, let label):
          try set(item, "Label", "s") { (message) throws(Refusal) in try message.put(label) }
          return try client.text(path(item), .item, "Label")
        case .attributes(let item, let attributes):
          try set(item, "Attributes", "a{ss}") { (message) throws(Refusal) in try message.put(attributes: attributes) }
          return try describe(item)
        case .describe(let item): return try describe(item)
        case .delete(let item):
          let prompt = try client.call(path(item), .item, "Delete").objectPath()
          paths[item] = nil
          return "deleted \(prompt)"
        case .alias(let name):
          return try client.call(BusClient.root, .service, "ReadAlias") { (message) throws(Refusal) in try message.put(name) }
            .objectPath()
        case .items:
          let paths = try client.property(BusClient.login, .collection, "Items", "ao") { (answer) throws(Refusal) in
            try answer.paths()
          }
          return "\(paths.map(number).sorted())"
        }
      } catch { return "refused" }
    }

    private func path(_ item: Int) -> String { paths[item] ?? BusClient.login + "/999999" }

    private func set(_ item: Int, _ name: String, _ type: String, _ put: (BusMessage) throws(Refusal) -> Void) throws {
      try client.call(path(item), .propertiesOf, "Set") { (message) throws(Refusal) in
        try message.put(Interface.item.name)
        try message.put(name)
        try message.putVariant(type) { () throws(Refusal) in try put(message) }
      }
    }

    private func describe(_ item: Int) throws -> String {
      let label = try client.text(path(item), .item, "Label")
      var attributes = try client.property(path(item), .item, "Attributes", "a{ss}") { (answer) throws(Refusal) in
        try answer.attributes()
      }
      if attributes["xdg:schema"] == "org.freedesktop.Secret.Generic" { attributes["xdg:schema"] = nil }
      return "\(label) \(attributes.sorted { $0.key < $1.key })"
    }
  }

  private enum Operation {
    case create(Int, String, [String: String], String, replace: Bool)
    case search([String: String], inCollection: Bool)
    case read(Int), write(Int, String), label(Int, String), attributes(Int, [String: String]), describe(Int), delete(Int)
    case alias(String), items
  }

  private static func attributes(_ random: inout Random) -> [String: String] {
    [
      "user": ["ada", "bob", "Ada", ""].randomElement(using: &random) ?? "",
      "host": ["a", "b", "日本"].randomElement(using: &random) ?? "",
    ]
  }

  /// gnome-keyring rewrites all items with each change, and 100 000 operations would never end.
  private static let mostItems = 400

  private static func operation(_ number: Int, _ alive: [Int], _ random: inout Random) -> Operation {
    // One in five does not exist.
    let isThere = Int.random(in: 0..<5, using: &random) > 0
    let item = isThere ? alive.randomElement(using: &random) ?? 0 : Int.random(in: 0...number, using: &random)
    if alive.count > mostItems { return .delete(item) }
    let text = ["", "hunter2", "ü\n", String(repeating: "long ", count: 500)].randomElement(using: &random) ?? ""
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<4:
      let replaces = Bool.random(using: &random)
      let attributes = replaces ? attributes(&random) : ["user": "ada", "host": "\(number)"]
      return .create(number, "label \(number)", attributes, text, replace: replaces)
    case 4..<8:
      let all = attributes(&random)
      let some = all.filter { _ in Bool.random(using: &random) }
      return .search(some, inCollection: Bool.random(using: &random))
    case 8..<10: return .read(item)
    case 10, 11: return .write(item, text)
    case 12: return .label(item, "other \(number)")
    case 13: return .attributes(item, ["user": "bob", "host": "\(number)"])
    case 14, 15: return .describe(item)
    case 16, 17: return .delete(item)
    default:
      return Bool.random(using: &random) ? .alias(["default", "none", "session"].randomElement(using: &random) ?? "") : .items
    }
  }

  @Test func `what gnome-keyring has becomes items that programs find again, and coffer's own is not read`() throws {
    let keyring = try Keyring()
    let client = try BusClient(keyring.bus.address)
    let session = try client.openPlain()
    let given = ["xdg:schema": "org.example", "user": "ada"]
    let path = try client.create("Token", given, "hunter2", session: session)
    _ = try client.create("", ["xdg:schema": "org.example", "user": "bob"], "", session: session)
    let found = try OtherKeyring(bus: keyring.bus.address)
    #expect(found.owner.program == "gnome-keyring-daemon" && found.locked == [] && found.items.count == 2)
    let item = try #require(found.items.first { $0.form.metadata.label == "Token" })
    #expect(item.name.service == "secret-service:login" && path.hasSuffix("/" + item.name.account))
    #expect(item.form.metadata.attributes == given)
    let service = try TestService()
    let report = try service.vault().add(found.items)
    #expect(report.added.count == 2)
    let ours = try BusClient(service.bus.address)
    let stored = try #require(try eventuallyFound { try ours.search(["user": "ada"], in: BusClient.login).first })
    #expect(try ours.secret(stored, session: ours.openPlain()).text == "hunter2")
    let address = service.bus.address
    let error = #expect(throws: StoreError.self) { try OtherKeyring(bus: address) }
    #expect(error?.kind == .refused)
  }

  /// The result of `find` once the agent knows of another process's write.
  private func eventuallyFound(_ find: () throws -> String?) throws -> String? {
    var found: String?
    try eventually("it is found") {
      found = try find()
      return found != nil
    }
    return found
  }

  @Test func `random operations are answered as gnome-keyring answers them`() throws {
    let keyring = try Keyring()
    let service = try TestService()
    let (ours, theirs) = (try Side(service.bus.address), try Side(keyring.bus.address))
    var random = Random(campaign: "operations beside gnome-keyring")
    let count = Campaign.size(short: 1_000, long: 100_000 / Campaign.share)
    var refused = 0
    for number in 0..<count {
      let operation = Self.operation(number, ours.paths.keys.sorted(), &random)
      let (mine, other) = (ours.answer(operation), theirs.answer(operation))
      #expect(mine == other, "\(number): \(operation)")
      guard mine == other else { return }
      if mine == "refused" { refused += 1 }
    }
    print("operations beside gnome-keyring: \(count), of which \(refused) were refused by both")
    #expect(refused < count / 4)
  }
}
