internal import CofferPlatform
internal import CofferTerminal
internal import SystemPackage

/// The host keys that ssh knows. Source: sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT".
enum KnownHosts {
  /// Lines of one key: each is an attribute, and an item has 64.
  private static let most = 40

  /// The hosts of a rule: none, one, or the two of a hop.
  static func hosts(of rule: String) -> [String] {
    guard !rule.hasPrefix("sign:"), !["age", "ca", "other"].contains(rule) else { return [] }
    return rule.split(separator: ">", omittingEmptySubsequences: false).map { part in
      (part.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).last ?? "").lowercased()
    }
  }

  /// `[@MARK] HOST TYPE KEY` for each key of the rules' hosts, revoked ones and authorities too.
  ///
  /// - Throws: `.undecodable` for a host without a known key; a usage failure above the limit.
  static func lines(of rules: [String]) throws -> [String] {
    var lines: [String] = []
    for host in rules.flatMap(hosts) {
      let found = try files.flatMap { try keys(of: host, in: $0) }
      guard found.contains(where: { !$0.hasPrefix("@revoked") }) else {
        let name = CommandText.quoted(Printable.line(host))
        let isPurpose = ["git", "sign"].contains(host)
        throw StoreError(
          .undecodable(stored: "other hosts"), "known_hosts has no key of \(Printable.line(host))",
          cure: isPurpose
            ? "--for sign:git, for signatures of git"
            : "connect once (ssh \(name)), or check the fingerprints of ssh-keyscan \(name) | ssh-keygen -lf - and add its "
              + "lines; a port is written [HOST]:PORT; aliases of ~/.ssh/config are not names")
      }
      lines += found.filter { !lines.contains($0) }
    }
    guard lines.count <= most else {
      throw Failure.usage("the hosts have \(lines.count) keys, and one key knows at most \(most)", try: "several keys")
    }
    return lines
  }

  /// Those of ssh-add(1), `-H`.
  private static var files: [String] {
    let own = ProcessEnvironment.value("HOME").map { ["\($0)/.ssh/known_hosts", "\($0)/.ssh/known_hosts2"] } ?? []
    return (own + ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"]).filter { FileFacts.exists(FilePath($0)) }
  }

  /// A hash or pattern in place of the name becomes the name.
  private static func keys(of host: String, in file: String) throws -> [String] {
    let answer = try CapturedCommand.run(["ssh-keygen", "-F", host, "-f", file])
    guard let text = answer.text else {
      throw StoreError(.undecodable(stored: "other bytes"), "the file is not UTF-8", place: file, cure: "correct its lines")
    }
    var lines: [String] = []
    for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
      let words = line.split(whereSeparator: \.isWhitespace)
      let mark = words.prefix { $0.hasPrefix("@") }.map(String.init)
      let rest = words.dropFirst(mark.count + 1).prefix(2).map(String.init)
      let key = (mark + [host] + rest).joined(separator: " ")
      if rest.count == 2, !lines.contains(key) { lines.append(key) }
    }
    return lines
  }
}
