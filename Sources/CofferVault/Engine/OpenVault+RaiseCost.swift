internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage

extension OpenVault {
  /// Keeps what the vault was unlocked with until the next write, where its slot costs an attacker less than it should.
  func keep(_ inputs: consuming SlotInputs?) {
    guard slot.kind.takesPassphrase, slot.cost.isBelow(leastCost) else { return }
    weakInputs = inputs
  }

  /// What a passphrase slot costs here at least: as the vault says under its seal, and as this machine wants.
  private var leastCost: PassphraseCost { .max(headerBody.floor, options.leastCost ?? headerBody.floor) }

  /// Raises the cost of the slot that the vault was unlocked with, once, after a write: reading never writes, and a write shows
  /// that the file may be written. Passphrase, key pair and id stay, so that nobody is asked for anything.
  ///
  /// Never an error: what was to be written is committed.
  func raiseCostOnce() {
    guard let inputs = weakInputs.take() else { return }
    do throws(StoreError) { try raiseCost(inputs) } catch {
      VaultNotices.say("the passphrase slot costs less to guess than it should, and could not be raised: \(error)")
    }
  }

  private func raiseCost(_ inputs: borrowing SlotInputs) throws(StoreError) {
    let cost = PassphraseCost.max(leastCost, slot.cost)
    var plan = SlotPlan()
    plan.added = try PassphraseTurn.take(in: options.lockFolder) { () throws(StoreError) in
      try slot.raised(to: cost, for: inputs, memory: MemoryLimit.available(), place: header.place)
    }
    plan.expected = [slot.id]
    if headerBody.floor.isBelow(leastCost) { plan.floor = leastCost }
    // The old box, which a guess opens at the old cost, must leave the file.
    try changeSlots(plan, log: .slotChanged, slot.id, scrubs: true)
    _ = followSlots()
  }
}

extension Credentials {
  /// A second copy of what opens passphrase slots, as read; nil without a passphrase.
  borrowing func passphraseInputs() throws(StoreError) -> SlotInputs? {
    var copy = Credentials()
    do throws(SecretMemoryError) {
      copy.passphrase = try passphrase.copied()
      copy.keyFile = try keyFile.copied()
    } catch {
      throw FormatError.memory(error).storeError()
    }
    guard copy.passphrase != nil else { return nil }
    return try SlotInputs(copy)
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
