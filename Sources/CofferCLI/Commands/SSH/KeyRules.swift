internal import ArgumentParser
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

/// What a key is for, and when a person is asked. The agent checks the rules.
struct KeyRules: ParsableArguments {
  enum Asking: String, ExpressibleByArgument, CaseIterable { case never, forwarded, always, passphrase }

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp(
      "A use: [USER@]HOST, 'HOST>[USER@]HOST', sign:NAMESPACE, ca or other; may be repeated.", valueName: "use"))
  var uses: [String] = []
  @Option(
    help: ArgumentHelp(
      "When a person is asked: never, forwarded (uses through another host; a new key's), always, or passphrase.",
      valueName: "when"))
  var ask: Asking?

  var isEmpty: Bool { uses.isEmpty && ask == nil }

  func validate() throws {
    // A lone empty one is for `edit`.
    for use in uses where uses != [""] {
      let isPlain = use.unicodeScalars.allSatisfy { $0 != "," && $0.properties.generalCategory != .control }
      guard isPlain, use != "sign:", !KnownHosts.hosts(of: use).contains("") else {
        throw ValidationError("--for '\(Printable.line(use))' is no use: give one each, as [USER@]HOST or sign:NAMESPACE")
      }
    }
  }

  func newKey(label: String?) throws -> ItemMetadata {
    guard !uses.contains("") else {
      throw Failure.usage("--for is empty", try: "the same without it, for any login and signature")
    }
    return try changed(ItemMetadata(label: label ?? ""))
  }

  /// - Parameter readsHosts: whether host keys are read without new rules.
  func changed(_ metadata: ItemMetadata, readingHosts readsHosts: Bool = false) throws -> ItemMetadata {
    var metadata = metadata
    if let ask { metadata.attributes[ItemMetadata.useAsk] = ask.rawValue }
    let rules = uses.isEmpty ? metadata.rules : uses.filter { !$0.isEmpty }
    guard readsHosts || !uses.isEmpty else { return metadata }
    let keys = try KnownHosts.lines(of: rules)
    for name in metadata.attributes.keys where name.hasPrefix(ItemMetadata.useHost) { metadata.attributes[name] = nil }
    for (number, line) in keys.enumerated() { metadata.attributes["\(ItemMetadata.useHost)\(number + 1)"] = line }
    metadata.attributes[ItemMetadata.useFor] = rules.isEmpty ? nil : rules.joined(separator: "\n")
    return metadata
  }
}

extension ItemMetadata {
  var publicKey: String { attributes[Self.usePublic] ?? "" }
  var rules: [String] { attributes[Self.useFor]?.split(separator: "\n").map(String.init) ?? [] }
  var isAge: Bool { publicKey.hasPrefix("age1") }
  var asking: String { attributes[Self.useAsk] ?? (isAge ? KeyRules.Asking.never : .forwarded).rawValue }
  /// In the order of their numbers.
  var hostKeys: [String] {
    attributes.filter { $0.key.hasPrefix(Self.useHost) }.sorted { ($0.key.utf8.count, $0.key) < ($1.key.utf8.count, $1.key) }
      .map(\.value)
  }

  func uses(_ separator: String) -> String {
    isAge ? "age" : rules.isEmpty ? "any" : rules.joined(separator: separator)
  }

  /// Reports the uses of a new or changed key.
  func tellUses(_ context: Context) {
    guard !context.quiet, attributes[Self.useFor] != nil || !isAge else { return }
    let asks = asking == KeyRules.Asking.forwarded.rawValue ? "" : "; asks: \(asking)"
    Output.message("for " + (rules.isEmpty ? "any login and signature" : describedRules) + asks)
  }

  /// `git@github.com (3 host keys of known_hosts), sign:git`.
  private var describedRules: String {
    let keys = hostKeys.filter { !$0.hasPrefix("@revoked") }.map { $0.split(separator: " ") }
    return rules.map { rule in
      let hosts = KnownHosts.hosts(of: rule)
      let count = keys.count { words in words.dropLast(2).last.map { hosts.contains(String($0)) } ?? false }
      return hosts.isEmpty ? rule : "\(rule) (\(counted(count, "host key")) of known_hosts)"
    }.joined(separator: ", ")
  }
}
