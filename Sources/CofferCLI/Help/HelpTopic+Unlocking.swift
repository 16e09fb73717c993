extension HelpTopic.Part {
  static let unlocking = HelpTopic.Part(
    page: "CommandLine", section: "Unlocking",
    text: #"""
      Commands that open the vault take `--passphrase-fd`, `--passphrase-file`, `--key-file`, `--recovery-file`, \#
      `--identity`, `--invitation`,
      `--min-generation` and `--no-agent`. If none names a secret, a command that does not need the vault's key asks the \#
      agent first, if that
      holds the vault (<doc:Agent>) and `--no-agent` is not given: all that read, change, import and export items, and \#
      `vault log`,
      `status --details`, `vault verify` and `vault slot list`. Then every command takes the
      secret from `COFFER_PASSPHRASE_FILE`, `COFFER_KEY_FILE`, `COFFER_IDENTITY`, `COFFER_PASSPHRASE` or the file \#
      `coffer.passphrase` in
      `CREDENTIALS_DIRECTORY`, and then asks a person at the terminal.

      `--min-generation` refuses a vault that is older. `--invitation`, which may be repeated, refuses another vault, and \#
      one whose key does not
      come from the one that the invitation names (<doc:CommandLineVault>); the agent checks that too. An invalid invitation \#
      exits with 64; in an
      identity file it exits with 65 and names the line.

      A person may type a wrong passphrase three times, and a recovery code in its place. Nothing is echoed from the first \#
      try to the last, and
      anything typed before the next question is dropped. After the third the error names `coffer recover`, if the vault has \#
      a recovery code. A
      passphrase typed for a command that the agent can serve goes to the agent, which is started if none runs: nobody types \#
      it twice
      (<doc:CommandLineAgent>). A command that needs the vault's key itself, such as `vault rotate`, asks for itself. A key \#
      file that opens the
      vault alone leaves a passphrase beside it untried, and a note says so.
      """#)

  static let asking = HelpTopic.Part(
    page: "CommandLine", section: "Asking a person",
    text: #"""
      Questions go to the terminal. Without one, the program of `COFFER_ASKPASS` asks for the passphrase: a path, or a name \#
      that is looked for on
      `PATH`. A program whose name begins with `pinentry` is spoken to in GnuPG's protocol. Any other gets the question as \#
      its last word, and
      prints the answer: `systemd-ask-password`, or an askpass of ssh. Without the variable, `SSH_ASKPASS` is asked as ssh \#
      asks it, if `DISPLAY`
      or `WAYLAND_DISPLAY` is set. `SSH_ASKPASS_REQUIRE` counts for both: with `prefer` and `force` the program asks at a \#
      terminal too, with
      `force` without a display as well, and with `never` it does not ask. After 120 s, and if the command dies, the program \#
      is ended with all
      that it started. If nobody can be asked, a locked vault exits with 69.

      A new passphrase is typed twice. One that fewer than 2^35 tries would guess is refused at a terminal, with the reason, \#
      and may be typed
      anew, three times in all. From elsewhere it is taken, and a note says why it is weak. `--min-strength BITS` refuses \#
      one below another
      strength, wherever it comes from; 0 takes any.

      A passphrase slot of another program or another time may cost an attacker less than 3 passes over 64 MiB of Argon2id. \#
      The next command that
      writes and was unlocked with that passphrase raises the cost: under the same passphrase, and with an entry in the log.
      """#)

  static let settings = HelpTopic.Part(
    page: "CommandLineAgent", section: "Settings",
    text: #"""
      The domain `coffer.settings` keeps defaults for these options: `coffer defaults write coffer.settings agent.auto off`.

      | Setting | Meaning |
      |---|---|
      | `agent.auto` | `on` or `off`: whether a typed passphrase goes to the agent (on) |
      | `agent.idle` | after how long without use a vault locks that a prompt or `unlock` opened (15m) |
      | `agent.lifetime` | after how long it locks in any case (8h) |

      Without these two, the times are those that the agent was started with. Nothing goes to the agent from a service: a \#
      process with
      `CREDENTIALS_DIRECTORY`, or one of systemd (`INVOCATION_ID`) without a terminal.

      <doc:Agent> tells who is answered, when the agent locks, and what it hands out.
      """#)
}
