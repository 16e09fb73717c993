internal import ArgumentParser

struct AuthCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "auth", abstract: "Log in to hosts: a token for each host and account, one of them the active one.",
    discussion: """
      A token comes from standard input (--with-token) or from the hidden prompt, never from an argument. It is an item of the vault, \
      'coffer vault get HOST ACCOUNT' finds it, and so is which account is active: nothing about it is readable outside.
      """,
    subcommands: [AuthLogin.self, AuthLogout.self, AuthStatus.self, AuthToken.self, AuthSwitch.self])
}
