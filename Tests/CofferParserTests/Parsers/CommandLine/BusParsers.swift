#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferSecretService

/// The Secret Service's own parsing of a message: sd-bus checks and decodes the rest.
enum BusParsers {
  static let path = Parser(
    "bus-path", longest: 256,
    words: [
      "/org/freedesktop/secrets", "/collection/", "/aliases/", "/session/", "/prompt/", "_2e", "/org/freedesktop/portal/desktop",
    ]
  ) { input in
    let text = String(decoding: input, as: UTF8.self)
    guard let path = ObjectPath(text) else { throw Refusal.invalidArguments("no path") }
    switch path {
    case .collection(let name): try promise(ObjectPath.of(collection: name) == text, "a collection has another path")
    case .alias(let name): try promise(ObjectPath.of(alias: name) == text, "an alias has another path")
    case .item(let item): try promise(item.text == text, "an item has another path")
    case .service, .session, .prompt, .portal, .folder: return
    }
  }
}
