internal import CofferPlatform
internal import CofferVault
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials

/// The secrets that were given for heads, beside those that opened the vault. They are tried on one head, because each trial
/// may cost an Argon2id run, and the slot that they open then opens all heads that have it.
final class HeadSecrets {
  private var credentials: Credentials?
  private(set) var slot: HeadVault.Slot?
  /// The epoch of the head whose slot they opened.
  private var epoch: UInt64 = 0

  init(_ credentials: consuming Credentials?) { self.credentials = credentials }

  func outline(of rows: any VaultRows, by vault: borrowing UnlockedVault) throws(StoreError) -> HeadVault.Outline {
    do throws(StoreError) { return try HeadVault.outline(of: rows, by: vault, with: slot) } catch {
      guard error.kind == .locked, slot == nil, let given = credentials.take() else { throw error }
      (slot, epoch) = (try HeadVault.slot(of: rows, by: vault, with: given), try HeadVault.stated(rows).epoch)
      return try HeadVault.outline(of: rows, by: vault, with: slot)
    }
  }

  /// Whether a head of `epoch` that neither secret opens is one between two changes of a passphrase: the given secret opened a
  /// later one, and proves its key. A public key would prove nothing, as anyone can seal to it.
  func isLater(than epoch: UInt64) -> Bool { epoch < self.epoch && slot?.provesKey == true }
}

extension SyncRound {
  /// The key that this vault has after the sync, and the heads under it.
  struct Choice {
    let own: EpochMark, key: EpochMark
    var heads: [Found] = []
    /// The number of heads under keys that `key` comes from. Their machines put their items again once they have followed.
    var passedOver = 0
    /// Heads under a key of another line, which a person refused.
    var refused: [Found] = []
    /// `key`, if a person chose it, and it does not come from the one here.
    let taken: EpochMark?
    let secrets: HeadSecrets

    /// Those of `names` that lie there under keys that `key` comes from.
    func former(of names: [HeadName]) -> [HeadName] {
      let others = Set((heads + refused).map(\.head.name))
      return names.filter { !others.contains($0) }
    }
  }

  /// The newest key of the heads that comes from the one here. Keys of another line are a person's choice: a rotation that
  /// was made at the same time looks like one by a removed member, who still has the key before.
  ///
  /// - Throws: `.forked` for keys of two lines, without a choice.
  func choose(
    _ found: [Found], _ secrets: HeadSecrets, by vault: borrowing UnlockedVault
  ) throws(StoreError) -> Choice {
    let own = try HeadVault.read(vault) { $0.key }
    let key = try options.takesKey.map { (digits) throws(StoreError) in try self.key(digits, of: found, own) }
    let newest = found.filter { $0.outline.line == .later }.max { $0.key.epoch < $1.key.epoch }
    let taken = found.first { $0.key == key && $0.outline.line == .apart }?.key
    var choice = Choice(own: own, key: key ?? newest?.key ?? own, taken: taken, secrets: secrets)
    let leader = found.first { $0.key == choice.key }
    var lines: [EpochMark: Bool] = [:]
    for head in found where head.key != choice.key && lines[head.key] == nil {
      guard let leader else {
        lines[head.key] = false
        continue
      }
      lines[head.key] = try HeadVault.comes(header(leader.head), from: head.key, by: vault, with: secrets.slot)
    }
    guard key != nil || lines.values.allSatisfy(\.self) else {
      throw try forked(found.filter { lines[$0.key] == false || $0.key == choice.key }, own, vault)
    }
    for head in found {
      switch lines[head.key] {
      case nil: choice.heads.append(head)
      case true?: choice.passedOver += 1
      case false?: choice.refused.append(head)
      }
    }
    return choice
  }

  /// The rows of a head whose groups are not needed.
  func header(_ head: Head) -> SealedPieces { SealedPieces(head, at: remote) { (_) throws(StoreError) in [] } }

  /// Removes refused heads, or each machine would ask again. Those of this vault's own line stay until their content is here.
  func remove(_ refused: [Found], beside known: VersionVector) throws(StoreError) {
    let gone = refused.filter { $0.outline.line != .same || $0.vector.isCovered(by: known) }
    if !gone.isEmpty { try carrier.remove(gone.map { .head($0.head.name) }) }
  }

  // MARK: A person's choice

  /// Hexadecimal digits that are shown of a mark, and the fewest that name it: a forged key with the same ones would take
  /// 2^128 trials, so nobody makes one that a person cannot tell apart.
  private static let leastDigits = 32

  private func key(_ digits: String, of found: [Found], _ own: EpochMark) throws(StoreError) -> EpochMark {
    guard digits.utf8.count >= Self.leastDigits else {
      throw StoreError(
        .invalidName, "\(digits.utf8.count) digits are too few for the mark of a key", place: remote,
        cure: "give at least \(Self.leastDigits) of them, as they are shown")
    }
    // The key here is no choice where a later one comes from it.
    let isOwn = !found.contains { $0.outline.line == .later }
    let known = Set(found.filter { isOwn || $0.outline.line != .same }.map(\.key) + (isOwn ? [own] : []))
    guard let key = known.first(where: { $0.mark.description.hasPrefix(digits.lowercased()) }) else {
      throw StoreError(
        .notFound, "no head there has a key with this mark", place: remote, cure: "sync without it to see the marks")
    }
    return key
  }

  private func forked(
    _ heads: [Found], _ own: EpochMark, _ vault: borrowing UnlockedVault
  ) throws(StoreError) -> StoreError {
    var keys: [EpochMark] = []
    for head in heads where head.key != own && !keys.contains(head.key) { keys.append(head.key) }
    let status = try vault.status()
    let here = describe(own, "here", status.rotated, status.slots)
    // A writer there chooses their number.
    let there = keys.prefix(4).compactMap { key in
      heads.first { $0.key == key }.map { describe(key, "there", $0.outline.rotated, $0.outline.slots) }
    }
    let more = keys.count > there.count ? "; and \(keys.count - there.count) more" : ""
    return StoreError(
      .forked, "two machines changed the vault's key separately: \(([here] + there).joined(separator: "; "))\(more)",
      place: remote,
      cure: "a removed member may have made one of them: find out whose it is, then say takesKey: and the mark of the "
        + "right one; nothing was changed", remedy: .chooseKey)
  }

  private func describe(_ key: EpochMark, _ place: String, _ made: Date, _ slots: [VaultStatus.Slot]) -> String {
    let most = 8
    let names = slots.prefix(most).map { slot in
      // An unproven writer chose them.
      let label = String(slot.label.unicodeScalars.map { $0.properties.generalCategory.isShown ? Character($0) : "?" })
      return label.isEmpty ? "\(slot.summary.kind)" : "\"\(label)\""
    }
    let more = slots.count > most ? " and \(slots.count - most) more" : ""
    return "\(key.mark.description.prefix(Self.leastDigits)) \(place), of epoch \(key.epoch), made \(made.formatted(.iso8601)), "
      + "for \(names.joined(separator: ", "))\(more)"
  }
}

extension Unicode.GeneralCategory {
  fileprivate var isShown: Bool {
    switch self {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
    default: true
    }
  }
}
