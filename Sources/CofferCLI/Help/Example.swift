/// Its test parses each line, and runs those that need nothing but a vault.
struct Example {
  /// A comment before the line.
  let purpose: String
  let line: String

  init(_ purpose: String, _ line: String) { (self.purpose, self.line) = (purpose, line) }

  /// A group's are those of some of its commands.
  static func of(_ path: String) -> [Example] { all[path] ?? [] }

  static let all: [String: [Example]] = everyday.merging(vault) { $1 }.merging(upkeep) { $1 }.merging(programs) { $1 }
    .merging(preferences) { $1 }
}

extension Example {
  fileprivate static let everyday: [String: [Example]] = [
    "": [
      Example("create your vault", "coffer init"),
      Example("store a password, typed twice", "coffer set github.com/ada"),
      Example("copy it for 45 seconds", "coffer get github.com/ada --clip"),
      Example("give a program a secret", "coffer run -e TOKEN=coffer://github.com make"),
      Example("keep a preference", "coffer set theme dark --plain"),
    ],
    "tour": [Example("a demonstration on real files, which are removed at the end", "coffer tour")],
    "init": [
      Example("a vault for you, with a code in case you forget the passphrase", "coffer init --recovery-code"),
      Example("a vault for a machine, opened by a file", "coffer init --new-key-file ~/coffer.key"),
      Example("a team's vault on a server", "coffer init --vault team --grant writers=writer"),
    ],
    "status": [
      Example("an overview", "coffer status"),
      Example("the vaults that the agent holds, and for how long", "coffer status --agent"),
      Example("your logins", "coffer status --logins"),
      Example("all paths", "coffer status --paths"),
    ],
    "set": [
      Example("a secret, typed at a prompt", "coffer set github.com/ada"),
      Example("a new password of 24 characters", "coffer set github.com/ada --generate --length 24"),
      Example("a secret from another program", "gh auth token | coffer set github.com/ci --expires 30d"),
      Example("from a file, byte for byte", "coffer set ci/deploy --file token.txt"),
      Example("a secret field beside the value", "coffer set bank/ann --field pin"),
      Example("a program's secret, typed at a prompt", "coffer set token --domain com.example.app"),
      Example("a preference", "coffer set theme dark --plain"),
      Example("a number", "coffer set retries 3 --plain --type int"),
    ],
    "get": [
      Example("copy it for 45 seconds", "coffer get github.com/ada --clip"),
      Example("exactly the stored bytes, for a program", "coffer get github.com/ada | wc -c"),
      Example("a secret field instead of the value", "coffer get bank/ann --field pin"),
      Example("the previous value", "coffer get github.com/ada --revision 1"),
      Example("a preference", "coffer get theme"),
    ],
    "watch": [
      Example("a line for each change of one key", "coffer watch theme"),
      Example("changes of a program's preferences", "coffer watch --plain --domain com.example.app"),
    ],
    "unlock": [
      Example("type the passphrase once for all shells", "coffer unlock"),
      Example("lock after five minutes without use", "coffer unlock --idle 5m"),
    ],
    "lock": [Example("before you leave the machine", "coffer lock")],
    "recover": [Example("open the vault with the recovery code, and set a new passphrase", "coffer recover")],
  ]

  fileprivate static let preferences: [String: [Example]] = [
    "defaults": [
      Example("one preference", "coffer defaults write com.example.app theme dark"),
      Example("all of a program's", "coffer defaults read com.example.app"),
    ],
    "defaults read": [
      Example("all preferences of a program", "coffer defaults read com.example.app"),
      Example("one of them", "coffer defaults read com.example.app theme"),
    ],
    "defaults read-type": [Example("the type of a preference", "coffer defaults read-type com.example.app theme")],
    "defaults write": [
      Example("a text", "coffer defaults write com.example.app theme dark"),
      Example("a number", "coffer defaults write com.example.app retries -int 3"),
    ],
    "defaults delete": [
      Example("one preference", "coffer defaults delete com.example.app theme"),
      Example("all of a program's, without a question", "coffer defaults delete com.example.app --yes"),
    ],
    "defaults rename": [Example("another name for a key", "coffer defaults rename com.example.app theme appearance")],
    "defaults domains": [Example("all domains", "coffer defaults domains")],
    "defaults find": [Example("find a word in keys and values", "coffer defaults find dark")],
    "defaults export": [Example("a property list in XML", "coffer defaults export com.example.app app.plist")],
    "defaults import": [
      Example("preview the changes", "coffer defaults import com.example.app app.plist --dry-run"),
      Example("only new keys", "coffer defaults import com.example.app app.plist --on-duplicate skip"),
    ],
  ]
}
