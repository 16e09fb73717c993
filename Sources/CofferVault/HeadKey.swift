internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials

/// A header that a merge brought, and the slot that opens it.
///
/// Header, rows, log and slots change in one transaction: a process that dies leaves the vault under the one key or the other,
/// and the next sync begins again.
final class HeadKey {
  fileprivate let slot: OpenSlot
  /// Whether the key is of another line than the one before.
  fileprivate let isTaken: Bool

  fileprivate init(_ slot: consuming OpenSlot, isTaken: Bool) {
    self.slot = slot
    self.isTaken = isTaken
  }
}

extension HeadMerge {
  /// Joins the slots, and follows the key of `theirs` if it is another one.
  func joinSlots(
    _ theirs: OpenVault, since base: MergeBase?, isTaken: Bool, _ change: inout Change, _ followed: inout HeadKey?
  ) throws(StoreError) -> [SlotChange] {
    let (view, other) = (vault.view, theirs.view)
    let isFollowed = other.keys.epochMark != view.keys.epochMark
    // An earlier merge may have given this vault a key after that one. The head's machine follows, and puts its slots again.
    guard other.header.epoch >= view.header.epoch else { return [] }
    guard isFollowed || other.headerDigest != view.headerDigest else { return [] }
    let join = try SlotJoin(view, other, since: base, key, isTaken: isTaken)
    if !isFollowed, join.isHeader(of: view, isOurs: true) {
      // Of equal headers, the same one stays on all machines, or these would put their own for ever.
      let isTheirs =
        join.isHeader(of: other, isOurs: false) && other.headerDigest.bytes.lexicographicallyPrecedes(view.headerDigest.bytes)
      guard isTheirs else { return [] }
    }
    let known = isTaken ? view.invitedAnchors : view.lineAnchors
    _ = try view.checked { () throws(FormatError) in try other.header.openBody(other.keys, proving: known) }
    let events = join.events
    if isFollowed || join.needsNewKey {
      precondition(change.isEmpty, "rows of an earlier merge are under the former key")
      guard let slot = try other.slot.copied(in: other.header) else { throw StoredParts.missing("slot", other.database) }
      followed = HeadKey(slot, isTaken: isTaken)
      try reseal(other, join, &change)
    } else {
      guard let slot = try view.slot.copied(in: view.header) else { throw StoredParts.missing("slot", view.database) }
      followed = HeadKey(slot, isTaken: false)
      try view.replaceHeader(with: header(other, join, key: other.slot.key, other.keys))
    }
    change.events.insert(contentsOf: events, at: 0)
    return join.changes
  }

  private func reseal(_ other: VerifiedView, _ join: SlotJoin, _ change: inout Change) throws(StoreError) {
    let view = vault.view
    let rotation = Rotation(view: view, items: vault.items, slots: vault.slots, log: vault.log)
    guard join.needsNewKey else {
      let (salt, epoch) = (other.header.vault, other.header.epoch)
      let keys = try view.checked { () throws(FormatError) in try Subkeys(of: other.slot.key, vault: salt, epoch: epoch) }
      return try rotation.run(to: header(other, join, key: other.slot.key, keys), keys, taking: other, &change) { _, _ in }
    }
    let newest = max(other.header.epoch, view.header.epoch)
    let epoch = try view.checked { () throws(FormatError) in try FileCounter.next(newest, "key epoch") }
    try rotation.run(to: epoch, &change) { _, _ in
    } header: { (key, keys) throws(StoreError) in
      try KnownHeader.joint(join.slots, view, other, key: key, keys, rotated: view.now)
    }
  }

  /// That of the head as it is, unless this vault has slots of its own.
  private func header(
    _ other: VerifiedView, _ join: SlotJoin, key: borrowing VaultKey, _ keys: borrowing Subkeys
  ) throws(StoreError) -> VaultHeader {
    guard !join.isHeader(of: other, isOurs: false) else { return other.header }
    return try KnownHeader.joint(join.slots, vault.view, other, key: key, keys, rotated: other.headerBody.rotated)
  }
}

extension HeadMerge {
  /// Runs `body` in one write transaction of `vault`.
  static func commit<Result>(
    to vault: OpenVault, _ key: MergeKey, keptUntil date: Date?, _ body: (inout HeadMerge) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var followed: HeadKey?
    let result: Result
    do throws(StoreError) {
      result = try vault.write { (vault, change) throws(StoreError) in
        var merge = HeadMerge(vault: vault, key: key, keptUntil: date, change: change)
        defer { (change, followed) = (merge.change, merge.followed) }
        let result = try body(&merge)
        // Right before the commit: a process that dies after it must not find its vault refused by the pin.
        if merge.followed?.isTaken == true { try vault.view.pins?.expect(vault.view.keys.epochMark) }
        return result
      }
    } catch {
      if followed != nil {
        vault.view.forgetHeader()
        if error.kind != .outcomeUnknown { vault.view.pins?.withdraw() }
      }
      throw error
    }
    if let followed { vault.settle(followed) }
    return result
  }

  /// The same up to the commit, which is not made.
  static func rehearse(
    in vault: OpenVault, _ key: MergeKey, keptUntil date: Date?, _ body: (inout HeadMerge) throws(StoreError) -> Void
  ) throws(StoreError) {
    var followed: HeadKey?
    // Nothing is known of the header until it is read again.
    defer { if followed != nil { vault.view.forgetHeader() } }
    try vault.rehearse { (vault, change) throws(StoreError) in
      var merge = HeadMerge(vault: vault, key: key, keptUntil: date, change: change)
      defer { (change, followed) = (merge.change, merge.followed) }
      try body(&merge)
    }
  }
}

extension OpenVault {
  /// After the commit. Never throws, because an error would deny the committed change.
  fileprivate func settle(_ followed: HeadKey) {
    view.pins?.isMade()
    do throws(StoreError) { try view.take(followed.slot, anew: followed.isTaken) } catch {
      VaultNotices.say("the change was made, but its slot could not be opened again: \(error.facts)")
    }
  }
}
