internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

struct SlotJSON: Encodable {
  let id: String, opens: String, label: String, passes: UInt32, mebibytes: UInt32, inUse: Bool

  init(_ slot: VaultStatus.Slot) {
    id = slot.summary.id.description
    opens = slot.summary.kind.description
    label = slot.label
    passes = slot.summary.passes
    mebibytes = slot.summary.mebibytes
    inUse = slot.isInUse
  }
}

/// Prints an invitation to standard output, from where it is passed on.
enum NewInvitation {
  /// Shows the invitation of a new key, if one of `slots` is or was a recipient's: a vault of one person needs none.
  static func show(_ invitation: Invitation, afterNewKeyFor slots: [SlotSummary], _ context: Context) throws {
    guard slots.contains(where: { $0.kind == .recipient }) else { return }
    try show(
      invitation,
      "New invitation. Send it to machines that have not opened the vault since this change; an old one would let a removed "
        + "user mislead them.", context)
  }

  /// - Parameter purpose: its use, in sentences.
  static func show(_ invitation: Invitation, _ purpose: String, _ context: Context) throws {
    context.note("\(purpose) It is not secret, but send it over a channel nobody can tamper with:")
    try Output.line(invitation.description)
  }
}
