internal import ArgumentParser
internal import Coffer

struct SlotAdd: Command {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a way into the vault.",
    discussion: """
      A passphrase unless another kind is asked for: --new-key-file makes a key file, together with a new passphrase a slot that \
      wants both; --recovery-code prints a code, once, to be written down; --recipient lets the holder of an identity in \
      (coffer vault identity new makes one).
      """)

  @Option(help: ArgumentHelp("A name for this way of opening the vault.", valueName: "text")) var label: String = ""
  @Flag(help: "Make a recovery code and print it.") var recoveryCode = false
  @Option(help: ArgumentHelp("Let in who has the identity of this public key.", valueName: "PVPUB1-…"))
  var recipient: String?
  @OptionGroup(title: "The new secret") var new: NewSecretOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func validate() throws {
    let kinds = [recoveryCode, recipient != nil, !new.isEmpty]
    guard kinds.count(where: { $0 }) <= 1 else {
      throw ValidationError("give one of --recovery-code, --recipient and the options for a new secret")
    }
  }

  func perform(_ session: Session) throws {
    let recipient = try recipient.map { try Recipient($0) }
    let secrets = NewSecrets(new: new, existing: unlocking, session: session)
    try secrets.claimInput()
    let vault = try session.unlockedVault(unlocking)
    if let recipient { return try add(recipient, to: vault, session) }
    if recoveryCode { return try addRecoveryCode(to: vault, session) }
    // Answered outside: an answer that cannot be printed must not take the key file from a slot that is made.
    let slot = try secrets.using { credentials in try vault.addSlot(credentials, label: label) }
    try answer(slot, session)
  }

  private func add(_ recipient: Recipient, to vault: borrowing UnlockedVault, _ session: Session) throws {
    let slot = try vault.addSlot(recipient, label: label)
    let expected = "\(vault.id):\(try vault.status().generation)"
    if output.json { return try Output.line(JSONText.encode(Answer(slot, expect: expected))) }
    try answer(slot, session)
    session.note("the recipient should set COFFER_EXPECT_VAULT=\(expected), so that no other vault is taken for this one")
  }

  private func addRecoveryCode(to vault: borrowing UnlockedVault, _ session: Session) throws {
    let code = try RecoveryCode.generate()
    var credentials = Credentials()
    credentials.recoveryCode = try code.duplicate()
    let slot = try vault.addSlot(credentials, label: label)
    if output.json { return try JSONText.write(JSONText.encode(Answer(slot)), "recoveryCode", code) }
    try NewRecoveryCode.show(code, session)
  }

  private func answer(_ slot: SlotSummary, _ session: Session) throws {
    if output.json { return try Output.line(JSONText.encode(Answer(slot))) }
    session.note("added slot \(slot.id), opened by \(slot.kind)")
  }

  private struct Answer: Encodable {
    let id: String, opens: String, expect: String?
    init(_ slot: SlotSummary, expect: String? = nil) {
      id = slot.id.description
      opens = slot.kind.description
      self.expect = expect
    }
  }
}
