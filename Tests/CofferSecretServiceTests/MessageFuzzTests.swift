import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSecretService

/// Messages that no library sends: every method with values of its types and of others.
@Suite(.tags(.campaign, .process), .wholeRun) struct MessageFuzzTests {
  private static let texts = [
    "", "plain", "login", "a", "Label", "org.freedesktop.Secret.Item.Label", "日本語", String(repeating: "x", count: 300),
  ]
  private static let paths = [
    "/", "/org", BusClient.root, BusClient.login, BusClient.defaultAlias, BusClient.root + "/collection/none",
    BusClient.login + "/_zz",
    BusClient.login + "/0", BusClient.root + "/session/s99", BusClient.root + "/prompt/p1",
    BusClient.root + "/collection/session",
    ObjectPath.portalRoot,
  ]

  private static func put(_ type: Substring, _ message: BusMessage, _ random: inout Random) throws(Refusal) {
    switch type {
    case "s": try message.put(texts.randomElement(using: &random) ?? "")
    case "o": try message.put(path: paths.randomElement(using: &random) ?? "/")
    case "b": try message.put(Bool.random(using: &random))
    case "u": try message.put(UInt32.random(in: .min ... .max, using: &random))
    case "ay":
      let bytes = (0..<Int.random(in: 0..<200, using: &random)).map { _ in UInt8.random(in: .min ... .max, using: &random) }
      try bytes.span.bytes.withUnsafeBytes { (raw) throws(Refusal) in try message.put(raw) }
    case "ao": try message.put(paths: (0..<Int.random(in: 0..<4, using: &random)).map { paths[$0] })
    case "a{ss}":
      var attributes: [String: String] = [:]
      for _ in 0..<Int.random(in: 0..<4, using: &random) {
        attributes[texts.randomElement(using: &random) ?? ""] = texts.randomElement(using: &random)
      }
      try message.put(attributes: attributes)
    case "v":
      let contents = ["s", "o", "b", "u", "ay", "ao", "a{ss}", "v"].randomElement(using: &random) ?? "s"
      var copy = random
      try message.putVariant(contents) { () throws(Refusal) in try put(contents[...], message, &copy) }
      random = copy
    case "a{sv}":
      var copy = random
      try message.putArray("{sv}") { () throws(Refusal) in
        for _ in 0..<Int.random(in: 0..<3, using: &copy) {
          try message.putEntry("sv") { () throws(Refusal) in
            try put("s", message, &copy)
            try put("v", message, &copy)
          }
        }
      }
      random = copy
    default:
      var copy = random
      try message.putStructure(Session.contents) { () throws(Refusal) in
        for part in ["o", "ay", "ay", "s"] { try put(part[...], message, &copy) }
      }
      random = copy
    }
  }

  @Test func `no message does harm, and each is answered`() throws {
    let service = try TestService(patience: .milliseconds(10))
    let client = try BusClient(service.bus.address)
    let session = try client.openPlain()
    let item = try client.create("kept", ["kept": "yes"], "kept", session: session)
    let methods = [Interface.service, .collection, .item, .session, .prompt, .propertiesOf, .introspectable].flatMap {
      interface in
      interface.methods.map { (interface, $0) }
    }
    var random = Random(campaign: "messages to the Secret Service")
    let count = Campaign.size(short: 1_500, long: 1_000_000 / Campaign.share)
    var (answered, refused) = (0, [String: Int]())
    for _ in 0..<count {
      guard let (interface, method) = methods.randomElement(using: &random) else { continue }
      // Methods that empty the vault on purpose test nothing.
      if method.name.hasPrefix("Lock") { continue }
      var types = method.input.map(\.type)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: types.append("s")
      case 1: types = types.dropLast()
      case 2: types.shuffle(using: &random)
      default: break
      }
      var copy = random
      do {
        let having = Self.paths.filter { ObjectPath($0)?.interfaces.contains { $0.name == interface.name } ?? false }
        let path = (Int.random(in: 0..<8, using: &copy) == 0 ? Self.paths : having).randomElement(using: &copy) ?? "/"
        try client.call(path, interface, method.name) { (message) throws(Refusal) in
          for type in types { try Self.put(type[...], message, &copy) }
        }
        answered += 1
      } catch let error as Refused {
        #expect(!error.name.isEmpty && error.name != "org.freedesktop.DBus.Error.NoReply", "\(method.name): \(error)")
        refused[String(error.name.split(separator: ".").last ?? ""), default: 0] += 1
      }
      random = copy
    }
    print("messages to the Secret Service: \(answered) answered, \(refused.sorted { $0.key < $1.key })")
    #expect(answered > count / 50 && refused["InvalidArgs", default: 0] > count / 20)
    #expect(service.failure == nil)
    #expect(try client.secret(item, session: session).text == "kept")
  }
}
