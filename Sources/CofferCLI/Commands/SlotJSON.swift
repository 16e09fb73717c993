internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct SlotJSON: Encodable {
  let id: String, opens: String, label: String, passes: UInt32, mebibytes: UInt32, inUse: Bool, ends: Date?

  init(_ slot: VaultStatus.Slot) {
    (id, opens, label, ends) = (slot.summary.id.description, slot.summary.kind.description, slot.label, slot.ends)
    (passes, mebibytes, inUse) = (slot.summary.passes, slot.summary.mebibytes, slot.isInUse)
  }
}

enum NewInvitation {
  /// Shows the invitation of a new key, if one of `slots` is or was a recipient's: a vault of one person needs none.
  static func show(_ invitation: Invitation, afterNewKeyFor slots: [SlotSummary], _ context: Context) throws {
    guard slots.contains(where: { $0.kind == .recipient }) else { return }
    try show(
      invitation,
      "New invitation. Send it to machines that have not opened the vault since this change; an old one would let a removed "
        + "user mislead them.", context)
  }

  static func show(_ invitation: Invitation, _ purpose: String, _ context: Context) throws {
    context.note("\(purpose) It is not secret, but send it over a channel nobody can tamper with:")
    try Output.line(invitation.description)
  }
}
