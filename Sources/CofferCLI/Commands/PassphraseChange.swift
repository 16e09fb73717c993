internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

struct PassphraseChange {
  /// The beginning of the slot's id, or its label; nil for the default one.
  let slot: String?
  let new: NewSecretOptions
  let keepsKey: Bool
  /// Whether a typed passphrase also unlocks the vault in the agent.
  var unlocks = false

  func perform(_ vault: borrowing UnlockedVault, _ context: Context, json: Bool) throws {
    let slots = try vault.slots()
    let changed = try slot.map { try slots.named($0) } ?? Self.meant(slots)
    guard changed.summary.kind.hasPassphrase else {
      throw Self.unfit("the slot has no passphrase", key: changed.summary.id.description)
    }
    let secrets = NewSecrets(new: new, context: context)
    let report = try context.showing(.rotating) { progress in
      try secrets.usingPassphrase(withKeyFile: changed.summary.kind == .passphraseAndKeyFile) { credentials in
        let kept = try credentials.copied()
        let made = try vault.changePassphrase(
          to: credentials, ofSlot: changed.summary.id, key: keepsKey ? .kept : .renewed, progress: progress.show)
        if unlocks, !new.hasPassphrase { AgentKeeper.keep(kept, context) }
        return made
      }
    }
    report.noteAdded(to: slots, context)
    let invitation = try vault.invitation()
    if json {
      let added = report.added(to: slots).map(SlotJSON.init)
      return try Output.json(
        Answer(slot: changed.summary.id.description, invitation: invitation.description, added: added.isEmpty ? nil : added))
    }
    let hasCode = report.slots.contains { $0.summary.kind == .recoveryCode }
    let old = "an old copy of the file and the old passphrase reveal it"
    context.done(
      "new passphrase" + (hasCode ? "; the recovery code still works" : "") + (keepsKey ? "; the vault's key stays: \(old)" : ""),
      elsewhere: keepsKey
        ? "the passphrase was changed, but not the vault's key: \(old)"
        : "the passphrase was changed, and the vault has a new key, sealed to \(counted(report.slots.count, "slot"))")
    // Without a new key every machine's invitation stays valid.
    if !keepsKey { try NewInvitation.show(invitation, afterNewKeyFor: report.slots.map(\.summary), context) }
  }

  private struct Answer: Encodable { let slot: String, invitation: String, added: [SlotJSON]? }

  /// The slot that opened the vault, if it has a passphrase, or the only one that has.
  private static func meant(_ slots: [VaultStatus.Slot]) throws(StoreError) -> VaultStatus.Slot {
    let fitting = slots.filter(\.summary.kind.hasPassphrase)
    if let one = fitting.first(where: \.isInUse) ?? (fitting.count == 1 ? fitting.first : nil) { return one }
    throw unfit(fitting.isEmpty ? "no slot of the vault has a passphrase" : "\(fitting.count) slots have a passphrase", key: nil)
  }

  private static func unfit(_ what: String, key: String?) -> StoreError {
    StoreError(
      .unfitSecret, what, key: key,
      cure: "name one with --slot; coffer vault slot list shows them, coffer vault slot add creates one")
  }
}

extension SlotKind {
  var hasPassphrase: Bool { self == .passphrase || self == .passphraseAndKeyFile }
}
