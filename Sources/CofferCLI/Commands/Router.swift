internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

struct GetCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print the value of a key, wherever it is stored.",
    discussion: """
      A key in the domain's property list is a preference and needs no vault; any other is looked for in the vault. \
      A secret is printed as exactly its bytes; only a terminal gets a newline after it.
      """)

  @Argument(help: "The key's name.", completion: Completions.routerKeys) var key: String
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let router = try ShellRouter(router, context)
    if let form = try router.plain.load(key) { return try show(form, router.domain) }
    guard let secret = try router.vault()?.load(key) else { throw router.notFound(key) }
    try show(secret, router.domain)
  }

  private func show(_ form: PlainForm, _ domain: String) throws {
    if options.json {
      return try Output.line(
        JSONText.encode(Answer(domain: domain, key: key, store: "defaults", type: form.typeWord, value: PlainFormJSON(form))))
    }
    if case .data(let data) = form {
      return try data.bytes.withUnsafeBytes { (raw) throws(Failure) in try Output.value(raw) }
    }
    try Output.value(PlainText.text(form))
  }

  private func show(_ secret: SecretForm, _ domain: String) throws {
    if options.json {
      return try JSONText.write(
        JSONText.encode(Answer(domain: domain, key: key, store: "vault", type: secret.metadata.contentType)), "value",
        secret.bytes)
    }
    try Output.value(secret.bytes)
  }

  private struct Answer: Encodable {
    let domain: String, key: String, store: String, type: String
    var value: PlainFormJSON?
  }
}

struct DeleteCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove a key from the store it is in.", aliases: ["rm", "del", "remove", "erase"])

  @Argument(help: "The key's name.", completion: Completions.routerKeys) var key: String
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let router = try ShellRouter(router, context)
    if try router.plain.contains(key) {
      try router.writablePlain().save(nil, for: key)
      return try router.finish()
    }
    guard let vault = try router.vault(), try vault.contains(key) else { throw router.notFound(key) }
    try vault.save(nil, for: key)
  }
}

struct ListCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the keys of a domain and the store each is in; no value is shown.",
    discussion: "With --plain the vault is not touched.", aliases: ["ls"])

  @Flag(help: "Only preferences; needs no vault.") var plain = false
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let router = try ShellRouter(router, context)
    let preferences = try router.plain.names()
    let (secrets, failure) = try secrets(router, after: preferences)
    let rows = (preferences.map { Row(key: $0, store: "defaults") } + secrets.map { Row(key: $0, store: "vault") })
      .sorted { ($0.key, $0.store) < ($1.key, $1.store) }
    if options.json {
      try Output.line(JSONText.encode(rows))
    } else if Output.isTerminal {
      try Self.table(rows).show()
    } else if !rows.isEmpty {
      try Output.line(Columns.align(rows.map { [$0.key, $0.store] }))
    }
    if let failure { throw failure }
    if let twice = Set(preferences).intersection(secrets).min() { throw router.inBoth(twice) }
  }

  /// The keys in the vault, or why they are unknown: any preferences are listed all the same.
  private func secrets(_ router: ShellRouter, after preferences: [String]) throws -> ([String], (any Error)?) {
    guard !plain else { return ([], nil) }
    do { return (try router.vault()?.names() ?? [], nil) } catch {
      guard !preferences.isEmpty, (error as? Failure)?.status != .interrupted else { throw error }
      return ([], error)
    }
  }

  private static func table(_ rows: [Row]) -> Table {
    Table(
      columns: [.text("KEY"), .fixed("STORE")], rows: rows.map { [Table.Cell($0.key), Table.Cell($0.store)] },
      footer: rows.isEmpty ? "no keys" : counted(rows.count, "key"))
  }

  private struct Row: Encodable { let key: String, store: String }
}

struct ExplainCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Say where the value of a key comes from, without showing a secret.",
    discussion: "Looks in both stores. A key that is in both is reported with the two ways to settle it, and exit status 65.")

  @Argument(help: "The key's name.", completion: Completions.routerKeys) var key: String
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let router = try ShellRouter(router, context)
    let explanation = try router.plain.explain(key)
    let isPlain = explanation.winner != nil
    if isPlain, !options.json { try Output.line(Printable.text(explanation.description)) }
    var answer = SourcesJSON(router.domain, key, explanation)
    let isSecret: Bool
    switch isPlain ? router.lookUp(key) : try router.vault()?.contains(key) ?? false ? .there : .absent {
    case .there: isSecret = true
    case .absent: isSecret = false
    case .unknown(let error):
      // A preference's answer does not depend on the vault: only note the failure.
      context.note("whether the vault holds it too is unknown: \(Failure.of(error)?.what ?? "")")
      if options.json { try Output.line(JSONText.encode(answer)) }
      return
    }
    if isSecret {
      answer.sources.append(.init(layer: "vault", place: context.places.vault.description, type: "secret"))
      let name = "service '\(router.domain)', account '\(key)'"
      if !options.json { try Output.line("vault: \(context.places.vault), \(Printable.line(name)): a secret") }
    }
    if options.json, isPlain || isSecret { try Output.line(JSONText.encode(answer)) }
    guard isPlain || isSecret else { throw router.notFound(key) }
    guard isPlain, isSecret else { return }
    throw StoreError(
      .damaged, "the key is both in the property list and in the vault", key: key, place: router.plain.place,
      cure: """
        'coffer defaults delete \(router.domain) \(key)' keeps the secret, \
        'coffer vault delete \(router.domain) \(key)' keeps the preference
        """)
  }
}

extension GetCommand: HotCommand {
  mutating func take(_ line: inout HotLine) -> Bool {
    guard let key = line.word() else { return false }
    var router = RouterOptions()
    router.domain = line.value("--domain")
    (self.key, self.router) = (key, router)
    (unlocking, options) = (line.unlockingOptions(), line.answerOptions())
    return true
  }
}
