extension HelpTopic.Part {
  static let references = HelpTopic.Part(
    page: "CommandLineRun", section: "References",
    text: #"""
      A reference names a secret in a place where the secret itself may not be: `coffer://service/account`, with `/name` for \#
      the output of
      `--field name`. Each part is percent-encoded, so a service that is a URL is `coffer://https%3A%2F%2Fexample.com/ada`. \#
      Without an account the
      only item of the service is meant, and `coffer://service/` is the item whose account is empty.
      """#)

  static let git = HelpTopic.Part(
    page: "CommandLineRun", section: "git and docker",
    text: #"""
      `coffer install` puts `git-credential-coffer` and `docker-credential-coffer` beside `coffer`. Then
      `git config --global credential.helper ~/.local/bin/git-credential-coffer`, and `"credsStore": "coffer"` in \#
      `~/.docker/config.json`. With
      the whole path git finds its helper in a job of cron too, whose `PATH` is `/usr/bin:/bin`; the word `coffer` is enough \#
      if the helper is in
      one of the two. `coffer install --git` sets it. docker looks for its helper on `PATH` alone.

      - A git credential is the item of service `PROTOCOL://HOST`, with `/PATH` if git sends one (`credential.useHttpPath`), \#
      and of the user's
        account. Without a user, `get` gives the one that was written last. git stores a password after each use; one that \#
      is stored already is
        not written again. `store` asks nobody: while the vault is locked it stores nothing. `get` and `erase` name their \#
      purpose when they ask.
        Without a path they do not touch an item with one.
      - If nothing is stored for `https://HOST`, git gets the host's login or its plain item, such as `github.com/ada`
        (`coffer help credentials`).
      - `password_expiry_utc` is honored; an expired password that has an `oauth_refresh_token` leaves that. `authtype`, \#
      `credential`, `ephemeral`
        and `state[]` are spoken with a git that announces them. `erase` removes a password only if git names the same \#
      password. A value with a
        NUL, a carriage return or a newline is neither taken nor given. Unknown operations are ignored.
      - A docker credential is the item of service `docker:SERVER`, one for each server. Without one, `get` gives what git \#
      gets for
        `https://SERVER`; `list` and `erase` leave that alone. Errors are on standard output with status 1. As docker's own \#
      helpers do, it takes a
        request's names in any case and ignores unknown ones.
      """#)

  static let declared = HelpTopic.Part(
    page: "CommandLineValues", section: "Declared and stored",
    text: #"""
      A program writes what it declares, and `coffer doctor --keys` compares that with what is stored:

      ```swift
      try app.schema.json().write(to: URL(filePath: "schema.json"))
      ```

      ```sh
      coffer doctor --keys schema.json --domain com.example.app
      ```

      Each key and each value is a line with its state, and no value is shown or opened. `stored` is as declared, and \#
      `absent` has no value. With
      any other state the command exits with 2:

      | State | Meaning |
      |---|---|
      | `in-the-clear` | a secret lies in the plain store |
      | `wrong-type` | the property list has another kind of value than the declared type is read from |
      | `in-the-vault` | a preference lies in the vault, where the program does not look |
      | `former-name` | a value lies under a name that the key had once |
      | `undeclared` | no key or family declares the value |

      Keys that may still have a previous type, and types with a form of their own, are never of a wrong type. With \#
      `--plain` the vault is not
      touched, and secrets are looked for in the plain store alone. A schema of a later version exits with 76, an invalid \#
      one with 65.
      """#)

  static let json = HelpTopic.Part(
    page: "CommandLine", section: "JSON",
    text: #"""
      With `--json` the answer is one line, keys in order, and errors are JSON too. Bytes are `{"base64":"…"}`, also in a \#
      secret that is not
      UTF-8. Moments are ISO 8601 text in UTC. Not-a-number and infinities are the texts `nan`, `inf` and `-inf`. Later \#
      versions may add fields,
      and keep the present ones.

      An answer is an object or an array of objects. All other commands print no data; `--json` only makes their errors \#
      JSON: `delete`, `run`,
      `inject`, `lock`, `logout`, `agent stop`, `agent install`, `vault slot label`, `defaults write`, `defaults delete`, \#
      `defaults rename` and
      `defaults export`. `tour`, `completion`, `provider add`, `provider remove` and the helpers have no `--json`.

      An error is one object on standard error, every field always there:

      ```json
      {"error":{"code":1,"cure":"coffer defaults read app shows what is","key":"theme","kind":"notFound","message":"nothing \#
      is stored in domain 'app'","place":null}}
      ```
      """#)

  static let contract = HelpTopic.Part(
    page: "CommandLine", section: "What every command keeps to",
    text: #"""
      A command that only reads leaves no file, folder or journal of its own. SQLite's `-wal` and `-shm` stand beside a \#
      vault while it is open.
      They stay if the disk is full or the command is killed. A vault on a full disk can be read: the command then has the \#
      file for itself, and
      others wait. The agent unlocks no vault there, because it would keep it for hours, and goes on serving those that it \#
      holds.

      A command that fails has changed nothing, or says what it has changed. Three failures come after the change:

      - The answer cannot be printed: 74 and a message that says so, or 141 if the reader closed the pipe.
      - A disk fails while a new name is made durable: 74. The message says that the change is made and may be lost with the \#
      power.
      - A preference is stored, but the property list cannot be written, on a full disk for example: 74. Every Coffer \#
      process reads the new
        value, and the next write brings the list up to date.

      `outcomeUnknown` (74): the change may or may not have been made. Check before you retry. The disk failed during the \#
      change, or the agent was
      asked and did not answer. A new key file is removed only if nothing was made that it opens; otherwise it stays, and \#
      the message says so.

      Names and values on the command line are UTF-8; others are refused with 64. So are values of `HOME` and of the \#
      variables under
      "Environment", except `COFFER_PASSPHRASE`. `coffer run` passes on any bytes after `--`, and any bytes in variables \#
      that it does not read
      itself. A name has no control characters, and a service is not empty. Another program may have stored an item with \#
      such characters in its
      name. Commands find it under the name that `list` prints: `a\u{7}b`. All invisible and
      direction-changing characters are printed in that form, except with `--json`, which prints every text as it is. A \#
      joiner or a variation
      selector stays after a character that it belongs to, as in an emoji. A new service, account or name of a secret with \#
      one of those
      characters is refused with 64: it would look like another.
      """#)

  static let spellings = HelpTopic.Part(
    page: "CommandLine", section: "Other spellings",
    text: #"""
      Words of other programs work too, those of the first row also behind `vault`:

      | For | Words |
      |---|---|
      | items | `cat` and `read` for `get`; `add`, `insert` and `store` for `set`; `rm`, `del`, `remove` and `erase` for \#
      `delete`; `mv` and `move` for `rename`; `cp` for `copy`; `ls` for `list`; `search` for `find`; `totp` for `otp` |
      | others | `exec` for `run`; `vault passwd` for `vault passphrase`; behind `vault slot`, `ls` for `list`, `rm` and \#
      `delete` for `remove` |
      | `defaults` | `rm`, `del` and `remove` for `delete`; `mv` for `rename`; `ls` for `domains`; `search` for `find` |

      `show` prints all but the value; `pass show` prints the value.
      """#)
}
