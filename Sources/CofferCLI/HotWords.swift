internal import CofferTerminal

/// See ``HotCommand``.
enum HotWords {
  /// Nil if ArgumentParser must read the line, which begins with the program's name.
  static func command(_ line: [ByteWord]) -> (any HotCommand)? {
    guard line.dropFirst().allSatisfy(\.isText) else { return nil }
    let words = ProgramName.arguments(line.map(\.text))
    guard let first = words.first else { return nil }
    let rest = words[1...]
    switch first {
    case "get": return GetCommand.hot(rest)
    case "otp" where rest.first != "add": return OneTimeCommand.hot(rest)
    case "token": return TokenCommand.hot(rest)
    case "vault" where rest.first == "get": return GetCommand.hot(["--items"] + rest.dropFirst())
    case "vault" where rest.first == "otp": return OneTimeCommand.hot(rest.dropFirst())
    case "helper": return rest.first.flatMap { helper($0, rest.dropFirst()) }
    default: return nil
    }
  }

  private static func helper(_ name: String, _ words: ArraySlice<String>) -> (any HotCommand)? {
    switch name {
    case "git": CredentialGitCommand.hot(words)
    case "docker": CredentialDockerCommand.hot(words)
    case "aws": CredentialAWSCommand.hot(words)
    case "kubectl": CredentialKubectlCommand.hot(words)
    case "askpass": CredentialAskpassCommand.hot(words)
    case "cargo": CredentialCargoCommand.hot(words)
    case "keyring": CredentialKeyringCommand.hot(words)
    default: nil
    }
  }
}
