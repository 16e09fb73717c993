internal import ArgumentParser

/// What opens the vault, said on the command line. Without any of these the environment is asked, then the terminal.
struct UnlockingOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Read the passphrase from this open descriptor.", valueName: "n"))
  var passphraseFd: Int32?

  @Option(help: ArgumentHelp("Read the passphrase from this file; - is standard input.", valueName: "path"))
  var passphraseFile: String?

  @Option(help: ArgumentHelp("Open with this key file.", valueName: "path"))
  var keyFile: String?

  @Option(help: ArgumentHelp("Open with the recovery code in this file.", valueName: "path"))
  var recoveryFile: String?

  @Option(help: ArgumentHelp("Open with the recipient's identity in this file.", valueName: "path"))
  var identity: String?

  @Option(
    help: ArgumentHelp("Refuse a vault older than this (its generation, as 'coffer vault status' prints it).", valueName: "n"))
  var minGeneration: UInt64?

  @Flag(help: "Unlock in this process, even where an agent holds the vault.")
  var noAgent = false

  func validate() throws {
    guard passphraseFd == nil || passphraseFile == nil else {
      throw ValidationError("give the passphrase by --passphrase-fd or by --passphrase-file, not by both")
    }
  }

  var isEmpty: Bool {
    passphraseFd == nil && passphraseFile == nil && keyFile == nil && recoveryFile == nil && identity == nil
  }

  /// Whether the passphrase comes from standard input.
  var usesStandardInput: Bool { passphraseFile == "-" || passphraseFd == 0 }
}
