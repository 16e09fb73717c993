internal import Coffer
internal import CofferPlatform
internal import CofferStorage

/// The tokens in gh's `hosts.yml`, one item an account of a host.
///
/// gh writes plain mappings and nothing else of YAML; what is more is refused. Source: `internal/config` of github.com/cli/cli.
struct GitHubHosts {
  private struct Key {
    let indent: Int
    let name: String
  }

  private var open: [Key] = []
  /// By host: the accounts with their tokens, and who is active.
  private var hosts: [(name: String, tokens: [(user: String, token: SecretForm, cut: ImportedEntry.Cut)], active: String)] = []
  private let place: String

  static func read(_ file: borrowing SecretBytes, place: String) throws -> ImportedEntries {
    try file.withUnsafeBytes { raw in
      var reader = GitHubHosts(place: place)
      for (number, line) in TextLines(raw) { try reader.take(line, number) }
      return reader.found()
    }
  }

  private init(place: String) { self.place = place }

  private mutating func take(_ line: TextLines.Line, _ number: Int) throws {
    let text = line.trimmed
    guard let first = text.first, first != UInt8(ascii: "#"), text.word != "---" else { return }
    guard !Self.unknown.contains(first) else { throw damaged(Self.refusal, number) }
    let indent = text.startIndex - line.startIndex
    guard !line.prefix(indent).contains(0x09), first != UInt8(ascii: "-"), let (name, value) = text.parted(at: ":") else {
      throw damaged("no 'name: value'", number)
    }
    while let last = open.last, last.indent >= indent { open.removeLast() }
    let key = name.trimmed.word.filter { $0 != "\"" && $0 != "'" }
    if open.isEmpty { hosts.append((key, [], "")) }
    let scalar = try self.scalar(value.trimmed, number)
    if let scalar, let host = open.first, host.name == hosts.last?.name {
      take(key, scalar, line.lineCut, in: open.dropFirst().map(\.name))
    }
    open.append(Key(indent: indent, name: key))
  }

  private mutating func take(_ key: String, _ value: SecretForm, _ cut: ImportedEntry.Cut, in path: [String]) {
    let last = hosts.count - 1
    switch (key, path.count) {
    case ("user", 0): hosts[last].active = value.plainText
    case ("oauth_token", 0): hosts[last].tokens.append(("", value, cut))
    case ("oauth_token", 2) where path[0] == "users": hosts[last].tokens.append((path[1], value, cut))
    default: break
    }
  }

  /// What begins the parts of YAML that gh does not write: flow collections, anchors, aliases, tags, blocks.
  private static let unknown = Set("{}[],&*!|>%@`?".utf8)
  private static let refusal = "YAML that gh does not write"

  /// The value in a line, plain or in quotes without escapes; nil for none, and for a mapping that is empty.
  private func scalar(_ value: TextLines.Line, _ number: Int) throws -> SecretForm? {
    guard let first = value.first, first != UInt8(ascii: "#"), !value.elementsEqual("{}".utf8) else { return nil }
    if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") {
      let inner = value.dropFirst().dropLast()
      guard value.count > 1, value.last == first, !inner.contains(first), !inner.contains(UInt8(ascii: "\\")) else {
        throw damaged(Self.refusal, number)
      }
      return try SecretForm.copy(inner)
    }
    // A comment would become a part of the token.
    guard !Self.unknown.contains(first), !value.contains(UInt8(ascii: "#")) else { throw damaged(Self.refusal, number) }
    return try SecretForm.copy(value)
  }

  private func found() -> ImportedEntries {
    var found = ImportedEntries()
    for host in hosts {
      // The token of who is active stands there twice.
      let named = Set(host.tokens.map(\.user))
      let all = host.tokens.map { token in
        (user: token.user.isEmpty ? host.active : token.user, token: token.token, isCopy: token.user.isEmpty, cut: token.cut)
      }
      let tokens = all.filter { !$0.isCopy || !named.contains($0.user) }
      if tokens.isEmpty { found.leaveOut(host.name, LeftOut.inKeyring) }
      for (user, token, _, _) in tokens {
        var entry = ImportedEntry()
        entry.service = host.name
        entry.user = user
        entry.title = "GitHub token of \(host.name)"
        entry.urls = ["https://\(host.name)"]
        entry.value = token
        entry.cuts = all.filter { $0.user == user && $0.token.bytes.isEqual(to: token.bytes) }.map(\.cut)
        found.add(entry)
      }
    }
    return found
  }

  private func damaged(_ what: String, _ line: Int) -> StoreError {
    StoreError(.damaged, "line \(line): \(what)", place: place, cure: "correct it; nothing was imported")
  }
}
