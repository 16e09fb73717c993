internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials

/// An opened header with a proven key, and everything needed for the next header. The rest of its vault may be gone.
struct KnownHeader: ~Copyable {
  let header: VaultHeader
  let digest: Digest32
  private let body: HeaderBody
  let keys: Subkeys
  private let place: VaultPlace

  /// - Throws: `.tampered` if header and key do not belong together; the refusal of an anchor that does not hold.
  init(
    _ header: VaultHeader, _ digest: Digest32, slot: borrowing OpenSlot, proving anchors: [Anchor], place: VaultPlace
  ) throws(StoreError) {
    let keys = try StoredParts.checked(place) { () throws(FormatError) in
      try Subkeys(of: slot.key, vault: header.vault, epoch: header.epoch)
    }
    body = try StoredParts.checked(place) { () throws(FormatError) in try header.openBody(keys, proving: anchors) }
    self.keys = keys
    self.header = header
    self.digest = digest
    self.place = place
  }

  var rotated: Date { Milliseconds.date(body.rotated) }

  func summaries(inUse: SlotID?) -> [VaultStatus.Slot] {
    zip(header.slots, body.labels).map { VaultStatus.Slot(summary: $0.summary, label: $1, isInUse: $0.id == inUse) }
  }

  func comes(from anchors: [Anchor]) throws(StoreError) -> Bool { try refusal(by: anchors) == nil }

  /// Nil if the key descends from all `anchors`.
  func refusal(by anchors: [Anchor]) throws(StoreError) -> Anchor.Refusal? {
    try header.refusal(keys, by: anchors, at: place.description)
  }

  func anchor(_ source: Anchor.Source) -> Anchor { Anchor(vault: header.vault, key: keys.epochMark, source: source) }

  /// The header with the same slots under the key of a later epoch.
  borrowing func next(key: borrowing VaultKey, _ nextKeys: borrowing Subkeys, rotated: UInt64) throws(StoreError) -> VaultHeader {
    let plan = SlotPlan()
    return try Self.next(after: header, body, keys, plan, key: key, nextKeys, rotated: rotated, place: place)
  }

  func state(of database: any VaultRows) throws(StoreError) -> VaultState? {
    do throws(StoreError) {
      return try database.read { () throws(StoreError) in try StoredParts.readState(database, header, digest, keys) }
    } catch {
      guard error.kind == .damaged || error.kind == .tampered else { throw error }
      return nil
    }
  }
}

extension KnownHeader {
  private typealias Next = (slot: SealedSlot, label: String, before: Int?)

  /// The header after `header`, with the slots of `plan`. Within an epoch, the remaining slots keep their boxes. In the next
  /// epoch, of `nextKeys`, the key is sealed to each of them with data from the sealed part, which also lists the ended
  /// epoch.
  ///
  /// - Throws: `.conflict` if the slots are not those that `plan` expects, `.lastSlot` if no slot would remain, `.tooLarge`
  ///   beyond 16 slots, 240 recipients or 64 bytes of a label, `.alreadyExists` for a recipient with a slot.
  static func next(
    after header: VaultHeader, _ body: borrowing HeaderBody, _ keys: borrowing Subkeys, _ plan: borrowing SlotPlan,
    key: borrowing VaultKey, _ nextKeys: borrowing Subkeys, rotated: UInt64, place: VaultPlace
  ) throws(StoreError) -> VaultHeader {
    let found = Set(header.slots.map(\.summary.id))
    for (id, key) in plan.expected {
      guard let slot = header.slots.first(where: { $0.id == id }) else { throw conflict("a slot was removed meanwhile", place) }
      guard slot.frame.publicKey == key else { throw conflict("the slot was given another secret meanwhile", place) }
    }
    if let shown = plan.shown, shown != found {
      throw conflict(found.isSubset(of: shown) ? "a slot was removed meanwhile" : "a slot was added meanwhile", place)
    }
    let slots = try StoredParts.checked(place) { () throws(FormatError) in
      try nextSlots(after: header, body, plan, key: key, nextKeys)
    }
    let labels = slots.map(\.label)
    try SlotLimits.check(slots.map(\.slot.frame), labels: labels, place)
    return try StoredParts.checked(place) { () throws(FormatError) in
      let next = try HeaderBody(
        created: body.created, rotated: rotated, floor: plan.floor ?? body.floor, labels: labels
      ) { (index, out) throws(FormatError) in
        if let before = slots[index].before {
          body.withMix(before) { out.copyMemory(from: $0) }
        } else {
          plan.writeAddedMix(to: out)
        }
      }
      return try header.followed(by: slots.map(\.slot), next, keys, nextKeys)
    }
  }

  /// A slot of one of two headers, with its label in a joint one.
  struct Joint {
    let slot: SealedSlot
    var label: String
    let place: Int
    let isOurs: Bool

    /// Those of a header, by id.
    static func all(_ view: VerifiedView, isOurs: Bool) -> [SlotID: Self] {
      var all: [SlotID: Self] = [:]
      for (place, (slot, label)) in zip(view.header.slots, view.headerBody.labels).enumerated() {
        all[slot.id] = Self(slot: slot, label: label, place: place, isOurs: isOurs)
      }
      return all
    }
  }

  /// The header after that of `theirs` with slots of both. A slot that is sealed another key gets that of `nextKeys`.
  ///
  /// - Parameter slots: ascending by id.
  static func joint(
    _ slots: [Joint], _ ours: VerifiedView, _ theirs: VerifiedView, key: borrowing VaultKey, _ nextKeys: borrowing Subkeys,
    rotated: UInt64
  ) throws(StoreError) -> VaultHeader {
    let place = ours.place
    let labels = slots.map(\.label)
    let sealed = try StoredParts.checked(place) { () throws(FormatError) in
      try slots.map { (slot) throws(FormatError) in
        let side = slot.isOurs ? ours : theirs
        guard side.keys.epochMark != nextKeys.epochMark else { return slot.slot }
        return try side.headerBody.withMix(slot.place) { (mix) throws(FormatError) in
          try slot.slot.resealed(key, epoch: nextKeys.epochMark.epoch, place: side.header.place, mix: mix)
        }
      }
    }
    try SlotLimits.check(sealed.map(\.frame), labels: labels, place)
    return try StoredParts.checked(place) { () throws(FormatError) in
      let next = try HeaderBody(
        created: theirs.headerBody.created, rotated: rotated, floor: .max(ours.headerBody.floor, theirs.headerBody.floor),
        labels: labels
      ) { (index, out) throws(FormatError) in
        let slot = slots[index]
        (slot.isOurs ? ours : theirs).headerBody.withMix(slot.place) { out.copyMemory(from: $0) }
      }
      return try theirs.header.followed(by: sealed, next, theirs.keys, nextKeys)
    }
  }

  private static func conflict(_ what: String, _ place: VaultPlace) -> StoreError {
    StoreError(
      .conflict, what, place: place.description, cure: "look at the slots, then try again; nothing was changed")
  }

  private static func nextSlots(
    after header: VaultHeader, _ body: borrowing HeaderBody, _ plan: borrowing SlotPlan, key: borrowing VaultKey,
    _ nextKeys: borrowing Subkeys
  ) throws(FormatError) -> [Next] {
    let epoch = nextKeys.epochMark.epoch
    var slots: [Next] = []
    var replaced = ""
    for (index, slot) in header.slots.enumerated() where plan.keeps(slot.id) {
      guard !plan.replaces(slot.id) else {
        replaced = body.labels[index]
        continue
      }
      let sealed =
        epoch == header.epoch
        ? slot
        : try body.withMix(index) { (mix) throws(FormatError) in
          try slot.resealed(key, epoch: epoch, place: header.place, mix: mix)
        }
      slots.append((sealed, plan.labels[slot.id] ?? body.labels[index], index))
    }
    switch plan.added {
    case .some(let added):
      let sealed = try added.sealed(key, nextKeys.epochMark, place: header.place)
      slots.append((sealed, plan.labels[added.id] ?? replaced, nil))
    case .none: break
    }
    return slots.sorted { $0.slot.id < $1.slot.id }
  }
}

extension VaultHeader {
  /// The header after this one, which lists this one's epoch if that ends.
  fileprivate func followed(
    by slots: [SealedSlot], _ body: borrowing HeaderBody, _ keys: borrowing Subkeys, _ nextKeys: borrowing Subkeys
  ) throws(FormatError) -> VaultHeader {
    try withNextLineage(keys, isLast: nextKeys.epochMark.epoch != epoch) { (lineage) throws(FormatError) in
      try VaultHeader(slots: slots, body: body, keys: nextKeys, lineage: lineage)
    }
  }
}

private enum SlotLimits {
  static func check(_ frames: [SlotFrame], labels: [String], _ place: VaultPlace) throws(StoreError) {
    guard frames.contains(where: { SlotKind.openable.contains($0.kind) }) else {
      throw StoreError(
        .lastSlot, "no slot would remain that this program can open", place: place.description,
        cure: "add another slot first")
    }
    let owned = frames.count { $0.kind.isOwned }
    try check(frames.count - owned, most: VaultHeader.mostOthers, "recipients", place)
    try check(owned, most: VaultHeader.mostOwned, "slots other than recipients'", place)
    guard Set(frames.map(\.publicKey)).count == frames.count else {
      throw StoreError(
        .alreadyExists, "this recipient has a slot already", place: place.description,
        cure: "list the slots to see whose they are")
    }
    for label in labels where label.utf8.count > HeaderBody.longestLabel {
      throw StoreError(
        .tooLarge(limit: HeaderBody.longestLabel), "the slot's label has \(label.utf8.count) bytes", place: place.description,
        cure: "use at most \(HeaderBody.longestLabel) bytes")
    }
  }

  private static func check(_ count: Int, most: Int, _ what: String, _ place: VaultPlace) throws(StoreError) {
    guard count > most else { return }
    throw StoreError(
      .tooLarge(limit: most), "the vault has \(most) \(what), and no room for another", place: place.description,
      cure: "remove a slot first")
  }
}
