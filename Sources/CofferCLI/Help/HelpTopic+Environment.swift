extension HelpTopic.Part {
  static let environment = HelpTopic.Part(
    page: "CommandLine", section: "Environment",
    text: #"""
      | Variable | Meaning |
      |---|---|
      | `COFFER_HOME` | the one folder for everything: `data/vault.sqlite`, `config/`, `state/`, `run/` |
      | `COFFER_VAULT` | the place of the vault, where it is another |
      | `COFFER_DOMAIN` | the router's domain |
      | `COFFER_PASSPHRASE_FILE` | a file with the passphrase; `-` is standard input |
      | `COFFER_KEY_FILE` | a key file |
      | `COFFER_ASKPASS` | a program that asks for the passphrase where no terminal is |
      | `SSH_ASKPASS` | the same, as ssh has it |
      | `SSH_ASKPASS_REQUIRE` | `never`, `prefer` or `force`: when such a program asks |
      | `DISPLAY` | a display that the program of `SSH_ASKPASS` can show a window on |
      | `WAYLAND_DISPLAY` | the same |
      | `COFFER_IDENTITY` | a file with a recipient's identity, and perhaps invitations |
      | `COFFER_PASSPHRASE` | the passphrase itself, which every program that saw this environment can read |
      | `COFFER_EXPECT_VAULT` | `ID[:GENERATION]`, or invitations with spaces between them: any other vault, an older one, or \#
      one whose key does not come from theirs is refused with 66; `init` makes no vault where it is set, as a new one is never \#
      the expected one |
      | `COFFER_CLIPBOARD` | what `--clip` copies by: `wl-copy`, `xclip`, `xsel` or `osc52` |
      | `VISUAL` | the editor of `vault edit`; else `EDITOR`, else `vi` |
      | `EDITOR` | the same, where `VISUAL` is not set |
      | `PASSWORD_STORE_DIR` | the pass store to import, where none is named (`~/.password-store`) |
      | `KUBERNETES_EXEC_INFO` | what kubectl asks `credential kubectl` for |
      | `SSH_ASKPASS_PROMPT` | what kind of question ssh has for `credential askpass` |
      | `CREDENTIALS_DIRECTORY` | a systemd service's folder; `coffer.passphrase` in it is the passphrase |
      | `XDG_DATA_HOME` | the vault is in `coffer/` below it (`~/.local/share`) |
      | `XDG_CONFIG_HOME` | the property lists are in it (`~/.config`) |
      | `XDG_STATE_HOME` | the state is in `coffer/` below it (`~/.local/state`) |
      | `XDG_RUNTIME_DIR` | sockets are in `coffer/` below it; without it, below `/run/user/UID` where that is this user's, \#
      and else in `run/` of the state |
      """#)

  static let place = HelpTopic.Part(
    page: "CommandLine", section: "The place of the vault",
    text: #"""
      `--vault PLACE` or `COFFER_VAULT` names the vault of a command and of the agent; otherwise it is the one below \#
      `COFFER_HOME` or
      `XDG_DATA_HOME`. A place is a path, a URL, a mirror, or a name that `coffer vault name add NAME PLACE` gave it; a \#
      name has no slash, and `./NAME` is the file. Where there is neither a name nor a file of it, whatever needs the vault, \#
      `init` too, answers with 78 and
      the names that there are. The folder
      of a vault may be a symbolic link of yours, where nobody else can change it. `postgresql://[user@]host/database#name` is \#
      a vault on a PostgreSQL server, for which libpq 14 or newer is loaded; one
      with a password in it is refused with 64, and any other URL with 77, and of both only the scheme is repeated. libpq \#
      finds passwords and
      certificates in `~/.pgpass`, service files and its own variables. A path that looks like a URL is given with `./` before \#
      it. Pins, locks, the agent's socket and
      preferences stay where `COFFER_HOME` or the XDG variables say.
      """#)

  static let offline = HelpTopic.Part(
    page: "CommandLine", section: "Without the server",
    text: #"""
      `--vault mirror:FILE` reads a mirror that `coffer vault mirror FILE` made of a vault on a server, and so does such \#
      a `COFFER_VAULT`. The command
      asks neither server nor agent, and says on standard error how old the mirror is: `reading the mirror FILE, \#
      refreshed 3 h ago`. A command that
      would change the vault is refused with 74, as are `watch` without `--plain`, `doctor`, `lock` of it, and the agent and \#
      the Secret Service as its holders.

      A mirror older than its last refresh on this machine is refused with 66, and so is one that this machine did not \#
      make there. A missing mirror
      exits with 78. A
      server that cannot be reached exits with 75. `coffer vault mirror --follow` stays until control-C (130) or SIGTERM \#
      (143), and waits for a server that
      went away. A vault on the server that is older than the mirror ends it with 66, and the mirror stays.
      """#)

  static let terminal = HelpTopic.Part(
    page: "CommandLine", section: "At a terminal",
    text: #"""
      A terminal gets more than a pipe. What a pipe gets depends on none of what follows, and on none of these variables.

      - `vault list`, `vault find`, `vault audit`, `vault history`, `vault deleted`, `vault log`, `vault slot list`, `vault \#
      name list`,
        `auth status`, `list` and `defaults domains` have headers and a last line with the count, and `vault list --tree` has \#
      such a line. A line
        is as wide as the terminal at most, for 20 to 200 columns: columns that have no room are left out, and texts are cut \#
      with an ellipsis.
        Wide characters count as two cells, and combining ones as none.
      - `vault show`, `vault status`, `status`, `env`, `version`, `agent status`, `secret-service status` and `vault pin show` \#
      cut nothing: what
        has no room goes on in the next line. A value that `vault show --reveal` prints and an invitation stay whole.
      - A value gets a newline after it, and a character that commands a terminal, such as ESC, is shown as `\u{1b}`. A value \#
      that is not text is
        refused with 64: give it to a pipe or a file, which get exactly its bytes.
      - Moments are told in local time: `2 min ago`, `yesterday`, `3 Nov`, `in 5 weeks`. An item that has expired says so in red.
      - A list, an item of `vault show` or a page of help that is longer than the screen goes to the program of \#
      `COFFER_PAGER`, else of `PAGER`, else to `less` with the
        options `FRX`, as git has it. An empty variable and `cat` mean none. A pager that fails is told of, with 74: it may \#
      have shown nothing.
      - Help has its titles in bold, and lines of at most 100 columns; in a pipe of 80.
      - Long work shows a bar, a count and the time left on standard error, and a passphrase that is tried shows `Unlocking`. \#
      `--quiet` and
        `--json` turn that off. The line is gone before anything else is said. Control-C takes it away and says whether \#
      anything was changed.
      - `✓` begins the line that says what was done. A message that is wider than the terminal goes on in the next line, at a \#
      word; a word that is
        wider itself, such as a path, stays whole.

      | Variable at a terminal | Effect |
      |---|---|
      | `NO_COLOR` | no colors |
      | `CLICOLOR_FORCE` | colors although `TERM` is `dumb`, unless it is `0`; `NO_COLOR` comes first |
      | `TERM` | without it, and with `dumb`, there are no colors, no bar and no pager |
      | `COLUMNS` | the width, in place of the one that the terminal tells; 80 where neither does |
      | `LINES` | the height likewise; where nobody knows it there is no pager |
      | `LC_ALL` | signs are ASCII, as `OK` for `✓`, unless the first that is set of it, `LC_CTYPE` and `LANG` names UTF-8 |
      | `TZ` | the time zone, where it is not the machine's |
      | `LESS` | the options of `less`, in place of `FRX` |
      """#)
}
