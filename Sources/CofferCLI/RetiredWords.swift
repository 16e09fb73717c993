internal import ArgumentParser
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
    "grep": "coffer find TEXT for names, users and attributes, coffer find --values for values", "tree": "coffer list --tree",
    "git": "coffer install --git, or coffer help git", "git push": "coffer merge OTHER", "git pull": "coffer merge OTHER",
    "sync": other, "push": other, "pull": other, "help sync": "coffer help merge", "help recovery-code": "coffer help unlocking",
    "open": "coffer show NAME --open; coffer unlock opens the vault", "create": "coffer set NAME", "new": "coffer set NAME",
    "add item": "coffer set NAME", "undo": "coffer revert NAME, or coffer undelete NAME for a deleted item",
    "ssh ls": "coffer ssh list", "ssh rm": "coffer delete NAME", "ssh generate": "coffer ssh new NAME",
    "-c": "coffer get NAME -c", "otp add": "coffer otp NAME --set",
  ]
  private static let other = "coffer merge OTHER, or coffer vault use NAME PLACE for a vault on a server"

  /// The cure for a missing argument, and the error for a word too many.
  static let missing = ["login": "coffer login HOST for a server's token; coffer unlock opens the vault"]
  static let surplus = [
    "coffer generate": ("coffer generate prints a password and stores nothing", "coffer set NAME --generate"),
    "coffer inject": ("coffer inject reads standard input, or the file of -i", "coffer inject -i FILE"),
  ]

  /// Options of other programs for an attribute.
  static let attributes = [
    "--user": "user=NAME", "--username": "user=NAME", "--url": "url=URL", "--tag": "tag:NAME=", "--folder": "folder=NAME",
  ]

  /// Options of other programs, for one command or for all that have the meant option.
  private static let options = [
    "-f": "--field", "set -f": "--file", "delete -f": "--yes", "rename -f": "--replace", "copy -f": "--replace",
    "--force": "--replace", "delete --force": "--yes", "--copy": "--clip", "-m": "--file", "--multiline": "--file",
    "get --otp": "coffer otp NAME", "show --otp": "coffer otp NAME", "set --otp": "coffer otp NAME --set",
    "edit --otp": "coffer otp NAME --set", "show -c": "coffer get NAME --clip", "show --clip": "coffer get NAME --clip",
    "history --reveal": "coffer get NAME --revision N", "history --show": "coffer get NAME --revision N",
    "history --revision": "coffer get NAME --revision N", "list --search": "coffer find TEXT",
    "list --weak": "coffer vault audit", "list --reused": "coffer vault audit",
    "delete --folder": "coffer find folder=NAME", "backup --check": "coffer vault verify --vault FILE",
    "backup --verify": "coffer vault verify --vault FILE",
  ]

  /// The option among `spellings`, or the command, that was meant by another program's `option`.
  static func meant(by option: String, of command: any ParsableCommand.Type, among spellings: [String]) -> String? {
    let own = option == "--totp" ? "--otp" : option
    let meant = options["\(command.configuration.commandName ?? "") \(own)"] ?? options[own]
    return meant.flatMap { $0.hasPrefix("coffer ") || spellings.contains($0) ? $0 : nil }
  }

  /// Nil for other words.
  static func refusal(_ words: ArraySlice<String>) -> Failure? {
    let found = [2, 1].map { words.prefix($0).joined(separator: " ") }.first { names[$0] != nil }
    return found.flatMap { name in names[name].map { .usage("there is no command '\(name)'", try: $0) } }
  }
}
