public import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
public import FoundationEssentials

extension UnlockedVault {
  /// The slots with their labels, by id.
  public borrowing func slots() throws(StoreError) -> [VaultStatus.Slot] {
    try core.read { (vault) throws(StoreError) in
      vault.slots.summaries
    }
  }

  /// Adds a slot for a passphrase, a passphrase and a key file together, a generated key file, a recovery code, or an
  /// identity. The vault's key does not change.
  ///
  /// - Parameters:
  ///   - credentials: what will open the slot.
  ///   - label: a name for people, at most 64 bytes.
  ///   - cost: the Argon2id cost of a passphrase, at least the vault's floor; nil measures this machine.
  /// - Returns: the new slot.
  /// - Throws: `StoreError` `.tooLarge` (16 slots, or the label), `.unfitSecret` (a cost below the floor, or a key file
  ///   alone that was not generated), `.kdfMemory`, `.busy`, `.noSpace`. Only `.outcomeUnknown` may leave a change.
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

  /// Adds a slot that opens with the identity of `recipient`, which this process does not learn.
  ///
  /// - Parameters:
  ///   - recipient: the member's public key.
  ///   - label: a name for people, with ` until 2027-02-28` at most 64 bytes.
  ///   - lastDay: a moment of the member's last day, in UTC; nil for none. It becomes the end of the label.
  /// - Throws: the errors of ``addSlot(_:label:cost:)``, and `.damaged` if the recipient is no public key.
  @discardableResult
  public borrowing func addSlot(
    _ recipient: Recipient, label: String = "", lastDay: Date? = nil
  ) throws(StoreError) -> SlotSummary {
    try core.refreshed { (vault) throws(StoreError) in
      var plan = SlotPlan()
      plan.added = NewSlot.recipient(recipient.key)
      return try vault.add(plan, label: VaultStatus.Slot.label(label, lastDay: lastDay))
    }
  }

  /// Gives a slot another label of at most 64 bytes.
  ///
  /// - Throws: `StoreError` `.notFound`, `.tooLarge`, `.busy`, `.noSpace`.
  public borrowing func relabelSlot(_ id: SlotSummary.ID, to label: String) throws(StoreError) {
    try core.refreshed { (vault) throws(StoreError) in
      var plan = SlotPlan()
      let slot = try plan.expect(id, in: vault)
      plan.labels[slot] = label
      try vault.changeSlots(plan, log: .slotChanged, slot)
    }
  }

  /// Removes a slot by giving the vault a new key that is not sealed to it. The slot's secret opens nothing in the file from
  /// now on, but still opens older copies.
  ///
  /// Removing the slot that unlocked this vault locks it: later calls throw ``/CofferPlatform/StoreError/Kind/closed``.
  ///
  /// - Parameters:
  ///   - id: the slot.
  ///   - shown: all slots a person reviewed; nil also keeps slots added since.
  ///   - progress: receives the number of resealed records and the total.
  /// - Throws: `StoreError` `.notFound`, `.lastSlot`, and the errors of ``rotate(only:without:shown:progress:)``.
  @discardableResult
  public borrowing func removeSlot(
    _ id: SlotSummary.ID, shown: [SlotSummary.ID]? = nil, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> SlotReport {
    try rotate(without: [id], shown: shown, progress: progress)
  }

  /// Gives the vault a new key, reseals every record under it, and seals it to all slots or to those in `only`, without
  /// their secrets. Other processes with the open vault continue unless their slot is left out.
  ///
  /// A reader of the vault's past memory learns nothing of its later content. An attacker with write access may have added a
  /// slot: review ``slots()`` first, and pass the reviewed ones as `shown` or the known ones as `only`.
  ///
  /// An interruption leaves the vault as before or as after. The file is then rewritten, so the old key opens nothing in it;
  /// if another program keeps reading it, a later write does that.
  ///
  /// - Parameters:
  ///   - only: the slots that keep opening the vault; nil for all, including one added meanwhile.
  ///   - without: slots that no longer open it, also if `only` names them.
  ///   - shown: all slots a person reviewed; nil without a review.
  ///   - progress: receives the number of resealed records and the total.
  /// - Throws: `StoreError` `.notFound`, `.conflict` (other slots than those of `shown`, or one of `only` changed
  ///   meanwhile), `.lastSlot` (no slot given), `.tampered` (also for what otherwise only ``verify(progress:)`` notices),
  ///   `.busy`, `.noSpace`. Only `.outcomeUnknown` may leave a change, and `.damaged` if its message says that damaged pages
  ///   keep content under the old key.
  @discardableResult
  public borrowing func rotate(
    only: [SlotSummary.ID]? = nil, without: [SlotSummary.ID] = [], shown: [SlotSummary.ID]? = nil,
    progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> SlotReport {
    try changingKey { (vault) throws(StoreError) in
      var plan = SlotPlan()
      for id in without {
        let slot = try plan.expect(id, in: vault)
        plan.dropped.insert(slot)
      }
      plan.only = only == nil ? nil : []
      for id in only ?? [] {
        let slot = try plan.expect(id, in: vault)
        plan.only?.insert(slot)
      }
      plan.shown = shown.map { Set($0) }
      let report = try vault.rotate(plan, progress)
      return (vault.followSlots(), report)
    }
  }

  /// Gives a passphrase slot a new secret: a passphrase, or a passphrase and a key file. The old passphrase is not needed,
  /// so a recovery code can replace a forgotten one.
  ///
  /// Locks other processes that were unlocked with this slot; those with other slots continue.
  ///
  /// - Parameters:
  ///   - credentials: the new secret.
  ///   - slot: the slot; nil for the one in use.
  ///   - cost: the Argon2id cost, at least the vault's floor; nil measures this machine.
  ///   - key: whether the vault gets a new key too.
  ///   - progress: receives the number of resealed records and the total.
  /// - Throws: `StoreError` `.notFound`, `.unfitSecret` (the slot or the new secret has no passphrase, or a cost below the
  ///   floor), `.kdfMemory`, and the errors of ``rotate(only:without:shown:progress:)``. Only `.outcomeUnknown` may leave a
  ///   change.
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

  /// The treatment of the vault's key when a passphrase changes.
  public enum KeyChange: Sendable {
    /// A new key: an old passphrase with an old copy of the file opens no later content.
    case renewed
    /// The same key. Fast in a large vault, and enough if nobody knows the old passphrase: with it, an old copy of the file
    /// reveals the key still in use.
    case kept
  }

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

extension SlotPlan {
  /// Adds the slot to ``expected``.
  fileprivate mutating func expect(_ id: SlotSummary.ID, in vault: OpenVault) throws(StoreError) -> SlotID {
    let slot = try vault.slots.slot(id)
    expected[slot.id] = slot.frame.publicKey
    return slot.id
  }
}
