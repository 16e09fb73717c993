extension HelpTopic.Part {
  static let names = HelpTopic.Part(
    page: "CommandLineValues", section: "Names",
    text: #"""
      | Name | Meaning |
      |---|---|
      | `github.com/ada` | service and account of an item: the last slash divides a new name, unless it is a URL |
      | `github.com ada` | the same in two words; `set` takes one, as its second word is a value |
      | `github.com` | the only item of the service |
      | `coffer://github.com/ada` | a reference |
      | `--service S --account A` | exactly this item, nothing is guessed; without `--account` that of the empty account |
      | `--domain D KEY` | exactly this key, a preference or a secret; `COFFER_DOMAIN` does the same |
      | `work/` | a folder: all items of `work` and of services below it |

      In an existing name any slash may divide. If a word could mean a service or an item of another one, or two items \#
      match, the command exits
      with 2 and lists them.

      Host names have no case: `GitHub.com/ada` finds `github.com/ada`. At a terminal a part of a name or a label is enough \#
      if one item matches; a
      note says which. In a script that exits with 1 and names similar items.

      `list work/` lists a folder, and `list work` the same. `rename work/ old/` and `delete -r work/` change all of it or \#
      nothing; a terminal
      shows the count and asks.

      A program that wants the password of a host finds the item `github.com/ada` too, so `coffer set github.com/ada` is \#
      enough for git
      (`coffer help credentials`).
      """#)

  static let finding = HelpTopic.Part(
    page: "CommandLineVault", section: "Finding an item",
    text: #"""
      If several items match, a terminal shows a list that narrows as you type. Enter chooses, Esc leaves, and nothing of \#
      the list stays on the
      screen. `get`, `show`, `edit`, `delete` and `otp` without a name open it for all items: Enter runs the command, and \#
      for `get` copies; Ctrl-O
      copies the one-time code, Ctrl-U the user name. With `TERM=dumb`, as for a screen reader, the items are numbered, and \#
      the answer is a
      number. Everything else exits with 2 and names the accounts.

      If no service matches, you can also type part of a label; case is ignored. If nothing matches, the error suggests \#
      similar names: in other
      letters, with a path behind the host, or with a letter or two wrong.

      `find` looks for text in any case. `find --fuzzy` takes the letters of a word in their order with others between them, \#
      best first: `ghb`
      finds `github.com`. A word with a capital letter then means just that letter.

      `list --sort` takes `name`, `modified` (the newest first) or `expires` (the soonest first). `list --expiring 30d` \#
      lists items that have
      expired or will by then. `--attribute NAME=VALUE` and `--tag NAME` (an attribute `tag:NAME`, as `import` writes it) \#
      may be repeated; all
      must hold. `list --tree` draws the parts of services between slashes, with the accounts of each. A terminal marks an \#
      item with a one-time
      code by `⏱`, and one with two other fields by `⚿2`.

      `list` and `vault audit` exit with 0 when there is nothing to show, and print `[]` or an object in JSON. `find` and
      commands that name one item exit with 1.
      """#)

  static let history = HelpTopic.Part(
    page: "CommandLineVault", section: "History and undo",
    text: #"""
      `set`, `edit`, `copy`, `otp --set` and `revert` keep the version that they replace, value and description: the last 10 \#
      per item and field.
      `--history N` (0–100) changes that for the item. `--no-history` keeps none and removes those that are kept. `revert` \#
      to the revision that an
      item has changes nothing:

      ```sh
      coffer history github.com/ada
      coffer get github.com/ada --revision 3
      coffer revert github.com/ada 3
      ```

      `delete` asks at a terminal, and keeps the item with its fields and previous versions for 30 days. `list --deleted` \#
      lists them, `undelete`
      brings one back. After that time `vault prune --expired` removes it, and a later `delete` may. `delete --forever` \#
      removes everything at
      once.

      | Setting of `coffer.settings` | What it is for |
      |---|---|
      | `history.keep` | how many previous versions a new item keeps (10), until `--history` or `--no-history` says \#
      otherwise; with 0 none, and the next write of an item removes those that it has |
      | `trash.days` | for how many days a deleted item can be brought back (30); with 0 it is gone |

      Logins and session values have no history. `coffer logout`, and git's and docker's `erase`, remove an item with all \#
      its versions, but not
      the item of a bare host. Every write keeps as many previous versions as the item does already; a new item of git's and \#
      docker's `store`, and
      a preference moved by `set --secret`, keeps none. `rename --replace` removes the item whose name is taken, with its \#
      past. An item deleted
      while the clock is more than a day behind the vault is kept until it is pruned.

      Bytes that are removed for good leave the vault's file and its write-ahead log as well: at once, after many removals \#
      in a row when the
      command ends or the agent has had a pause. While another program keeps reading, `coffer status --details` reports that \#
      old bytes remain, and
      the next write removes them. In a vault above 64 MiB a copy that SQLite left when it moved a row stays until `coffer \#
      vault rotate`. A
      rotation seals previous versions and deleted items to the new key. They are in every backup, and in no export.

      Revisions count the writes of one item. An item that was removed for good and stored anew is another, and counts from \#
      1 again:
      `set --if-revision` compares the number alone. `edit` holds to the item itself, as do git's `erase` and the Secret \#
      Service.
      """#)

  static let importing = HelpTopic.Part(
    page: "CommandLineVault", section: "Moving in and out",
    text: #"""
      `coffer import FILE` adds all items or none. It recognizes a file by its content; if that is ambiguous, `--from` names \#
      the program. `-` is
      standard input: `keepassxc-cli export secrets.kdbx | coffer import -`.

      `coffer import` alone lists the secrets of other programs on this machine, each with the command that imports it: \#
      stores of pass and gopass,
      the files that `coffer doctor` reports, and the keyring on the bus. It decrypts nothing and asks for nothing. If there \#
      are none it exits
      with 1.

      | `--from` | What it reads |
      |---|---|
      | `bitwarden` | JSON and CSV of Bitwarden and Vaultwarden; an encrypted export is refused |
      | `1password` | a `.1pux`, which takes libzip; its `export.data`; CSV |
      | `keepass` | XML of KeePass and KeePassXC, CSV of KeePassXC and of KeePass 1 |
      | `chrome`, `firefox` | CSV; that of Chrome also from Chromium, Edge, Brave, Opera and Vivaldi |
      | `pass`, `gopass` | the folder of a store, which gpg decrypts |
      | `netrc`, `git-credentials`, `docker`, `aws`, `gh` | the secrets of those programs in the clear, at their usual place \#
      unless a file is given |
      | `secret-service` | the keyring that answers on the bus, such as gnome-keyring or KWallet: its items become those of \#
      `coffer secret-service`, where programs find them again; locked items are left out and reported |
      | `coffer` | another vault, an export or a backup, opened by `--other-key-file`, `--other-passphrase-file`, \#
      `--other-passphrase-fd`, `--other-recovery-file` or at a prompt |
      | `json` | the output of `coffer export --reveal` |
      | `env` | an environment file; each variable becomes an account of `--service` |

      The value of an item is the password; without one it is the main part of the entry: the text of a note, the number of \#
      a card, a private
      key. Its service is the host of the first address, with its port if it has one, else the title; its account is the \#
      user name, its label the
      title. Every other secret becomes a field under its own name: `notes`, hidden fields, the code of a card. The field \#
      `otpauth` holds the
      `otpauth://` URI of one-time passwords, made of the seed if that stands alone. A second seed becomes a field under its \#
      own name. So does one
      whose codes Coffer does not make, and that is reported: Steam's have letters, others follow a counter, or have fewer \#
      than 6 digits or more
      than 8. Data that is not secret becomes an attribute: `url`, `url 2` and so on, `folder`, `folder (2)` and so on for \#
      more of Bitwarden's
      collections, `tag:NAME` with an empty value, fields that are shown in the clear there too. Dates are kept, and so is a \#
      future expiry. A date
      in the past is stored as the attribute `expired`, because expired values cannot be read.

      Items of `git-credentials` and `docker` have the names that Coffer's helpers look for. `aws` makes an item of service \#
      `aws` for each profile
      that has a secret key, which is its value; the key's id and the session token come along, settings do not. In `pass` \#
      and `gopass`,
      `web/mail/bob` becomes service `web/mail`, account `bob`, and gpg asks for its own passphrase. The first line is the \#
      password. Lines
      `user:`, `url:` and `otpauth:` below it become attributes and the field `otpauth`, each other `name: value` a field, \#
      the rest the field
      `notes`; an entry of pass without any of the three stays whole, and `--first-line` leaves all below the password out. \#
      Links are followed and
      hidden entries are taken, as pass does. A file that is no entry is reported, and a link that leads nowhere fails. A \#
      folder without
      `.gpg-id`, and without a `*.gpg` file among the first 10 000 entries below it, is refused (1).

      Earlier passwords of Bitwarden, KeePass and 1Password become previous versions of a new item: the newest 10, or as \#
      many as `history.keep`
      says. Of an earlier version of KeePass only the password is imported. An item that is replaced keeps its own versions. \#
      Attached files become
      fields with their names, up to 2 MiB each and 64 MiB in all: those in a `.1pux` and in KeePass's XML. Bitwarden's JSON \#
      has none.

      Nothing is left out silently. The command reports on standard error the contents of the trash, attachments that are \#
      larger or not in the
      file, previous passwords beyond the history, passkeys, fields of Bitwarden that show another, unreadable dates, \#
      entries without a secret,
      unknown types, and each name that had to be changed because another entry has it, or because of a control character. \#
      Names that only Coffer
      may write (those that begin with `coffer.`, and a few of earlier versions) are changed and reported; from `json` and \#
      `coffer` they are left
      out and reported, as are logins and session values. Duplicate keys in a JSON object are an error (65). So is a netrc \#
      in which a machine has
      two logins or two passwords, a profile of `aws` with two secret keys, an entry of KeePass with two texts of one name, \#
      and CSV that has a
      column of its program twice. Ids, icons and settings of the other program are not reported.

      A terminal shows the plan first and asks; then it shows a total, and with `--verbose` each item. Elsewhere each item \#
      is printed and
      nothing asked, as with `--yes`, `--quiet` and `--json` at a terminal. `--dry-run` prints what would happen.

      `--on-duplicate` decides about an item whose name is taken. `fail`, the default, lists these names, at most 20, and \#
      imports nothing
      (73). `skip` keeps the vault's item, and `replace` replaces it. `newer` keeps the one that was changed later; an \#
      imported item without a
      date counts as older. `both` gives the imported one a free name: `ada (2)` for the account `ada`, `(2)` without an \#
      account, `pin (2)` for a
      field that is imported alone. The fields of an item that is skipped are skipped too. A replaced item keeps the fields \#
      that the import does
      not name, except a login, which loses them; a field alone is not imported into a login (77).

      A file has at most 64 MiB, and so has `export.data` unpacked; it is UTF-8, or UTF-16 with a byte order mark.

      `coffer defaults import` takes what macOS's `defaults export` wrote, with `--dry-run` and `--on-duplicate \#
      replace|skip|fail`.

      `coffer export --reveal --format env` prints what sh, bash, zsh and dash read back byte for byte, as `import --from \#
      env` and
      `run --env-file` do; no value is run as a command. A value that no such file can hold is refused: a NUL, bytes that \#
      are not UTF-8, and a
      variable that bash or zsh keeps for itself, as `RANDOM`, `UID` and `status`, or expands later, as prompts and `MAIL`, \#
      whatever its value.
      """#)
}
