extension HelpTopic.Part {
  static let references = HelpTopic.Part(
    page: "CommandLineRun", section: "References",
    text: #"""
      A reference names a secret where the secret itself may not stand: `coffer://service/account`, with `/name` for what `--field name` prints.
      Each part is percent-encoded, so a service that is a URL is `coffer://https%3A%2F%2Fexample.com/ada`. Without an account the only item of
      the service is meant, and `coffer://service/` is the item whose account is empty.
      """#)

  static let git = HelpTopic.Part(
    page: "CommandLineRun", section: "git and docker",
    text: #"""
      `coffer install` puts `git-credential-coffer` and `docker-credential-coffer` beside `coffer`. Then
      `git config --global credential.helper coffer`, and `"credsStore": "coffer"` in `~/.docker/config.json`.

      - A git credential is the item of service `PROTOCOL://HOST`, with `/PATH` where git sends one (`credential.useHttpPath`), and of the user's
        account. Without a user, `get` gives the one that was written last. git stores a password after each use; one that is stored already is not
        written again. `store` asks nobody: while the vault is locked it stores nothing. `get` and `erase` say what they want the vault for when they
        ask. `get` and `erase` without a path do not touch what was stored with one.
      - `password_expiry_utc` is honored; an expired password that has an `oauth_refresh_token` leaves that. `authtype`, `credential`, `ephemeral`
        and `state[]` are spoken with a git that announces them. `erase` removes a password only if git names the same password. A value with a
        NUL, a carriage return or a newline is neither taken nor given. An operation that the protocol does not know is ignored.
      - A docker credential is the item of service `docker:SERVER`, one for each server. Errors are on standard output with status 1. As docker's
        own helpers do, it takes a request's names in any case and passes over those it does not know.
      """#)
}
