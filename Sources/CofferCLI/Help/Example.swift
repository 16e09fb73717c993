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
      Example("store a password, typed twice", "coffer vault set github.com ada"),
      Example("copy it for 45 seconds", "coffer vault get github.com ada --clip"),
      Example("give a program a secret", "coffer run -e TOKEN=coffer://github.com make"),
      Example("keep a preference", "coffer set theme dark --plain"),
    ],
    "tour": [Example("see the main job done on real files, which are removed at the end", "coffer tour")],
    "init": [
      Example("a vault for a person, with a code for the day the passphrase is forgotten", "coffer init --recovery-code"),
      Example("a vault for a machine, which a file opens", "coffer init --new-key-file ~/coffer.key"),
    ],
    "status": [Example("what is there and what is unlocked", "coffer status")],
    "set": [
      Example("a preference", "coffer set theme dark --plain"),
      Example("a number", "coffer set retries 3 --plain --int"),
      Example("a secret, typed at a prompt", "coffer set api-token --secret"),
      Example("a secret of another program's", "gh auth token | coffer set api-token --secret"),
    ],
    "get": [
      Example("print a value, wherever it is kept", "coffer get theme"),
      Example("use a secret in a script", "curl -H \"Authorization: Bearer $(coffer get api-token)\" https://example.com"),
    ],
    "delete": [Example("remove a value, wherever it is kept", "coffer delete theme")],
    "list": [
      Example("what is kept, and where", "coffer list"),
      Example("preferences alone: the vault may stay locked", "coffer list --plain"),
    ],
    "explain": [Example("which store a key goes to, and why", "coffer explain theme")],
    "keys": [
      Example("what is stored beside what a program declares", "coffer keys schema.json --domain com.example.app"),
      Example("in a job that has no vault", "coffer keys schema.json --plain --json"),
    ],
    "watch": [Example("a line for each change of one key", "coffer watch theme")],
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
    "defaults watch": [Example("a line for each change of a program's", "coffer defaults watch com.example.app")],
    "defaults explain": [Example("which layers have the key", "coffer defaults explain com.example.app theme")],
  ]
}
