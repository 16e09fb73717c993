/// A command line that shows the use of a command. Its test parses each, and runs those that need nothing but a vault.
struct Example {
  /// The purpose of the line, as a comment before it.
  let purpose: String
  let line: String

  init(_ purpose: String, _ line: String) {
    self.purpose = purpose
    self.line = line
  }

  /// Those of the command with the words `path` after `coffer`; a family's are those of some of its commands.
  static func of(_ path: String) -> [Example] { all[path] ?? [] }

  static let all: [String: [Example]] = everyday.merging(vault) { $1 }.merging(upkeep) { $1 }.merging(programs) { $1 }
    .merging(preferences) { $1 }
}

extension Example {
  fileprivate static let everyday: [String: [Example]] = [
    "": [
      Example("make your vault", "coffer init"),
      Example("store a password, typed twice", "coffer set github.com/ada"),
      Example("copy it for 45 seconds", "coffer get github.com/ada --clip"),
      Example("give a program a secret", "coffer run -e TOKEN=coffer://github.com make"),
      Example("keep a preference", "coffer set theme dark --plain"),
    ],
    "tour": [Example("see the main job done on real files, which are removed at the end", "coffer tour")],
    "init": [
      Example("a vault for a person, with a code for the day the passphrase is forgotten", "coffer init --recovery-code"),
      Example("a vault for a machine, which a file opens", "coffer init --new-key-file ~/coffer.key"),
    ],
    "status": [
      Example("what is there and what is unlocked", "coffer status"),
      Example("what the agent holds, and for how long", "coffer status --agent"),
      Example("where you are logged in", "coffer status --logins"),
      Example("where everything is", "coffer status --paths"),
    ],
    "set": [
      Example("a secret, typed at a prompt", "coffer set github.com/ada"),
      Example("a new password of 24 characters", "coffer set github.com/ada --generate --length 24"),
      Example("a secret of another program's", "gh auth token | coffer set github.com/ci --expires 30d"),
      Example("from a file, byte for byte", "coffer set ci/deploy --file token.txt"),
      Example("a secret field beside the value", "coffer set bank/ann --field pin"),
      Example("a secret of one program's, typed at a prompt", "coffer set token --domain com.example.app"),
      Example("a preference", "coffer set theme dark --plain"),
      Example("a number", "coffer set retries 3 --plain --type int"),
    ],
    "get": [
      Example("copy it for 45 seconds", "coffer get github.com/ada --clip"),
      Example("exactly the stored bytes, for a program", "coffer get github.com/ada | wc -c"),
      Example("a secret field, or something else than the value", "coffer get bank/ann --field pin"),
      Example("the previous value", "coffer get github.com/ada --revision 1"),
      Example("a preference", "coffer get theme"),
    ],
    "watch": [
      Example("a line for each change of one key", "coffer watch theme"),
      Example("of a program's preferences", "coffer watch --plain --domain com.example.app"),
    ],
    "unlock": [
      Example("type the passphrase once for all shells", "coffer unlock"),
      Example("until five minutes pass without use", "coffer unlock --idle 5m"),
    ],
    "lock": [Example("before you leave the machine", "coffer lock")],
    "recover": [Example("open the vault with the recovery code, and set a new passphrase", "coffer recover")],
  ]

  fileprivate static let preferences: [String: [Example]] = [
    "defaults": [
      Example("one preference", "coffer defaults write com.example.app theme dark"),
      Example("all of a program", "coffer defaults read com.example.app"),
    ],
    "defaults read": [
      Example("all preferences of a program", "coffer defaults read com.example.app"),
      Example("one of them", "coffer defaults read com.example.app theme"),
    ],
    "defaults read-type": [Example("text, number, list or another", "coffer defaults read-type com.example.app theme")],
    "defaults write": [
      Example("a text", "coffer defaults write com.example.app theme dark"),
      Example("a number", "coffer defaults write com.example.app retries -int 3"),
    ],
    "defaults delete": [
      Example("one preference", "coffer defaults delete com.example.app theme"),
      Example("all of a program, without a question", "coffer defaults delete com.example.app --yes"),
    ],
    "defaults rename": [Example("another name for a key", "coffer defaults rename com.example.app theme appearance")],
    "defaults domains": [Example("which programs have preferences", "coffer defaults domains")],
    "defaults find": [Example("where a word stands, in keys and values", "coffer defaults find dark")],
    "defaults export": [Example("a property list in XML", "coffer defaults export com.example.app app.plist")],
    "defaults import": [
      Example("what would change", "coffer defaults import com.example.app app.plist --dry-run"),
      Example("only what is not there yet", "coffer defaults import com.example.app app.plist --on-duplicate skip"),
    ],
  ]
}
