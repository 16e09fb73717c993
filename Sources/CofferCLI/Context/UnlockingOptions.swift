internal import ArgumentParser
internal import CofferPlatform
internal import CofferVault

/// Secrets for the vault on the command line. Without any the environment is asked, then the terminal.
struct UnlockingOptions: ParsableArguments {
  // Of the same type as other numbers: see ClipboardOptions.
  @Option(
    name: .customLong("passphrase-fd"), help: ArgumentHelp("Read the passphrase from this open descriptor.", valueName: "n"))
  var passphraseNumber: UInt64?

  @Option(help: ArgumentHelp("Read the passphrase from this file; - is standard input.", valueName: "path"))
  var passphraseFile: String?

  @Option(help: ArgumentHelp("Open with this key file.", valueName: "path")) var keyFile: String?

  @Option(help: ArgumentHelp("Open with the recovery code in this file.", valueName: "path")) var recoveryFile: String?

  @Option(help: ArgumentHelp("Open with the identity in this file.", valueName: "path")) var identity: String?

  @Option(
    help: ArgumentHelp(
      "Refuse a vault whose key does not come from this invitation's; may be repeated.", valueName: "PVINV1-…"))
  var invitation: [String] = []

  @Option(help: ArgumentHelp("Refuse a vault older than this generation (see 'coffer status --details').", valueName: "n"))
  var minGeneration: UInt64?

  @Flag(help: "Unlock in this process, even if an agent holds the vault.") var noAgent = false

  var passphraseFd: Int32? { passphraseNumber.map { Int32(clamping: $0) } }

  func validate() throws {
    guard passphraseFd == nil || passphraseFile == nil else {
      throw ValidationError("give --passphrase-fd or --passphrase-file, not both")
    }
    guard invitation.count <= Invitation.most else { throw ValidationError("give at most \(Invitation.most) invitations") }
  }

  var isEmpty: Bool { passphraseFd == nil && passphraseFile == nil && keyFile == nil && recoveryFile == nil && identity == nil }

  /// Whether an option makes sense for one vault alone. An identity may open many.
  var isForOneVault: Bool {
    passphraseFd != nil || passphraseFile != nil || keyFile != nil || recoveryFile != nil || !invitation.isEmpty
      || minGeneration != nil
  }

  /// Whether the agent may serve: nothing else is named.
  var leavesAgent: Bool { isEmpty && !noAgent }

  var usesStandardInput: Bool { passphraseFile == "-" || passphraseFd == 0 }
}
