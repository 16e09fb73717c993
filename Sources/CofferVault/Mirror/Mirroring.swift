internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials
internal import SystemPackage

/// The result of refreshing a mirror.
public struct MirrorReport: Sendable, Equatable {
  /// The id of the vault.
  public let id: VaultID
  /// The mirror's commit.
  public let generation: UInt64
  /// Whether the file was written; false if it was already intact and of that commit.
  public let isWritten: Bool
}

/// One refresh of a mirror: an ordinary vault file with the rows of a vault on a server at one commit.
///
/// The copy is verified with the keys of the open vault before it replaces the mirror, so rows invented by a server never
/// do. The mirror's pin follows. If the process dies in between, the mirror is newer than its pin, which is allowed; in the
/// other order nobody could read it until the server is back. For a mirror's first file the pin comes first, because a file
/// without one is not replaced.
struct Mirroring {
  private let vault: OpenVault
  private let place: VaultPlace
  private let target: FilePath
  private let pins: FilePath
  /// The start of the refresh, in milliseconds since 1970: the mirror has every commit up to then.
  private let time: UInt64

  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` for a vault in a file, `.incomplete` if the options name no
  ///   folder of pins, `.denied`.
  init(of vault: OpenVault, to file: FilePath) throws(StoreError) {
    guard vault.view.database.isRemote else {
      throw StoreError(
        .unsupported, "a mirror is of a vault on a server, and this one is in a file", place: vault.view.place.description,
        cure: "make a backup of it instead")
    }
    guard let pins = vault.options.pins else {
      throw StoreError(
        .incomplete, "there is no folder for pins", place: vault.view.place.description, cure: "name one in the options")
    }
    self.vault = vault
    self.pins = pins
    time = max(1, vault.view.now)
    target = try VaultFile(file).made()
    place = .mirror(target)
  }

  func run(_ progress: (Int, Int) -> Void) throws(StoreError) -> MirrorReport {
    var folder = try PinFolder(pins, calls: SystemCalls())
    Draft.sweep(target.folder)
    // In this order: while another refresh makes a mirror, its pin comes first.
    let isThere = try Stat.ofLink(target) != nil
    let pin = try folder.pin(ofMirrorAt: place)
    guard pin != nil || !isThere else { throw Self.taken(target) }
    try SideFiles.checkAbsent(besideMirror: target)
    // Before the transaction: all remembered commits were made by then.
    let before = try isThere ? pin?.readAny() : nil
    let found = try vault.read { (vault) throws(StoreError) in
      try check(vault, against: before)
      return record(of: vault)
    }
    if isThere, let pin, try isWhole(found) {
      try pin.whileLocked { (now, write) throws(StoreError) in
        if now.map({ $0.vault == found.vault && $0.seen.generation <= found.seen.generation }) ?? true { try write(found) }
      }
      return report(found, isWritten: false)
    }
    let draft = try Draft(beside: target)
    let copied = try copy(to: draft.path, after: before, progress)
    let held = if let pin { pin } else { try folder.make(copied, ofMirrorAt: place) }
    return try held.whileLocked { (now, write) throws(StoreError) in try publish(draft.path, copied, now, write) }
  }

  /// The mirror's pin for the current commit of `vault`. Called within a transaction.
  private func record(of vault: OpenVault) -> PinRecord {
    PinRecord(
      vault: vault.view.header.vault, replica: .zero, key: vault.view.keys.epochMark, seen: vault.view.state.mark, own: .never,
      refreshed: time)
  }

  private func report(_ record: PinRecord, isWritten: Bool) -> MirrorReport {
    MirrorReport(id: VaultID(bytes: record.vault.bytes), generation: record.seen.generation, isWritten: isWritten)
  }

  /// Checks, within a transaction, that `vault` is not older than the mirror at its last refresh.
  private func check(_ vault: OpenVault, against before: PinRecord?) throws(StoreError) {
    guard let before else { return }
    guard vault.view.header.vault == before.vault else { throw MirrorPin.replaced(vault.view.header.vault, before.vault, place) }
    do throws(StoreError) {
      _ = try before.check(vault.view.state, key: vault.view.keys.epochMark, vault: vault.view.place)
    } catch {
      throw StoreError(
        error.kind, "\(error.what), as the mirror \(target) is", place: vault.view.place.description,
        cure:
          "find the newer vault, which was replaced on the server; if this one is right, remove the mirror and create it again")
    }
  }

  // MARK: The file

  /// Whether the mirror's file is intact and at the commit of `record`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/replaced`` for a sound file of another vault, which somebody may want.
  private func isWhole(_ record: PinRecord) throws(StoreError) -> Bool {
    do throws(StoreError) {
      try checkIsMirror(of: record.vault)
      return try verified(target).seen == record.seen
    } catch {
      guard Self.isDamage(error.kind) else { throw error }
      return false
    }
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/replaced`` for a file of another vault; the errors of reading its header.
  private func checkIsMirror(of vault: VaultSalt) throws(StoreError) {
    let rows = try VaultPlace.openMirror(target)
    defer { rows.close() }
    let found = try rows.read { () throws(StoreError) in try StoredParts.readHeader(rows).header.vault }
    guard found == vault else { throw MirrorPin.replaced(found, vault, place) }
  }

  private static func isDamage(_ kind: StoreError.Kind) -> Bool {
    switch kind {
    case .damaged, .tampered, .notAVault, .newerFormat, .noVault: true
    default: false
    }
  }

  /// The record of the file at `path`, fully verified with the open vault's key.
  private func verified(_ path: FilePath) throws(StoreError) -> PinRecord {
    let rows = try VaultPlace.openMirror(path)
    defer { rows.close() }
    let copy = try rows.read { () throws(StoreError) in
      let (header, digest) = try StoredParts.readHeader(rows)
      guard digest == vault.view.headerDigest, let slot = try vault.view.slot.copied(in: header) else {
        throw StoredParts.tampered("the header is another than the vault's", .mirror(path))
      }
      return try OpenVault(
        database: rows, header: header, headerDigest: digest, slot: slot, anchors: [], pin: nil, clock: { Date() })
    }
    return try copy.read { (copy) throws(StoreError) in
      _ = try copy.verify { _, _ in }
      return record(of: copy)
    }
  }

  /// Copies all rows of one commit to `draft`, and verifies them there: a server may answer differently the second time.
  private func copy(
    to draft: FilePath, after before: PinRecord?, _ progress: (Int, Int) -> Void
  ) throws(StoreError) -> PinRecord {
    do throws(StoreError) {
      let copied = try vault.read { (vault) throws(StoreError) in
        try check(vault, against: before)
        let made = try VaultDatabase.create(at: draft) { (copy) throws(StoreError) in
          try vault.view.database.copyRows(to: copy, progress)
        }
        made.close()
        return record(of: vault)
      }
      guard try verified(draft).seen == copied.seen else {
        throw StoredParts.tampered("the state is another than the one that was read before", vault.view.place)
      }
      return copied
    } catch {
      guard let place = error.place, place.hasPrefix(draft.string), Self.isDamage(error.kind) else {
        throw error.naming(target, insteadOf: draft)
      }
      throw StoreError(
        .tampered, "the server's rows are not the vault's: \(error.what)",
        place: vault.view.place.description, cure: "check the vault with verify; the mirror is unchanged")
    }
  }

  /// Replaces the mirror with `draft`, under the pin's lock.
  private func publish(
    _ draft: FilePath, _ copied: PinRecord, _ now: PinRecord?, _ write: (PinRecord) throws(StoreError) -> Void
  ) throws(StoreError) -> MirrorReport {
    try SideFiles.checkAbsent(besideMirror: target)
    guard try Stat.ofLink(target) != nil else {
      try write(copied)
      try PrivateCopy.name(draft, as: target)
      return report(copied, isWritten: true)
    }
    if let now {
      guard now.vault == copied.vault else { throw MirrorPin.replaced(copied.vault, now.vault, place) }
      // Another refresh was faster, and has a later commit.
      guard now.seen.generation <= copied.seen.generation else { return report(now, isWritten: false) }
    }
    // A vault may have been made there during the copy.
    do throws(StoreError) { try checkIsMirror(of: copied.vault) } catch {
      guard Self.isDamage(error.kind) else { throw error }
    }
    try PrivateCopy.exchange(target, for: draft)
    try write(copied)
    return report(copied, isWritten: true)
  }
}

extension Mirroring {
  fileprivate static func taken(_ path: FilePath) -> StoreError {
    StoreError(
      .alreadyExists, "something other than a mirror of this machine's is already there", place: path.string,
      cure: "choose another path, or move it away; nothing is replaced")
  }
}
