internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

// Commits that change more than items.
extension OpenVault {
  func add(_ plan: consuming SlotPlan, label: String) throws(StoreError) -> SlotSummary {
    guard let id = plan.addedID else { throw StoredParts.missing("new slot", view.database) }
    plan.labels[id] = label
    try changeSlots(plan, log: .slotAdded, id)
    return try slots.slot(SlotSummary.ID(bytes: id.bytes)).summary
  }

  /// - Parameter scrubs: whether the old header must leave the file, because someone who should no longer open it still can.
  func changeSlots(
    _ plan: borrowing SlotPlan, log event: LogEntry.Event, _ id: SlotID, scrubs: Bool = false
  ) throws(StoreError) {
    try changingHeader { (change) throws(StoreError) in
      // A key of another epoch, sealed to a slot, would make the slot open nothing.
      try view.bringSlotUp()
      let next = try slots.nextHeader(
        plan, key: view.slot.key, view.keys, rotated: view.headerBody.rotated)
      try view.replaceHeader(with: next)
      if scrubs { view.setOldBytesRemain(true) }
      change.events.append(LogEntry(event, by: .current, time: view.now, detail: id.bytes))
      if plan.floor != nil { change.events.append(LogEntry(.policyChanged, by: .current, time: view.now)) }
    }
  }

  func rotate(_ plan: borrowing SlotPlan, _ progress: (Int, Int) -> Void) throws(StoreError) -> SlotReport {
    let rotation = Rotation(view: view, items: items, slots: slots, log: log)
    var before: [VaultStatus.Slot] = []
    try view.database.working(.rewriting) { () throws(StoreError) in
      try changingHeader { (change) throws(StoreError) in
        before = slots.summaries
        try rotation.run(plan, &change, progress)
      }
    }
    let after = slots.summaries
    return SlotReport(slots: after, removed: before.filter { slot in !after.contains { $0.summary.id == slot.summary.id } })
  }

  /// Raises the cost of the slot that opened the vault, once, after a write, which shows that the file is writable: reads
  /// never write.
  ///
  /// Never throws: the caller's write is committed.
  func raiseCostOnce() {
    do throws(StoreError) {
      guard let plan = try slots.raisedOnce() else { return }
      // The old box, which a guess opens at the old cost, must leave the file.
      try changeSlots(plan, log: .slotChanged, view.slot.id, scrubs: true)
      _ = followSlots()
    } catch {
      VaultNotices.say("the passphrase slot costs less to guess than it should, and could not be raised: \(error.facts)")
    }
  }

  /// Never throws, because an error would deny the committed change.
  ///
  /// - Parameter replacement: the slot's replacement, if any.
  /// - Returns: false if the slot is gone or does not open here, and this vault must be locked.
  func followSlots(_ replacement: consuming NewSlot? = nil) -> Bool {
    do throws(StoreError) { return try view.reopenSlot(replacement) } catch {
      VaultNotices.say("the change was made, but the vault is locked, because its slot could not be opened again: \(error.facts)")
      return false
    }
  }

  /// After a failure the next operation rereads the file.
  private func changingHeader(_ body: (inout Change) throws(StoreError) -> Void) throws(StoreError) {
    do { try write { (_, change) throws(StoreError) in try body(&change) } } catch {
      view.forgetHeader()
      throw error
    }
  }

  /// Commits this restored or rebuilt state under a new key of `epoch`. Its generation is above all known here, so it does
  /// not look like an old file.
  func commit(
    _ event: LogEntry.Event, above known: UInt64, as replica: ReplicaID, after previous: ReplicaID?, epoch: UInt64,
    header: (borrowing VaultKey, borrowing Subkeys) throws(StoreError) -> VaultHeader
  ) throws(StoreError) {
    let rotation = Rotation(view: view, items: items, slots: slots, log: log)
    try changingHeader { (change) throws(StoreError) in
      try rotation.run(to: epoch, &change, { _, _ in }, header: header)
      change.events.append(LogEntry(event, by: .current, time: view.now))
      change.leastGeneration = try view.checked { () throws(FormatError) in try FileCounter.next(known, "generation") }
      change.replica = replica
      change.previousReplica = previous
    }
  }
}
