internal import CofferMemory

/// What a change makes of a vault's slots.
struct SlotPlan: ~Copyable, Sendable {
  /// Slots that the next header does not have.
  var dropped: Set<SlotID> = []
  /// The only slots that stay, where the caller named them: one that another process added meanwhile does not.
  var only: Set<SlotID>?
  /// New labels by slot.
  var labels: [SlotID: String] = [:]
  /// A slot that is new, or takes the place of the one with its id.
  var added: NewSlot?
  /// The floor of passphrase costs from now on, where it changes.
  var floor: PassphraseCost?
  /// Slots that must be there still when the change is made.
  var expected: Set<SlotID> = []

  /// Whether the slot `id` of the present header is in the next one as well, as it was or replaced.
  borrowing func keeps(_ id: SlotID) -> Bool { only?.contains(id) ?? !dropped.contains(id) }

  /// Whether the slot `id` gives way to the new one.
  borrowing func replaces(_ id: SlotID) -> Bool { addedID == id }

  /// The id of the slot that is new.
  var addedID: SlotID? {
    switch added {
    case .some(let added): added.id
    case .none: nil
    }
  }

  /// Writes W of the slot that is new.
  borrowing func writeAddedMix(to out: UnsafeMutableRawBufferPointer) {
    switch added {
    case .some(let added): added.writeMix(to: out)
    case .none: return
    }
  }
}
