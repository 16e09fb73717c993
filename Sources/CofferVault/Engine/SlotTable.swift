internal import CofferMemory
package import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

/// The slots of a vault, and the header for a plan. Changes nothing.
final class SlotTable {
  private let view: VerifiedView
  private let options: VaultOptions
  /// The inputs for a slot that is too cheap, until the next write raises it.
  private var weakInputs: SlotInputs?

  init(_ view: VerifiedView, _ options: VaultOptions) {
    self.view = view
    self.options = options
  }

  var summaries: [VaultStatus.Slot] {
    zip(view.header.slots, view.headerBody.labels).map {
      VaultStatus.Slot(summary: $0.summary, label: $1, isInUse: $0.id == view.slot.id)
    }
  }

  func slot(_ id: SlotSummary.ID?) throws(StoreError) -> SealedSlot {
    let wanted = id.map(\.bytes) ?? view.slot.id.bytes
    guard let found = view.header.slots.first(where: { $0.id.bytes == wanted }) else {
      throw StoreError(
        .notFound, "the vault has no such slot", place: view.place.description, cure: "list the slots to see their ids")
    }
    return found
  }

  func nextHeader(
    _ plan: borrowing SlotPlan, key: borrowing VaultKey, _ keys: borrowing Subkeys, rotated: UInt64
  ) throws(StoreError) -> VaultHeader {
    try KnownHeader.next(
      after: view.header, view.headerBody, view.keys, plan, key: key, keys, rotated: rotated, place: view.place)
  }

  /// Argon2id runs outside any transaction, and one at a time for this user.
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

  func newSlot(
    _ kind: SlotKind, for inputs: borrowing SlotInputs, id: SlotID = .random(), cost: PassphraseCost?
  ) throws(StoreError) -> NewSlot {
    try Self.newSlot(
      kind, for: inputs, id: id, cost: cost, floor: view.headerBody.floor, place: view.header.place, options)
  }

  func replacement(
    of id: SlotSummary.ID?, by inputs: borrowing SlotInputs, cost: PassphraseCost?
  ) throws(StoreError) -> SlotPlan {
    let old = try slot(id)
    let kind = try inputs.kindToMake()
    guard old.frame.kind.takesPassphrase, kind.takesPassphrase else {
      let what =
        old.frame.kind.takesPassphrase ? "the new secret is not a passphrase" : "the slot is opened by a \(old.frame.kind)"
      throw StoreError(
        .unfitSecret, what, place: view.place.description,
        cure: "name a slot with a passphrase; to replace another, add a slot and remove the old")
    }
    var plan = SlotPlan()
    plan.expected = [old.id: old.frame.publicKey]
    plan.added = try newSlot(kind, for: inputs, id: old.id, cost: cost)
    return plan
  }

  /// The larger of the vault's sealed floor and this machine's.
  private var leastCost: PassphraseCost { .max(view.headerBody.floor, options.leastCost ?? view.headerBody.floor) }

  /// Keeps the inputs until ``raisedOnce()`` if the slot is too cheap.
  func keep(_ inputs: consuming SlotInputs?) {
    guard view.slot.kind.takesPassphrase, view.slot.cost.isBelow(leastCost) else { return }
    weakInputs = inputs
  }

  /// Passphrase, key pair and id stay, so the user is not asked. Nil if the slot costs enough, or after the first call.
  func raisedOnce() throws(StoreError) -> SlotPlan? {
    guard let inputs = weakInputs.take() else { return nil }
    // The inputs no longer open the slot if its passphrase was just changed.
    let current = view.header.slots.first { $0.id == view.slot.id }
    guard current?.frame.publicKey == view.slot.publicKey else { return nil }
    let cost = PassphraseCost.max(leastCost, view.slot.cost)
    var plan = SlotPlan()
    plan.added = try PassphraseTurn.take(in: options.lockFolder) { () throws(StoreError) in
      try view.slot.raised(to: cost, for: inputs, memory: MemoryLimit.available(), place: view.header.place)
    }
    plan.expected = [view.slot.id: view.slot.publicKey]
    if view.headerBody.floor.isBelow(leastCost) { plan.floor = leastCost }
    return plan
  }
}

extension Credentials {
  borrowing func invitations() throws(StoreError) -> [Invitation] {
    switch identity {
    case .some(let identity): try Identity.invitations(in: identity)
    case .none: []
    }
  }

  borrowing func passphraseInputs() throws(StoreError) -> SlotInputs? {
    guard passphrase != nil else { return nil }
    var copy = Credentials()
    do throws(SecretMemoryError) {
      copy.passphrase = try passphrase.copied()
      copy.keyFile = try keyFile.copied()
    } catch {
      throw FormatError.memory(error).storeError()
    }
    return try SlotInputs(copy)
  }

  package borrowing func copied() throws(StoreError) -> Credentials {
    var copy = Credentials()
    do throws(SecretMemoryError) {
      copy.passphrase = try passphrase.copied()
      copy.keyFile = try keyFile.copied()
      copy.recoveryCode = try recoveryCode.copied()
      copy.identity = try identity.copied()
    } catch {
      throw FormatError.memory(error).storeError()
    }
    return copy
  }
}

extension Optional where Wrapped == SecretBytes {
  fileprivate borrowing func copied() throws(SecretMemoryError) -> SecretBytes? {
    switch self {
    case .some(let bytes): try bytes.duplicate()
    case .none: nil
    }
  }
}
