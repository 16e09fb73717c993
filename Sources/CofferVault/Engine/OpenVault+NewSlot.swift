internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension OpenVault {
  /// The slot that credentials make, with Argon2id run: outside any transaction, and one at a time for this user.
  ///
  /// - Parameter cost: nil measures this machine.
  static func newSlot(
    _ kind: SlotKind, for inputs: borrowing SlotInputs, id: SlotID = .random(), cost: PassphraseCost?,
    floor: PassphraseCost, place: SlotPlace, _ options: VaultOptions
  ) throws(StoreError) -> NewSlot {
    guard kind.takesPassphrase else {
      return try NewSlot.make(kind, for: inputs, id: id, cost: floor, memory: 0, place: place)
    }
    return try PassphraseTurn.take(in: options.lockFolder) { () throws(StoreError) in
      let memory = MemoryLimit.available()
      let cost = try PassphrasePolicy.cost(cost, floor: floor, memory: memory)
      return try NewSlot.make(kind, for: inputs, id: id, cost: cost, memory: memory, place: place)
    }
  }

  /// The slot that credentials make of this vault as it is now.
  func newSlot(
    _ kind: SlotKind, for inputs: borrowing SlotInputs, id: SlotID = .random(), cost: PassphraseCost?
  ) throws(StoreError) -> NewSlot {
    try refreshNow()
    return try Self.newSlot(
      kind, for: inputs, id: id, cost: cost, floor: headerBody.floor, place: header.place, options)
  }

  /// Commits a plan that adds a slot.
  func add(_ plan: consuming SlotPlan, label: String) throws(StoreError) -> SlotSummary {
    guard let id = plan.addedID else { throw Self.missing("new slot", database) }
    plan.labels[id] = label
    try changeSlots(plan, log: .slotAdded, id)
    return try slot(SlotSummary.ID(bytes: id.bytes)).summary
  }

  /// The plan that gives a passphrase slot another secret.
  func replacement(
    of id: SlotSummary.ID?, by inputs: borrowing SlotInputs, cost: PassphraseCost?
  ) throws(StoreError) -> SlotPlan {
    let old = try slot(id)
    let kind = try inputs.kindToMake()
    guard old.frame.kind.takesPassphrase, kind.takesPassphrase else {
      let what = old.frame.kind.takesPassphrase ? "the new secret is no passphrase" : "the slot is opened by a \(old.frame.kind)"
      throw StoreError(
        .refused, what, place: path.string,
        cure: "name a slot with a passphrase; to replace another, add a slot and remove the old")
    }
    var plan = SlotPlan()
    plan.expected = [old.id]
    plan.added = try newSlot(kind, for: inputs, id: old.id, cost: cost)
    return plan
  }
}
