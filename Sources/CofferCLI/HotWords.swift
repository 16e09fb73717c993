internal import ArgumentParser
internal import CofferTerminal

/// The commands whose usual lines are read without ArgumentParser (see ``HotCommand``).
enum HotWords {
  /// The command of the process's words `line`, the program's name first; nil if ArgumentParser must read them.
  static func command(_ line: [ByteWord]) -> (any HotCommand)? {
    guard line.dropFirst().allSatisfy(\.isText) else { return nil }
    let words = ProgramName.arguments(line.map(\.text))
    guard let first = words.first else { return nil }
    switch first {
    case "get": return GetCommand.hot(words[1...])
    case "vault", "auth", "credential":
      guard words.count > 1 else { return nil }
      return command("\(first) \(words[1])", words[2...])
    default: return nil
    }
  }

  private static func command(_ name: String, _ words: ArraySlice<String>) -> (any HotCommand)? {
    switch name {
    case "vault get": VaultGetCommand.hot(words)
    case "vault otp": VaultOneTimeCommand.hot(words)
    case "auth token": AuthTokenCommand.hot(words)
    case "credential git": CredentialGitCommand.hot(words)
    case "credential docker": CredentialDockerCommand.hot(words)
    case "credential aws": CredentialAWSCommand.hot(words)
    case "credential kubectl": CredentialKubectlCommand.hot(words)
    case "credential askpass": CredentialAskpassCommand.hot(words)
    case "credential cargo": CredentialCargoCommand.hot(words)
    case "credential keyring": CredentialKeyringCommand.hot(words)
    default: nil
    }
  }
}
