internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension OpenVault {
  /// The slot `id`; the one in use where none is given.
  ///
  /// - Throws: `.notFound`.
  func slot(_ id: SlotSummary.ID?) throws(StoreError) -> SealedSlot {
    let wanted = id.map(\.bytes) ?? slot.id.bytes
    guard let found = header.slots.first(where: { $0.id.bytes == wanted }) else {
      throw StoreError(.notFound, "the vault has no such slot", place: path.string, cure: "list the slots to see their ids")
    }
    return found
  }

  /// Commits a change of slots that leaves the vault's key as it is.
  ///
  /// - Parameter scrubs: whether the header as it was can still be opened by who should no longer, and must leave the file.
  func changeSlots(
    _ plan: borrowing SlotPlan, log event: LogEntry.Event, _ id: SlotID, scrubs: Bool = false
  ) throws(StoreError) {
    try changingHeader { (change) throws(StoreError) in
      // A key of another epoch, sealed to a slot, would make the slot open nothing.
      if slot.epoch != header.epoch { try slot.reopen(in: header, path: path.string) }
      let next = try nextHeader(plan, epoch: header.epoch, key: slot.key, keys, rotated: headerBody.rotated)
      try replaceHeader(with: next)
      if scrubs { state.scrub = true }
      change.events.append(entry(event, about: id.bytes))
      if plan.floor != nil { change.events.append(entry(.policyChanged, about: [])) }
    }
  }

  /// Goes on with the slot that the vault was unlocked with, as the new header has it.
  ///
  /// Never an error: the change is committed, and one would say that it was not made.
  ///
  /// - Parameter replacement: the new slot, where it took the place of that one.
  /// - Returns: false when the slot is gone, or cannot be opened here, and this vault is to be locked.
  func followSlots(_ replacement: consuming NewSlot? = nil) -> Bool {
    do throws(StoreError) { return try reopenSlot(replacement) } catch {
      VaultNotices.say("the change is made, and the vault is locked: its slot could not be opened again: \(error.facts)")
      return false
    }
  }

  private func reopenSlot(_ replacement: consuming NewSlot?) throws(StoreError) -> Bool {
    guard header.slots.contains(where: { $0.id == slot.id }) else { return false }
    if let replacement, replacement.id == slot.id {
      let opened: OpenSlot?
      do { opened = try replacement.opened(in: header) } catch { throw error.storeError(place: path.string) }
      guard let opened else { return false }
      slot = opened
      return true
    }
    try slot.reopen(in: header, path: path.string)
    return true
  }

  /// Runs a write transaction that may replace the header. Whatever a failure leaves in this vault's memory, the file is read
  /// again before the next operation.
  func changingHeader(_ body: (inout Change) throws(StoreError) -> Void) throws(StoreError) {
    do { try write(body) } catch {
      headerDigest = .zero
      throw error
    }
  }

  /// The header with the slots of `plan`. In the present epoch the slots that stay keep their boxes; in a new one its key is
  /// sealed to each of them, for which the sealed header has what is needed.
  ///
  /// - Throws: `.refused` when no slot would remain, `.tooLarge` beyond 16 slots or 64 bytes of a label.
  func nextHeader(
    _ plan: borrowing SlotPlan, epoch: UInt64, key: borrowing VaultKey, _ keys: borrowing Subkeys, rotated: UInt64
  ) throws(StoreError) -> VaultHeader {
    for id in plan.expected { _ = try slot(SlotSummary.ID(bytes: id.bytes)) }
    var slots: [(slot: SealedSlot, label: String, before: Int?)] = []
    var replaced = ""
    for (index, slot) in header.slots.enumerated() where plan.keeps(slot.id) {
      let label = headerBody.labels[index]
      guard !plan.replaces(slot.id) else {
        replaced = label
        continue
      }
      let sealed = epoch == header.epoch ? slot : try resealed(slot, index, key, epoch)
      slots.append((sealed, plan.labels[slot.id] ?? label, index))
    }
    switch plan.added {
    case .some(let added):
      let sealed = try checked { () throws(FormatError) in try added.sealed(key, epoch: epoch, place: header.place) }
      slots.append((sealed, plan.labels[added.id] ?? replaced, nil))
    case .none: break
    }
    try check(slots.count, labels: slots.map(\.label))
    slots.sort { $0.slot.id < $1.slot.id }
    return try checked { () throws(FormatError) in
      let body = try HeaderBody(
        created: headerBody.created, rotated: rotated, floor: plan.floor ?? headerBody.floor, labels: slots.map(\.label)
      ) { (index, out) throws(FormatError) in
        if let before = slots[index].before {
          headerBody.withMix(before) { out.copyMemory(from: $0) }
        } else {
          plan.writeAddedMix(to: out)
        }
      }
      return try VaultHeader(vault: header.vault, epoch: epoch, slots: slots.map(\.slot), body: body, keys: keys)
    }
  }

  private func resealed(
    _ slot: SealedSlot, _ index: Int, _ key: borrowing VaultKey, _ epoch: UInt64
  ) throws(StoreError) -> SealedSlot {
    try headerBody.withMix(index) { (mix) throws(StoreError) in
      do throws(FormatError) { return try slot.resealed(key, epoch: epoch, place: header.place, mix: mix) } catch {
        throw error.storeError(place: path.string)
      }
    }
  }

  private func check(_ count: Int, labels: [String]) throws(StoreError) {
    guard count > 0 else {
      throw StoreError(
        .refused, "no slot would remain, and nothing would open the vault", place: path.string, cure: "add another slot first")
    }
    let most = VaultHeader.slotCounts.upperBound
    guard count <= most else {
      throw StoreError(
        .tooLarge(limit: most), "the vault has \(most) slots, and no room for another", place: path.string,
        cure: "remove a slot first")
    }
    for label in labels where label.utf8.count > HeaderBody.longestLabel {
      throw StoreError(
        .tooLarge(limit: HeaderBody.longestLabel), "a slot's label of \(label.utf8.count) bytes", place: path.string,
        cure: "use at most \(HeaderBody.longestLabel) bytes")
    }
  }

  /// Writes both copies of the header, and goes on with it. The state, which is bound to it, follows in the same transaction.
  func replaceHeader(with next: VaultHeader) throws(StoreError) {
    let encoded = next.encoded()
    try encoded.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
      try database.putHeader(.first, bytes)
      try database.putHeader(.second, bytes)
    }
    headerBody = try checked { () throws(FormatError) in try next.openBody(keys) }
    header = next
    headerDigest = PlainHash.digest(encoded)
  }

  /// A log entry about a slot or an epoch, by whoever asked for the change, now.
  func entry(_ event: LogEntry.Event, about detail: [UInt8]) -> LogEntry {
    LogEntry(event, by: .current, time: now, detail: detail)
  }
}
