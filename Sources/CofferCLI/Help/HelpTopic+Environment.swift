extension HelpTopic.Part {
  static let environment = HelpTopic.Part(
    page: "CommandLine", section: "Environment",
    text: #"""
      | Variable | Meaning |
      |---|---|
      | `COFFER_HOME` | the one folder for everything: `data/vault.sqlite`, `config/`, `state/`, `run/` |
      | `COFFER_VAULT` | the place of the vault, if it is another |
      | `COFFER_DOMAIN` | the domain of keys, as `--domain` |
      | `COFFER_PASSPHRASE_FILE` | a file with the passphrase; `-` is standard input |
      | `COFFER_KEY_FILE` | a key file |
      | `COFFER_ASKPASS` | a program that asks for the passphrase if there is no terminal |
      | `SSH_ASKPASS` | the same, as ssh uses it |
      | `SSH_ASKPASS_REQUIRE` | `never`, `prefer` or `force`: when such a program asks |
      | `DISPLAY` | a display that the program of `SSH_ASKPASS` can show a window on |
      | `WAYLAND_DISPLAY` | the same |
      | `COFFER_IDENTITY` | a file with a recipient's identity, and perhaps invitations |
      | `COFFER_PASSPHRASE` | the passphrase itself; every program with this environment can read it |
      | `COFFER_EXPECT_VAULT` | `ID[:GENERATION]`, or invitations with spaces between them: any other vault, an older one, \#
      or one whose key does not come from theirs is refused with 66; `init` makes no vault if it is set |
      | `COFFER_CLIPBOARD` | the tool of `--clip`: `wl-copy`, `xclip`, `xsel` or `osc52` |
      | `VISUAL` | the editor of `edit`; else `EDITOR`, else `vi` |
      | `EDITOR` | the same, if `VISUAL` is not set |
      | `PASSWORD_STORE_DIR` | the pass store to import, if none is named (`~/.password-store`) |
      | `KUBERNETES_EXEC_INFO` | kubectl's question to `helper kubectl` |
      | `SSH_ASKPASS_PROMPT` | the kind of ssh's question to `helper askpass` |
      | `CREDENTIALS_DIRECTORY` | a systemd service's folder; `coffer.passphrase` in it is the passphrase |
      | `XDG_DATA_HOME` | the vault is in `coffer/` below it (`~/.local/share`) |
      | `XDG_CONFIG_HOME` | the property lists are in it (`~/.config`) |
      | `XDG_STATE_HOME` | the state is in `coffer/` below it (`~/.local/state`) |
      | `XDG_RUNTIME_DIR` | sockets are in `coffer/` below it; without it, below `/run/user/UID` if that is this user's, \#
      else in `run/` of the state |
      """#)

  static let place = HelpTopic.Part(
    page: "CommandLine", section: "The place of the vault",
    text: #"""
      `--vault PLACE` or `COFFER_VAULT` names the vault of a command and of the agent; otherwise it is the one below \#
      `COFFER_HOME` or
      `XDG_DATA_HOME`. A place is a path, a URL, a mirror, or a name that `coffer vault use NAME PLACE` gave it; a name has \#
      no slash, and `./NAME`
      is the file. If there is neither a name nor a file of it, every command that needs the vault, and `init`, exits with \#
      78 and prints the
      names that there are. The folder of a vault may be a symbolic link of yours that nobody else can change.

      `postgresql://[user@]host/database#name` is a vault on a PostgreSQL server, for which libpq 14 or newer is loaded. One \#
      with a password in it
      is refused with 64, and any other URL with 77; the error repeats only the scheme. libpq finds passwords and \#
      certificates in `~/.pgpass`,
      service files and its own variables. A path that looks like a URL is given with `./` before it. Pins, locks, the \#
      agent's socket and
      preferences stay at the places of `COFFER_HOME` or the XDG variables.
      """#)

  static let offline = HelpTopic.Part(
    page: "CommandLine", section: "Without the server",
    text: #"""
      `--vault mirror:FILE` reads a mirror that `coffer vault mirror FILE` made of a vault on a server, and so does such a \#
      `COFFER_VAULT`. The
      command asks neither server nor agent, and reports the mirror's age on standard error: `reading the mirror FILE, \#
      refreshed 3 h ago`. A
      command that would change the vault is refused with 74, as are `watch` without `--plain`, `doctor`, `lock` of it, and \#
      the agent and the
      Secret Service as its holders.

      A mirror older than its last refresh on this machine is refused with 66, and so is one that this machine did not make \#
      there. A missing
      mirror exits with 78, and an unreachable server with 75. `coffer vault mirror --follow` stays until control-C (130) or \#
      SIGTERM (143), and
      waits for a server that went away. A vault on the server that is older than the mirror ends it with 66, and the mirror \#
      stays.
      """#)

  static let terminal = HelpTopic.Part(
    page: "CommandLine", section: "At a terminal",
    text: #"""
      A terminal gets more than a pipe. The output to a pipe depends on none of the following, and on none of these variables.

      - `list`, `find`, `history`, `vault audit`, `vault log`, `vault slot list`, `vault use`, `status --logins` and \#
      `defaults domains` have
        headers and a last line with the count, and `list --tree` has such a line. A line is as wide as the terminal at \#
      most, for 20 to 200
        columns: columns that have no room are left out, and texts are cut with an ellipsis. Wide characters count as two \#
      cells, and combining
        ones as none. In a pipe a tab divides the cells; `list` and `find` print name, store, label, change and expiry.
      - `show`, `status`, `version`, `secret-service status` and `vault pin show` cut nothing: text without room goes on in \#
      the next line. A value
        that `show --reveal` prints and an invitation stay whole.
      - A value gets a newline after it, and a character that commands a terminal, such as ESC, is shown as `\u{1b}`. A \#
      value that is not text is
        refused with 64: a pipe or a file gets exactly its bytes.
      - Moments are shown in local time: `2 min ago`, `yesterday`, `3 Nov`, `in 5 weeks`. An expired item is marked in red.
      - A list, an item of `show` or a page of help that is longer than the screen goes to the program of `COFFER_PAGER`, \#
      else of `PAGER`, else to
        `less` with the options `FRX`, as in git. An empty variable and `cat` mean none. If a pager fails the command exits \#
      with 74: it may have
        shown nothing.
      - Help has its titles in bold, and lines of at most 100 columns; in a pipe of 80.
      - Long work shows a bar, a count and the time left on standard error, and a passphrase that is tried shows \#
      `Unlocking`. `--quiet` and
        `--json` turn that off. The line is gone before anything else is printed. Control-C removes it, and reports whether \#
      anything was changed.
      - `✓` begins the line that reports the change, and `✗` an error. A cure that is a command stands alone on its line, to \#
      be copied. A longer
        message is wrapped at a word; a word that is wider than the terminal, such as a path, stays whole.

      | Variable at a terminal | Effect |
      |---|---|
      | `NO_COLOR` | no colors |
      | `CLICOLOR_FORCE` | colors although `TERM` is `dumb`, unless it is `0`; `NO_COLOR` comes first |
      | `TERM` | without it, and with `dumb`, there are no colors, no bar and no pager |
      | `COLUMNS` | the width, in place of the terminal's own; 80 if neither is known |
      | `LINES` | the height likewise; if it is unknown there is no pager |
      | `LC_ALL` | signs are ASCII, as `OK` for `✓` and `ERROR` for `✗`, unless the first that is set of it, `LC_CTYPE` and \#
      `LANG` names UTF-8 |
      | `TZ` | the time zone, if it is not the machine's |
      | `LESS` | the options of `less`, in place of `FRX` |
      """#)
}
