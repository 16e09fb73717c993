internal import CofferTerminal
internal import CofferVault

enum NewRecoveryCode {
  private static let title = "This recovery code opens the vault:"
  private static let advice = "Write it down. It is not shown again."

  /// Adds a slot for a new code, and prints the code: to standard output, or for a person in a box that is cleared.
  ///
  /// The slot comes first: its owner would trust a printed code that opens nothing. Nobody has a code that could not be
  /// printed: in a new vault its slot is removed again. Elsewhere that would change the key under others, and the error names
  /// the slot.
  ///
  /// - Parameter json: the object that gets the code as a field; nil prints the code alone.
  static func add(
    to vault: borrowing UnlockedVault, label: String, isNewVault: Bool, _ context: Context, json: (SlotSummary) -> String?
  ) throws {
    let code = try RecoveryCode.generate()
    var credentials = Credentials()
    credentials.recoveryCode = try code.duplicate()
    let slot = try vault.addSlot(credentials, label: label)
    do { try print(code, json(slot), context) } catch {
      guard var failure = Failure.of(error) else { throw error }
      failure.cure =
        "coffer vault slot remove \(slot.id), as nobody has its code; coffer vault slot add --recovery-code creates another"
      if isNewVault, isRemoved(slot, from: vault) {
        failure.cure = "the vault was created without a recovery code: coffer vault slot add --recovery-code creates one"
      }
      throw failure
    }
    // After its box, nothing of the command is on the screen.
    if !isNewVault, context.offersMore { context.done("added slot \(slot.id), opened by a recovery code") }
  }

  /// In one write, so that a code is never there and its line is not.
  private static func print(_ code: borrowing SecretBytes, _ object: String?, _ context: Context) throws {
    if let object { return try JSONText.write(object, "recoveryCode", code) }
    if context.offersMore, Terminal.hasScreen, let terminal = Terminal() {
      return try terminal.show(code, in: SecretBox(title: title, notes: [advice, "Press Enter to clear it from the screen."]))
    }
    if context.offersMore {
      Output.message(title)
    } else {
      context.note("this recovery code opens the vault; write it down, it is not shown again:")
    }
    let line = try code.withUnsafeBytes { raw in
      try SecretBytes.written { write in
        for byte in raw { write(byte) }
        write(UInt8(ascii: "\n"))
      }
    }
    try Output.write(line)
    if context.offersMore { Output.message("\(advice) This terminal cannot clear it from the screen.") }
  }

  private static func isRemoved(_ slot: SlotSummary, from vault: borrowing UnlockedVault) -> Bool {
    do throws(StoreError) { _ = try vault.removeSlot(slot.id) } catch { return false }
    return true
  }
}
