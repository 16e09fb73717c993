internal import CofferTerminal

/// Previous names of commands, and words of other programs, so that an error can give the current one. Completion and help do
/// not know them.
enum RetiredWords {
  private static let names: [String: String] = [
    "explain": "coffer show NAME", "keys": "coffer doctor --keys SCHEMA", "env": "coffer status --paths",
    "uninstall": "coffer install --remove", "credential": "coffer helper", "auth": "coffer login, logout, token or status",
    "auth login": "coffer login", "auth logout": "coffer logout", "auth token": "coffer token", "auth status": "coffer status",
    "auth refresh": "coffer token --fresh", "auth switch": "coffer login HOST --account NAME",
    "auth provider": "coffer provider", "auth setup-git": "coffer install --git", "provider show": "coffer provider list",
    "vault init": "coffer init", "vault export": "coffer export", "vault import": "coffer import",
    "vault backup": "coffer backup", "vault restore": "coffer restore", "vault merge": "coffer merge",
    "vault status": "coffer status", "vault deleted": "coffer list --deleted", "vault name": "coffer vault use",
    "vault recover": "coffer recover", "defaults watch": "coffer watch --plain --domain DOMAIN",
    "defaults explain": "coffer show KEY --domain DOMAIN", "agent start": "coffer agent run --detach, or coffer unlock",
    "agent status": "coffer status", "secret-service uninstall": "coffer secret-service install --remove",
    "grep": "coffer find --values",
  ]

  /// Options of other programs for an attribute.
  static let attributes = [
    "--user": "user=NAME", "--username": "user=NAME", "--url": "url=URL", "--tag": "tag:NAME=", "--folder": "folder=NAME",
  ]

  /// Nil for other words.
  static func refusal(_ words: ArraySlice<String>) -> Failure? {
    for count in [3, 2, 1] where words.count >= count {
      let name = words.prefix(count).joined(separator: " ")
      guard let new = names[name] else { continue }
      return .usage("there is no command '\(name)'", try: new)
    }
    return nil
  }
}
