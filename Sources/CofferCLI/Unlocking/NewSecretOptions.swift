internal import ArgumentParser

/// Where a new passphrase or key file comes from or goes to.
struct NewSecretOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Read the new passphrase from this open descriptor.", valueName: "n"))
  var newPassphraseFd: Int32?

  @Option(help: ArgumentHelp("Read the new passphrase from this file; - is standard input.", valueName: "path"))
  var newPassphraseFile: String?

  @Option(help: ArgumentHelp("Write a fresh key file to this path, where nothing may be yet.", valueName: "path"))
  var newKeyFile: String?

  func validate() throws {
    guard newPassphraseFd == nil || newPassphraseFile == nil else {
      throw ValidationError("give the new passphrase by --new-passphrase-fd or by --new-passphrase-file, not by both")
    }
  }

  var isEmpty: Bool { !hasPassphrase && newKeyFile == nil }
  var hasPassphrase: Bool { newPassphraseFd != nil || newPassphraseFile != nil }
  var usesStandardInput: Bool { newPassphraseFile == "-" || newPassphraseFd == 0 }
}
