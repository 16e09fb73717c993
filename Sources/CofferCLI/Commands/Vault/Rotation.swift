internal import Coffer

/// A change of the vault's key, agreed to by whoever asked for it.
struct Rotation {
  let kept: [VaultStatus.Slot]
  let removed: [VaultStatus.Slot]

  init(sealingTo kept: [VaultStatus.Slot], of slots: [VaultStatus.Slot]) {
    self.kept = kept
    removed = slots.filter { slot in !kept.contains(slot) }
  }

  /// Shows the slots, asks, rotates and answers.
  ///
  /// - Throws: a usage failure without a terminal to ask at and without --yes.
  func perform(_ vault: borrowing UnlockedVault, _ session: Session, json: Bool) throws {
    try agree(session)
    let progress = Progress(session, json: json)
    defer { progress.clear() }
    // Named, so that a slot that was added since the list was shown is not sealed to.
    try vault.rotate(only: kept.map(\.summary.id), progress: progress.show)
    progress.clear()
    if json {
      return try Output.line(JSONText.encode(Answer(slots: kept.map(SlotJSON.init), removed: removed.map(SlotJSON.init))))
    }
    session.note("the vault has a new key, sealed to \(kept.count) slot\(kept.count == 1 ? "" : "s")")
  }

  private func agree(_ session: Session) throws {
    guard !session.yes else { return }
    guard let terminal = Terminal() else {
      throw Failure.usage(
        "the new key would be sealed to these slots, and there is no terminal to ask at:\n\(SlotTable.text(kept))",
        try: "the command with --yes, if you know them all")
    }
    Output.message("The vault gets a new key, sealed to these slots:\n\(SlotTable.text(kept))")
    if !removed.isEmpty { Output.message("These will not open it any more:\n\(SlotTable.text(removed))") }
    guard try terminal.confirm("Do you know them all?") else {
      throw Failure(StoreError(.refused, "nothing was changed", cure: "name the slots you know with coffer vault rotate --only"))
    }
  }

  private struct Answer: Encodable { let slots: [SlotJSON], removed: [SlotJSON] }
}
