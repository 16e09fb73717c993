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
  /// For an invitation that replaces earlier ones.
  static let ofNewKey =
    "machines that have not seen the vault since need it: with an older one, who was removed could still lead them on"

  static func show(_ invitation: Invitation, _ purpose: String, _ context: Context) throws {
    context.note("this is the invitation now; \(purpose). It is no secret, but has to come by a way that nobody can change:")
    try Output.line(invitation.description)
  }
}
