internal import CofferPlatform
internal import CofferVaultFormat

/// The slots of this vault and of a head, joined by id. A change that only one side made since the base is taken.
struct SlotJoin {
  private typealias Found = KnownHeader.Joint

  /// Ascending by id.
  private(set) var slots: [KnownHeader.Joint] = []
  private(set) var changes: [SlotChange] = []
  /// Whether the other key is sealed to a slot that was removed here.
  private(set) var needsNewKey = false
  private let ours: VerifiedView, theirs: VerifiedView
  /// Nil without a base, and so nothing is known of the slots before.
  private let base: [RecordDigest: MergeBase.Row]?
  private let key: MergeKey
  private let isOtherKey: Bool, isTaken: Bool

  /// - Parameters:
  ///   - theirs: a vault under the key of `ours`, or one that this vault follows.
  ///   - isTaken: whether its key comes from another line, which a person chose.
  init(
    _ ours: VerifiedView, _ theirs: VerifiedView, since base: MergeBase?, _ key: MergeKey, isTaken: Bool
  ) throws(StoreError) {
    (self.ours, self.theirs, self.key, self.isTaken) = (ours, theirs, key, isTaken)
    isOtherKey = ours.keys.epochMark != theirs.keys.epochMark
    self.base = base.map { Dictionary($0.slots.map { ($0.line, $0) }) { first, _ in first } }
    let own = Found.all(ours, isOurs: true), other = Found.all(theirs, isOurs: false)
    // One recipient may have got a slot on both sides: a vault has one for each public key.
    var known: Set<PublicKey32> = []
    for id in Set(own.keys).union(other.keys).sorted() {
      guard var found = try joined(id, own[id], other[id]), known.insert(found.slot.frame.publicKey).inserted else { continue }
      found.label = label(id, own[id], other[id]) ?? found.label
      slots.append(found)
      note(own[id], found)
    }
  }

  /// Whether the joint header is that of a side.
  func isHeader(of view: VerifiedView, isOurs: Bool) -> Bool {
    guard !needsNewKey, view.headerBody.floor == .max(ours.headerBody.floor, theirs.headerBody.floor),
      slots.count == view.header.slots.count
    else { return false }
    return zip(slots, zip(view.header.slots, view.headerBody.labels)).allSatisfy { joint, found in
      joint.slot.hasSecret(of: found.0) && joint.label == found.1
    }
  }

  /// The changes for the log, which tells of slots of this vault.
  var events: [LogEntry] {
    let known = Set(ours.header.slots.map(\.id)), left = Set(slots.map(\.slot.id))
    return changes.compactMap { change in
      guard let id = SlotID(change.slot.id.bytes) else { return nil }
      let event: LogEntry.Event
      switch (known.contains(id), left.contains(id)) {
      case (true, true): event = .slotChanged
      case (true, false): event = .slotRemoved
      case (false, true): event = .slotAdded
      case (false, false): return nil
      }
      return LogEntry(event, by: .current, time: ours.now, detail: id.bytes)
    }
  }

  // MARK: One slot

  /// Nil for a slot that is removed.
  private mutating func joined(_ id: SlotID, _ own: Found?, _ other: Found?) throws(StoreError) -> Found? {
    let before = before(id)
    switch (own, other) {
    case (let own?, let other?):
      // A box stays as it is, so that all machines have the same one.
      if own.slot.hasSecret(of: other.slot) { return other }
      if isUnchanged(own, since: before) { return other }
      if isUnchanged(other, since: before) { return own }
      // A machine that found the slot too cheap gave it another cost.
      if own.slot.frame.publicKey == other.slot.frame.publicKey { return own.slot.isStronger(than: other.slot) ? own : other }
      // A rotation elsewhere is later than anything that is unknown here.
      if isTaken || (isOtherKey && base == nil) { return other }
      throw conflict(own, other)
    case (let own?, nil):
      // Under another key it may have been removed: without a base, nobody knows.
      if base == nil ? !isOtherKey : before == nil { return own }
      changes.append(SlotChange(own, isTaken && !isUnchanged(own, since: before) ? .undone : .removed))
      return nil
    case (nil, let other?):
      guard before != nil else { return other }
      // The key there is sealed to it.
      needsNewKey = true
      changes.append(SlotChange(other, .removedAgain))
      return nil
    case (nil, nil): return nil
    }
  }

  private func before(_ id: SlotID) -> MergeBase.Row? { base?[SealedSlot.digest(of: id, key.bytes)] }

  private func isUnchanged(_ found: Found, since before: MergeBase.Row?) -> Bool {
    before.map { $0.write == found.slot.secretDigest(key.bytes) } ?? false
  }

  /// A label harms nothing: of two new ones, the same one is taken on all machines.
  private func label(_ id: SlotID, _ own: Found?, _ other: Found?) -> String? {
    guard let own = own?.label, let other = other?.label, own != other else { return nil }
    let before = before(id)?.form
    if before == SealedSlot.digest(ofLabel: own, key.bytes) { return other }
    if before == SealedSlot.digest(ofLabel: other, key.bytes) { return own }
    return max(own, other)
  }

  private mutating func note(_ own: Found?, _ found: Found) {
    guard let own else { return changes.append(SlotChange(found, .added)) }
    guard !own.slot.hasSecret(of: found.slot) || own.label != found.label else { return }
    let isUndone = isTaken && !isUnchanged(own, since: before(own.slot.id))
    changes.append(SlotChange(found, isUndone ? .undone : .changed))
  }

  private func conflict(_ own: Found, _ other: Found) -> StoreError {
    let label = own.label.isEmpty ? other.label : own.label
    return StoreError(
      .conflict, "slot \(own.slot.summary.id) \"\(label)\" got another secret here, and yet another one there",
      place: theirs.place.description,
      cure: "remove the slot in one of the two vaults, and add a new one with the right secret; nothing was changed")
  }
}

extension SlotChange {
  fileprivate init(_ found: KnownHeader.Joint, _ kind: Kind) {
    self.init(kind: kind, slot: found.slot.summary, label: found.label)
  }
}
