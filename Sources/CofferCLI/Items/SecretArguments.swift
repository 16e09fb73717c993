internal import CofferTerminal

/// Options that other programs have and this one never will: a secret on a command line is in the process list, the shell's
/// history and the audit log before the program even starts.
enum SecretArguments {
  private static let names = [
    "--passphrase", "--password", "--pass", "--secret-value", "--value", "--token", "--new-passphrase", "--key",
  ]

  /// - Parameter allowed: one that the command has, for a name.
  static func refusal(_ given: [String], except allowed: String?) -> Failure? {
    for word in given.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
      let name = word.prefix { $0 != "=" }
      guard names.contains(String(name)), name != allowed ?? "" else { continue }
      return .usage(
        "there is no \(name): a secret is never an argument, because every process and the shell's history would see it",
        try: name.contains("pass")
          ? "--passphrase-file PATH, --passphrase-fd N, or the prompt" : "standard input, --file PATH, --fd N, or --generate")
    }
    return nil
  }

  static func refusal(_ what: String) -> Failure {
    .usage(
      "\(what) was given as an argument; a secret is never one, because every process and the shell's history would see it",
      try: "standard input, --file PATH, --fd N, the prompt, or --generate; and change this secret, it may have been seen")
  }
}
