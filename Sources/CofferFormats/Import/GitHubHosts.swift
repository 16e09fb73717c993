package import Coffer
internal import CofferPlatform
internal import CofferStorage

/// The tokens in gh's `hosts.yml`, one item an account of a host.
///
/// gh writes only plain mappings; any other YAML is refused. Source: `internal/config` of github.com/cli/cli.
package struct GitHubHosts {
  private struct Key {
    let indent: Int
    let name: String
    var names: Set<String> = []
  }

  private struct Host {
    let name: String
    var active = ""
    /// The second copy of the active account's token.
    var copy: Token?
    var tokens: [(user: String, token: Token)] = []
    /// With tokens or without.
    var users: [String] = []
  }
  private typealias Token = (form: SecretForm, cut: ImportedEntry.Cut)

  private var open: [Key] = []
  private var hosts: [Host] = []
  private var names: Set<String> = []
  private let place: String

  package static func read(_ file: borrowing SecretBytes, place: String) throws -> ImportedEntries {
    try file.withUnsafeBytes { raw in
      var reader = GitHubHosts(place: place)
      for (number, line) in TextLines(raw) { try reader.take(line, number) }
      return reader.found()
    }
  }

  private mutating func take(_ line: TextLines.Line, _ number: Int) throws {
    let text = line.trimmed
    guard let first = text.first, first != UInt8(ascii: "#"), text.word != "---" else { return }
    guard !Self.unknown.contains(first) else { throw damaged(Self.refusal, number) }
    let indent = text.startIndex - line.startIndex
    guard !line.prefix(indent).contains(0x09), first != UInt8(ascii: "-"), let (name, value) = text.parted(at: ":") else {
      throw damaged("'name: value' is missing", number)
    }
    while let last = open.last?.indent, last >= indent { open.removeLast() }
    let key = name.trimmed.word.filter { $0 != "\"" && $0 != "'" }
    // It is unknown which of two equal names is meant.
    let isNew = open.isEmpty ? names.insert(key).inserted : open[open.count - 1].names.insert(key).inserted
    guard isNew else { throw damaged("a mapping has a name twice", number) }
    if open.isEmpty { hosts.append(Host(name: key)) }
    if open.count == 2, open[1].name == "users" { hosts[hosts.count - 1].users.append(key) }
    let scalar = try self.scalar(value.trimmed, number)
    if let scalar, !open.isEmpty { take(key, (scalar, line.lineCut), in: open.dropFirst().map(\.name)) }
    open.append(Key(indent: indent, name: key))
  }

  private mutating func take(_ key: String, _ value: Token, in path: [String]) {
    let last = hosts.count - 1
    switch (key, path.count) {
    case ("user", 0): hosts[last].active = value.form.plainText
    case ("oauth_token", 0): hosts[last].copy = value
    case ("oauth_token", 2) where path[0] == "users": hosts[last].tokens.append((path[1], value))
    default: break
    }
  }

  /// The first characters of YAML that gh does not write: flow collections, anchors, aliases, tags, blocks.
  private static let unknown = Set("{}[],&*!|>%@`?".utf8)
  private static let refusal = "gh does not write such YAML"

  /// The value in a line, plain or in quotes without escapes; nil for none or an empty mapping.
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
      var tokens = host.tokens, copy = host.copy
      if let alone = copy, !tokens.contains(where: { $0.user == host.active }) {
        tokens.append((host.active, alone))
        copy = nil
      }
      if tokens.isEmpty {
        found.leaveOut(host.name, LeftOut.inKeyring)
      } else {
        let named = Set(tokens.map { Array($0.user.utf8) })
        for user in host.users where !named.contains(Array(user.utf8)) {
          found.leaveOut(host.name, part: user, LeftOut.inKeyring)
        }
      }
      for (user, token) in tokens {
        var entry = ImportedEntry()
        entry.service = host.name
        entry.user = user
        entry.title = "GitHub token of \(host.name)"
        entry.urls = ["https://\(host.name)"]
        entry.value = token.form
        entry.cuts = [token.cut]
        // Names are unique here, so each host compares at most one pair of tokens.
        if let copy, user == host.active, copy.form.bytes.isEqual(to: token.form.bytes) { entry.cuts.append(copy.cut) }
        found.add(entry)
      }
    }
    return found
  }

  private func damaged(_ what: String, _ line: Int) -> StoreError { StoreError.damaged(line, what, place) }
}
