extension HelpTopic.Part {
  static let references = HelpTopic.Part(
    page: "CommandLineRun", section: "References",
    text: #"""
      A reference names a secret where the secret itself may not stand: `coffer://service/account`, with `/name` for what \#
      `--field name` prints.
      Each part is percent-encoded, so a service that is a URL is `coffer://https%3A%2F%2Fexample.com/ada`. Without an account \#
      the only item of
      the service is meant, and `coffer://service/` is the item whose account is empty.
      """#)

  static let git = HelpTopic.Part(
    page: "CommandLineRun", section: "git and docker",
    text: #"""
      `coffer install` puts `git-credential-coffer` and `docker-credential-coffer` beside `coffer`. Then
      `git config --global credential.helper ~/.local/bin/git-credential-coffer`, and `"credsStore": "coffer"` in \#
      `~/.docker/config.json`. With the
      whole path git finds its helper in a job of cron too, whose `PATH` is `/usr/bin:/bin`; the word `coffer` is enough where \#
      the helper is in one
      of the two. docker looks for its helper on `PATH` alone.

      - A git credential is the item of service `PROTOCOL://HOST`, with `/PATH` where git sends one \#
      (`credential.useHttpPath`), and of the user's
        account. Without a user, `get` gives the one that was written last. git stores a password after each use; one that is \#
      stored already is not
        written again. `store` asks nobody: while the vault is locked it stores nothing. `get` and `erase` say what they want \#
      the vault for when they
        ask. `get` and `erase` without a path do not touch what was stored with one.
      - Where nothing is stored for `https://HOST`, the token of `coffer auth` for that host is given.
      - `password_expiry_utc` is honored; an expired password that has an `oauth_refresh_token` leaves that. `authtype`, \#
      `credential`, `ephemeral`
        and `state[]` are spoken with a git that announces them. `erase` removes a password only if git names the same \#
      password. A value with a
        NUL, a carriage return or a newline is neither taken nor given. An operation that the protocol does not know is ignored.
      - A docker credential is the item of service `docker:SERVER`, one for each server. Errors are on standard output with \#
      status 1. As docker's
        own helpers do, it takes a request's names in any case and passes over those it does not know.
      """#)

  static let declared = HelpTopic.Part(
    page: "CommandLineValues", section: "Declared and stored",
    text: #"""
      A program writes what it declares, and `coffer keys` compares that with what is stored:

      ```swift
      try app.schema.json().write(to: URL(filePath: "schema.json"))
      ```

      ```sh
      coffer keys schema.json --domain com.example.app
      ```

      Each key and each value is a line with its state, and no value is shown or opened. `stored` is as declared, and `absent` \#
      has no value. All
      others are findings, and make the status 2:

      | State | Meaning |
      |---|---|
      | `in-the-clear` | a secret lies in the plain store |
      | `wrong-type` | the property list has another kind of value than the declared type is read from |
      | `in-the-vault` | a preference lies in the vault, where the program does not look |
      | `former-name` | a value lies under a name that the key had once |
      | `undeclared` | no key or family declares the value |

      What may still be of a former type, and types with a form of their own, are never of a wrong type. With `--plain` the \#
      vault is not touched, and
      secrets are looked for in the plain store alone. A schema of a later version is 76, and what is no schema 65.
      """#)

  static let json = HelpTopic.Part(
    page: "CommandLine", section: "JSON",
    text: #"""
      With `--json` the answer is one line, keys in order. For `set`, `--json` is the type of the value; before the command it \#
      means errors. Bytes
      are `{"base64":"…"}`, also in a secret that is not UTF-8. Moments are ISO 8601 text in UTC. Not-a-number and infinities \#
      are the texts `nan`,
      `inf` and `-inf`. Later versions may add fields, and keep those that these pages list.

      Each page has a table of answers: objects, or arrays of objects, with the fields it names. All other commands answer \#
      nothing that a program
      would read, and with `--json` their errors are JSON: `delete`, `run`, `inject`, `lock`, `agent stop`, `agent install`, \#
      `login`, `logout`,
      `auth login`, `auth logout`, `auth switch`, `vault delete`, `vault edit`, `vault slot label`, `defaults write`, \#
      `defaults delete`,
      `defaults rename` and `defaults export`. `tour`, `completion` and the credential helpers have no `--json`.

      An error is one object on standard error, every field always there:

      ```json
      {"error":{"code":1,"cure":"coffer defaults read app shows what is","key":"theme","kind":"notFound","message":"nothing is \#
      stored in domain 'app'","place":null}}
      ```
      """#)

  static let contract = HelpTopic.Part(
    page: "CommandLine", section: "What every command keeps to",
    text: #"""
      A command that only looks leaves no file, folder or journal of its own. SQLite's `-wal` and `-shm` stand beside a vault \#
      while it is open.
      They stay where a disk is full or the command is killed. On a full disk a vault is read all the same: a command then has the
      file for itself, and another waits for it. The agent, which would keep it for hours, unlocks none there, and goes on \#
      serving those that it holds.

      A command that fails has changed nothing, or says what it has changed. Three failures come after the change:

      - The answer cannot be printed: 74 and a message that says so, or 141 where the reader closed the pipe.
      - A disk fails while a new name is made durable: 74. The message says that the change is made and may be lost with the \#
      power.
      - A preference is stored and the property list cannot be written, on a full disk for example: 74. Every Coffer process \#
      reads the new value,
        and the next write brings the list up to date.

      A fourth failure, of the kind `outcomeUnknown` (74), leaves open whether the change was made: the disk failed during the \#
      change, or the
      agent was asked and did not answer. Look before you try again. A new key file is removed only where nothing was made \#
      that it opens.
      Otherwise it stays, and the message says so.

      Names and values on the command line are UTF-8; others are refused with 64. So are values of `HOME` and of the variables \#
      under
      "Environment", but for `COFFER_PASSPHRASE`. `coffer run` passes on any bytes after `--`, and any bytes in variables that \#
      it does not read
      itself. A name is free of control characters, and a service is not empty. Another program may have stored an item with \#
      such characters in
      its name. Such an item is shown, copied, renamed and deleted under the name that `list` prints: `a\u{7}b`. All invisible and
      direction-changing characters are printed in that form, except with `--json`, which holds every text as it is. A joiner \#
      or a variation
      selector stays as it is after a character that it belongs to, as in an emoji. A new service, account or name of a secret \#
      that has one of
      those characters on the command line is refused with 64: it would look like another.
      """#)

  static let spellings = HelpTopic.Part(
    page: "CommandLine", section: "Other spellings",
    text: #"""
      Words of other programs work too:

      | In | Words |
      |---|---|
      | `vault` | `cat` and `read` for `get`; `add`, `insert` and `store` for `set`; `rm`, `del`, `remove` and `erase` for \#
      `delete`; `totp` for `otp`; `ls`, `search`, `mv`, `cp`, `passwd` |
      | no family | `rm`, `del`, `remove` and `erase` for `delete`; `ls` for `list`; `exec` for `run` |
      | `defaults` | `rm`, `del` and `remove` for `delete`; `mv` for `rename`; `ls` for `domains`; `search` for `find` |

      `vault show` prints all but the value, where `pass show` prints the value.
      """#)
}
