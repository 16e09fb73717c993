extension HelpTopic.Part {
  static let finding = HelpTopic.Part(
    page: "CommandLineVault", section: "Finding an item",
    text: #"""
      An item is named by its service and account. `SERVICE/ACCOUNT` in one word, as messages spell it, and a reference \#
      (`coffer://…`) do as well
      where an item is looked for, and for `set`: of several services that would do the longest is meant. A word that is a \#
      service and an item
      as well is 2. `vault get` prints what a reference names, an attribute too.

      Where several items match, a person at a terminal gets a numbered list to choose from; everything else fails with 2 and \#
      names the accounts.
      Where no service is so called, such a person may give a label, whatever its case, or a part of one. Where none matches, \#
      a person
      is told which names are near: in other letters, with a path behind the host, or with a letter or two wrong.

      `find` looks for text whatever its case. `find --fuzzy` takes the letters of a word in their order with others between \#
      them, best first: `ghb`
      finds `github.com`. A word with a capital letter then means just that letter.

      `list --sort` takes `name`, `modified` (the newest first) or `expires` (the first to expire first). `list --expiring \#
      30d` shows what has
      expired or will by then. `--attribute NAME=VALUE` and `--tag NAME` (an attribute `tag:NAME`, as `import` writes it) may \#
      be repeated; all must
      hold. `list --tree` draws accounts below their service. `list work/` lists what is below `work`: the services that begin \#
      with `work/`.

      `list`, `deleted` and `audit` answer that there is nothing with 0, and with `[]` or an object in JSON; a terminal is \#
      told so. `find` and
      whatever names one item answer with 1.
      """#)

  static let history = HelpTopic.Part(
    page: "CommandLineVault", section: "History and undo",
    text: #"""
      `set`, `edit`, `copy`, `otp --set` and `revert` keep the content that they replace, value and description: the last 10 \#
      of each item and
      field, or those of `--history N`, up to 100, which the item goes on with. `--no-history` keeps none and removes those \#
      that are kept. The
      value that a terminal is told about can be brought back at once. `revert` to the revision that an item has changes nothing:

      ```sh
      coffer vault history github.com ada
      coffer vault get github.com ada --revision 3
      coffer vault revert github.com ada 3
      ```

      `delete` asks at a terminal, and keeps the item with its fields and former contents for 30 days. `deleted` lists what is \#
      kept, `undelete`
      brings it back. Once that time is over it cannot be brought back; `prune --expired` removes it, and a later `delete` \#
      may. `delete
      --forever` removes everything at once, as `prune --keep 0 SERVICE ACCOUNT` does with what is kept of an item.

      | Setting of `coffer.settings` | What it is for |
      |---|---|
      | `history.keep` | how many former contents a new item keeps (10), until `--history` or `--no-history` says otherwise; \#
      with 0 none, and the next write of an item removes those that it has |
      | `trash.days` | for how many days what is deleted can be brought back (30); with 0 it is gone |

      Nothing is kept of logins, nor of what else ends with a session. `coffer logout`, and git's and docker's `erase`, remove \#
      an item with all
      that was kept of it. So does `coffer delete` of a key. Every write keeps as many former contents as
      the item does already; a new item of `coffer set`, git's and docker's `store` keeps none. `rename --replace` removes the \#
      item whose name is taken, with
      its past. What is deleted while the clock is more than a day behind the vault is kept until it is pruned. What is \#
      removed for good leaves the vault's file and its write-ahead log as
      well: at once, after many removals in a row when the command ends or the agent has had a pause; where another program \#
      keeps reading, `coffer vault status` says that old bytes
      remain, and the next write removes them. In a vault above 64 MiB a copy that SQLite left when it moved a row stays until \#
      `coffer vault rotate`. A
      rotation seals former and deleted contents to the new key. They are in every
      backup, and in no export.

      Revisions count the writes of one item. An item that was removed for good and stored anew is another, and counts from 1 \#
      again:
      `set --if-revision` compares the number alone. `edit` holds to the item itself, as do git's `erase` and the Secret Service.
      """#)

  static let importing = HelpTopic.Part(
    page: "CommandLineVault", section: "Moving in and out",
    text: #"""
      `coffer vault import FILE` adds all items or none. What a file is of is told by its content; where that leaves a doubt, \#
      `--from` says it.
      `-` is standard input: `keepassxc-cli export secrets.kdbx | coffer vault import -`.

      | `--from` | What it reads |
      |---|---|
      | `bitwarden` | JSON and CSV of Bitwarden and Vaultwarden; an encrypted export is refused |
      | `1password` | a `.1pux`, which takes libzip; its `export.data`; CSV |
      | `keepass` | XML of KeePass and KeePassXC, CSV of KeePassXC and of KeePass 1 |
      | `chrome`, `firefox` | CSV; that of Chrome also from Chromium, Edge, Brave, Opera and Vivaldi |
      | `pass`, `gopass` | the folder of a store, which gpg decrypts |
      | `netrc`, `git-credentials`, `docker`, `aws`, `gh` | what those programs keep in the clear, where they keep it unless a \#
      file is given |
      | `secret-service` | the keyring that answers on the bus, such as gnome-keyring or KWallet: its items become those of \#
      `coffer secret-service`, where programs find them again; what is locked there is left out and told |
      | `coffer` | another vault, an export or a backup, opened by `--other-key-file`, `--other-passphrase-file`, \#
      `--other-passphrase-fd`, `--other-recovery-file` or at a prompt |
      | `json` | what `coffer vault export --reveal` prints |
      | `env` | an environment file; each variable becomes an account of `--service` |

      The value of an item is the password; of an entry without one it is what the entry is about: the text of a note, the \#
      number of a card, a
      private key. Its service is the host of the first address, with a port where one stands there, else the title; its \#
      account is the user name,
      its label the title. Every other secret becomes a field under its own name: `notes`, hidden fields, the code of a card. \#
      The field `otpauth`
      holds the `otpauth://` URI of one-time passwords, made of the seed where that stands alone. A second seed becomes a \#
      field under its own
      name. So does one whose codes Coffer does not make, and that is told: Steam's have letters, others follow a counter, or \#
      have fewer than 6
      digits or more than 8. What is no secret becomes an attribute: `url`, `url 2` and so on, `folder`, `folder (2)` and so \#
      on for more of
      Bitwarden's collections, `tag:NAME` with an empty value, fields that are shown in the clear there too. Dates come along, \#
      and so does an
      expiry that is still to come; one that is past becomes the attribute `expired`, as Coffer hands out no expired value.

      What `git-credentials` and `docker` import has the names that Coffer's helpers look for. `aws` makes an item of service \#
      `aws` for each
      profile that has a secret key, which is its value; the key's id and the session token come along, settings do not. In \#
      `pass` and `gopass`,
      `web/mail/bob` becomes service `web/mail`, account `bob`, and gpg asks for its own passphrase. The first line is the \#
      password. Lines
      `user:`, `url:` and `otpauth:` below it become attributes and the field `otpauth`, each other `name: value` a field, the \#
      rest the field
      `notes`; an entry of pass without any of the three stays whole, and `--first-line` leaves all below the password out. \#
      Links are followed and
      hidden entries are taken, as pass does. A file that is no entry is told, and a link that leads nowhere fails.

      Nothing is left out silently: what is in the trash, attachments, former passwords, passkeys, fields of Bitwarden that \#
      show another, dates
      that cannot be read, entries without a secret and types that are not known are each told on standard error, and so is a \#
      name that had to be
      changed because another entry has it, or because of a control character. What only Coffer says of an item (names
      that begin with `coffer.`, and a few of earlier versions) gets another name, and that is told; from `json` and `coffer` \#
      it is left out and
      told, and so are logins and what else ends with a session. JSON with an object that has a
      name twice is refused with 65. So is a netrc in which a machine has two logins or two passwords, a profile of `aws` with \#
      two secret keys, an
      entry of KeePass with two texts of one name, and CSV that has a column of its program twice. Ids, icons and settings of \#
      the other program
      are of no use elsewhere and are not told.

      A terminal shows the plan first and asks; then it shows a total, and with `--verbose` each item. Elsewhere each item is \#
      printed and
      nothing asked, as with `--yes`, `--quiet` and `--json` at a terminal. `--dry-run` prints what would happen. `--on-duplicate
      skip|replace|fail` says what becomes of an item whose name is taken. The fields of an item that is skipped are skipped \#
      too; those of one
      that is replaced and that the import does not name stay, but for those of a login, which are gone with it; a field alone \#
      is not imported into one (77).

      A file has at most 64 MiB, and so has `export.data` unpacked; it is UTF-8, or UTF-16 with a byte order mark.

      `coffer defaults import` takes what macOS's `defaults export` wrote, with the same two options.

      `coffer vault export --reveal --format env` prints what sh, bash, zsh and dash read back byte for byte, as `import \#
      --from env` and
      `run --env-file` do; no value is run as a command. Whatever no such file can hold is refused: a NUL, bytes that are not \#
      UTF-8, and a
      variable that bash or zsh keeps for itself, as `RANDOM`, `UID` and `status`, or expands later, as prompts and `MAIL`, \#
      whatever its value.
      """#)
}
