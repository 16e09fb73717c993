internal import ArgumentParser
internal import Coffer
internal import CofferDefaults
internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

/// Suggestions for a shell. A completion never asks, never prints an error, and has no suggestions after a failure.
enum Completions {
  static let services = CompletionKind.custom { words, _, prefix in
    list(words) { context in
      let items = try context.silentItems()
      let text = beginning(prefix)
      // `coffer` alone may be a service.
      if text.contains(":"), let references = try references(text, items) { return references }
      return Set(try items.names(of: nil, prefix: text)).union(try inOneWord(text, items)).subtracting([LoginItems.pointers])
    }
  }

  /// The items that `text` begins as SERVICE/ACCOUNT.
  private static func inOneWord(_ text: String, _ items: VaultItems) throws -> [String] {
    try text.indices.filter { text[$0] == "/" && $0 > text.startIndex }.flatMap { slash in
      let service = String(text[..<slash])
      return try items.names(of: service, prefix: String(text[text.index(after: slash)...])).filter { !$0.isEmpty }
        .map { "\(service)/\($0)" }
    }
  }

  /// The references that `text` begins; nil where it begins none.
  private static func references(_ text: String, _ items: VaultItems) throws -> Set<String>? {
    guard Reference.isMeant(by: text) || Reference.scheme.hasPrefix(text) else { return nil }
    let parts = Reference.parts(of: text)
    guard parts.count > 1 else {
      // One item of a service: no account need be told.
      return Set(try items.names(of: nil, prefix: "").map { Reference(service: $0, account: nil).description })
    }
    let service = try Reference(Reference.scheme + String(Substring(parts[0]))).service
    return Set(try items.names(of: service, prefix: "").map { Reference(service: service, account: $0).description })
  }

  /// The accounts of the services that stand on the line.
  static let accounts = CompletionKind.custom { words, _, prefix in
    list(words) { context in
      let items = try context.silentItems()
      return Set(
        try words.dropFirst().flatMap { try items.names(of: $0, prefix: beginning(prefix)) }.filter { !$0.isEmpty })
    }
  }

  /// The described fields of the item on the line, by the names that `--field` takes.
  static let fields = CompletionKind.custom { words, _, _ in
    list(words) { context in
      let items = try context.silentItems()
      let found = try words.dropFirst().flatMap { try items.find(ItemQuery(service: $0)).items() }
      let meant = found.filter { words.contains($0.name.account) }
      return Set(
        try (meant.isEmpty ? found : meant).flatMap { item in
          let said = ItemJSON(item).description.filter { !$0.1.isEmpty }.map(\.0)
          return try said + item.metadata.attributes.keys + items.fields(of: item.name).map(\.name.field)
        })
    }
  }

  /// The vault's slots, by the digits that name them: no secret is needed to see those.
  static let slots = CompletionKind.custom { words, _, _ in
    list(words) { Set(try $0.lockedVault().slots.map(\.id.description)) }
  }

  /// The hosts that somebody is logged in to.
  static let hosts = CompletionKind.custom { words, _, prefix in
    list(words) { context in
      Set(try AuthAccounts.hosts(in: context.silentItems()).filter { $0.hasPrefix(beginning(prefix)) })
    }
  }

  /// `NAME=coffer://service/account`, once the name stands there.
  static let namedReferences = CompletionKind.custom { words, _, prefix in
    guard let (name, text) = prefix.nameAndValue else { return [] }
    return list(words) { context in Set((try references(text, context.silentItems()) ?? []).map { "\(name)=\($0)" }) }
  }

  /// The typed text, if it certainly begins a name: not if it has a shell's quotes.
  private static func beginning(_ prefix: String) -> String { prefix.utf8.allSatisfy(isPlain) ? prefix : "" }

  static let domains = CompletionKind.custom { words, _, _ in
    list(words) { Set(try DefaultsDomain.list(in: $0.places.defaults).map(\.name)) }
  }

  /// The keys of the domains that stand on the line.
  static let keys = CompletionKind.custom { words, _, _ in
    list(words) { context in
      let domains = try DefaultsDomain.list(in: context.places.defaults).map(\.name).filter { words.dropFirst().contains($0) }
      return Set(try domains.flatMap { try context.domain($0).names() })
    }
  }

  /// The keys of the router's domain, in both stores.
  static let routerKeys = CompletionKind.custom { words, _, _ in
    let domain = value(of: "--domain", words) ?? ProcessEnvironment.value("COFFER_DOMAIN") ?? "coffer"
    return list(words) { context in
      let keys = Set(try context.domain(domain).names())
      // Preferences are offered where the vault is locked, too.
      do { return keys.union(try context.silentItems().names(of: domain)) } catch { return keys }
    }
  }

  private static func list(_ words: [String], _ find: (Context) throws -> Set<String>) -> [String] {
    do {
      // In the form in which an item is found by it, so that one name is one line, and none moves the cursor or turns the line
      // around.
      return try find(
        Context(
          home: value(of: "--home", words), vault: value(of: "--vault", words), quiet: true)
      ).sorted()
        .map { spelt(Printable.line($0)) }
    } catch {
      return []
    }
  }

  /// The shell script's spelling of `name`.
  ///
  /// bash expands the words it is given (bash(1), `compgen -W`), so an unescaped word would be run. In zsh a colon, which many a
  /// service has, would begin a description (zshcompsys(1), `_describe`).
  private static func spelt(_ name: String) -> String {
    switch CompletionShell.requesting {
    case .bash?: escaped(name) { !isPlain($0) }
    case .zsh?: escaped(name) { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "\\") }
    default: name
    }
  }

  private static func escaped(_ name: String, _ isSpecial: (UInt8) -> Bool) -> String {
    let bytes = name.utf8.flatMap { isSpecial($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether a byte means nothing to a shell. Bytes of other letters than English ones do not.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "-"),
      0x80...0xFF:
      true
    default: false
    }
  }

  private static func value(of option: String, _ words: [String]) -> String? {
    words.firstIndex(of: option).flatMap { words.dropFirst($0 + 1).first }
  }
}

extension Context {
  /// The items of the vault, if it opens at once and without a question: by the agent, or by a key file or an identity in the
  /// environment.
  ///
  /// - Throws: errors that a completion does not print.
  fileprivate func silentItems() throws -> VaultItems {
    if let items = try agentItems() { return items }
    let sources = CredentialSources(self)
    var credentials = Credentials()
    if let path = ProcessEnvironment.value("COFFER_KEY_FILE") { credentials.keyFile = try sources.keyFile(path) }
    if let path = ProcessEnvironment.value("COFFER_IDENTITY") { credentials.identity = try sources.identity(path) }
    return try items(openedWith: credentials)
  }
}
