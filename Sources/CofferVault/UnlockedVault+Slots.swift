public import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

extension UnlockedVault {
  /// The slots with their labels, by id.
  public borrowing func slots() throws(StoreError) -> [VaultStatus.Slot] {
    try core.read { (vault) throws(StoreError) in
      vault.slots.summaries
    }
  }

  /// Adds a slot for `credentials`, whatever they hold: a passphrase, a passphrase and a key file together, a generated key file,
  /// a recovery code, or an identity. The vault's key stays as it is.
  ///
  /// - Parameters:
  ///   - credentials: what will open the slot.
  ///   - label: a name for people, at most 64 bytes.
  ///   - cost: the Argon2id cost of a passphrase, at least the vault's floor; nil measures this machine.
  /// - Returns: the new slot.
  /// - Throws: `StoreError` `.tooLarge` (16 slots, a label), `.unfitSecret` (a cost below the floor, a key file that was not
  ///   generated and comes alone), `.kdfMemory`, `.busy`, `.noSpace`; nothing has changed then, unless it is `.outcomeUnknown`.
  @discardableResult
  public borrowing func addSlot(
    _ credentials: consuming Credentials, label: String = "", cost: PassphraseCost? = nil
  ) throws(StoreError) -> SlotSummary {
    var given = Optional(credentials)
    return try core.run { (vault) throws(StoreError) in
      let inputs = try SlotInputs(given.take() ?? Credentials())
      var plan = SlotPlan()
      plan.added = try vault.slots.newSlot(inputs.kindToMake(), for: inputs, cost: cost)
      return try vault.add(plan, label: label)
    }
  }

  /// Adds a slot for a recipient, who opens the vault with the identity that `recipient` belongs to. Nobody else learns that
  /// identity, including this process.
  ///
  /// - Throws: as ``addSlot(_:label:cost:)``, and `.damaged` for a recipient that is no public key.
  @discardableResult
  public borrowing func addSlot(_ recipient: Recipient, label: String = "") throws(StoreError) -> SlotSummary {
    try core.refreshed { (vault) throws(StoreError) in
      var plan = SlotPlan()
      plan.added = NewSlot.recipient(recipient.key)
      return try vault.add(plan, label: label)
    }
  }

  /// Gives a slot another label, of at most 64 bytes.
  ///
  /// - Throws: `StoreError` `.notFound`, `.tooLarge`, `.busy`, `.noSpace`.
  public borrowing func relabelSlot(_ id: SlotSummary.ID, to label: String) throws(StoreError) {
    try core.refreshed { (vault) throws(StoreError) in
      let slot = try vault.slots.slot(id)
      var plan = SlotPlan()
      plan.expected[slot.id] = slot.frame.publicKey
      plan.labels[slot.id] = label
      try vault.changeSlots(plan, log: .slotChanged, slot.id)
    }
  }

  /// Removes a slot by giving the vault a new key that is not sealed to it: what opened the slot opens nothing that is in the
  /// file from now on. A copy of the file made before still opens with it.
  ///
  /// Removing the slot that this vault was unlocked with locks it: later calls throw ``/CofferPlatform/StoreError/Kind/closed``.
  ///
  /// - Parameters:
  ///   - id: the slot.
  ///   - shown: all slots that somebody was shown before; nil where one that was added since stays too.
  ///   - progress: called now and then with the number of records sealed anew and their total.
  /// - Throws: `StoreError` `.notFound`, `.lastSlot`, and what ``rotate(only:shown:progress:)`` throws.
  @discardableResult
  public borrowing func removeSlot(
    _ id: SlotSummary.ID, shown: [SlotSummary.ID]? = nil, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> SlotReport {
    try changingKey { (vault) throws(StoreError) in
      let slot = try vault.slots.slot(id)
      var plan = SlotPlan()
      plan.expected[slot.id] = slot.frame.publicKey
      plan.shown = shown.map { Set($0) }
      plan.dropped = [slot.id]
      let report = try vault.rotate(plan, progress)
      return (vault.followSlots(), report)
    }
  }

  /// Gives the vault a new key, seals every record under it, and seals it to all slots or to those in `only`; what opens them is
  /// not needed. Other processes that have the vault open go on without asking, unless their slot is left out.
  ///
  /// Whoever once could read the vault's memory knows nothing of what it holds from now on. Whoever could write may have added a
  /// slot: look at ``slots()`` first, and give those that you saw as `shown`, or name in `only` those that you know.
  ///
  /// One transaction: interrupted at any point, it leaves the vault as it was or as it will be. Afterwards the file is rewritten,
  /// so that nothing is left in it that the old key opens; where another program keeps reading it, a later write does that.
  ///
  /// - Parameters:
  ///   - only: the slots that go on opening the vault; nil for all of them, also one that another program adds meanwhile.
  ///   - shown: all slots that somebody was shown before; nil where nobody was.
  ///   - progress: called now and then with the number of records sealed anew and their total.
  /// - Throws: `StoreError` `.notFound`, `.conflict` (other slots than those of `shown`, or one of `only` changed meanwhile),
  ///   `.lastSlot` (no slot given), `.tampered` (also for what only ``verify(progress:)`` would notice), `.busy`, `.noSpace`;
  ///   nothing has changed then, unless it is `.outcomeUnknown`. `.damaged` also when the key was changed, and damaged pages keep
  ///   what the old one opens in the file: the message says so.
  @discardableResult
  public borrowing func rotate(
    only: [SlotSummary.ID]? = nil, shown: [SlotSummary.ID]? = nil, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> SlotReport {
    try changingKey { (vault) throws(StoreError) in
      var plan = SlotPlan()
      if let only {
        for id in only {
          let slot = try vault.slots.slot(id)
          plan.expected[slot.id] = slot.frame.publicKey
        }
        plan.only = Set(plan.expected.keys)
      }
      plan.shown = shown.map { Set($0) }
      let report = try vault.rotate(plan, progress)
      return (vault.followSlots(), report)
    }
  }

  /// Gives a passphrase slot, the one in use unless `slot` names another, a new secret: a passphrase, or a passphrase and a key
  /// file. The old passphrase is not asked for, so that a recovery code can replace one that was forgotten.
  ///
  /// Other processes that were unlocked with this slot are locked; those with other slots go on.
  ///
  /// - Parameters:
  ///   - credentials: the new secret.
  ///   - slot: the slot; nil for the one in use.
  ///   - cost: the Argon2id cost, at least the vault's floor; nil measures this machine.
  ///   - key: whether the vault gets a new key too.
  ///   - progress: called now and then with the number of records sealed anew and their total.
  /// - Throws: `StoreError` `.notFound`, `.unfitSecret` (the slot, or the new secret, has no passphrase; a cost below the floor),
  ///   `.kdfMemory`, and what ``rotate(only:shown:progress:)`` throws; nothing has changed then, unless it is
  ///   `.outcomeUnknown`.
  @discardableResult
  public borrowing func changePassphrase(
    to credentials: consuming Credentials, ofSlot slot: SlotSummary.ID? = nil, cost: PassphraseCost? = nil,
    key: KeyChange = .renewed, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> SlotReport {
    var given = Optional(credentials)
    return try changingKey { (vault) throws(StoreError) in
      let inputs = try SlotInputs(given.take() ?? Credentials())
      var plan = try vault.slots.replacement(of: slot, by: inputs, cost: cost)
      let report: SlotReport
      switch key {
      case .renewed: report = try vault.rotate(plan, progress)
      case .kept:
        try vault.changeSlots(plan, log: .slotChanged, vault.slots.slot(slot).id, scrubs: true)
        report = SlotReport(slots: vault.slots.summaries, removed: [])
      }
      return (vault.followSlots(plan.added.take()), report)
    }
  }

  /// What becomes of the vault's key when a passphrase changes.
  public enum KeyChange: Sendable {
    /// A new key: an old passphrase with an old copy of the file opens no later content.
    case renewed
    /// The same key. Quick in a large vault, and enough when nobody knows the old passphrase: with it, an old copy of the file
    /// gives away the key that is still in use.
    case kept
  }

  /// Runs `body` over the vault as it is now; locks the vault when `body` says that its slot is gone.
  private borrowing func changingKey(
    _ body: (OpenVault) throws(StoreError) -> (Bool, SlotReport)
  ) throws(StoreError) -> SlotReport {
    let ((goesOn, report), remainder) = try core.refreshed { (vault) throws(StoreError) in
      (try body(vault), vault.oldBytes.unscrubbed(vault.view.place.description))
    }
    if !goesOn { core.close() }
    if let remainder { throw remainder }
    return report
  }
}
