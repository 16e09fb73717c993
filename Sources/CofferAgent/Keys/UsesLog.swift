internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import CofferVaultFormat
internal import FoundationEssentials
internal import Synchronization
internal import SystemPackage

/// The log of uses of a vault's keys on this machine. A use without a row does not happen.
///
/// It begins with the first withheld key: the item `coffer.uses/MACHINE` holds its key, and in attributes its anchor, the last
/// row that the vault remembers. Only calls with the unlocked vault reach it, one at a time. UsesLogFormat.md has its bytes.
final class UsesLog: Sendable {
  private struct State: ~Copyable {
    /// From the unlock on.
    var open: UsesWriter?
    /// When the next anchor is due.
    var anchorTime = Duration.zero
    /// Whether the vault remembers a row since the unlock, or cannot be written.
    var isAnchored = false
    var repeats = UsesRepeats()
    /// Whether the vault has the item; nil if unknown.
    var isKept: Bool?
    /// Since the last row.
    var lost: Lost?
    /// Why the vault does not remember the log's end.
    var unclosed: StoreError?
  }

  /// Reads without a row, the reason, and when it was found.
  private struct Lost {
    var count: Int
    let why: String, time: Duration
    var row: UseRow { .own(.cut, "reads without rows: \(why)", count: count) }
  }

  private let folder: FilePath
  private let now: @Sendable () -> Duration
  private let state = Mutex(State())

  private static let minute = UsesRepeats.minute, anchorPause = Duration.seconds(3600)
  /// For another writer of the vault. All requests wait meanwhile.
  private static let patience = Duration.seconds(1)
  private static let count = "coffer.uses.count", head = "coffer.uses.head"

  /// - Parameters:
  ///   - folder: that of all vaults' logs.
  ///   - now: the time since boot, suspended time included.
  init(_ folder: FilePath, now: @escaping @Sendable () -> Duration) { (self.folder, self.now) = (folder, now) }

  /// The item's account: stable on this machine and for this user and folder, and useless elsewhere.
  var machine: String {
    let id = KernelFile.text("/etc/machine-id") ?? KernelFile.text("/proc/sys/kernel/hostname") ?? ""
    let digest = PlainHash.digest(Array("coffer.uses\0\(id)\0\(getuid())\0\(folder.string)".utf8))
    return Hex.text(digest.bytes.prefix(8))
  }

  private var item: ItemName { ItemName(sealed: ItemName.logsOfUses, machine) }

  /// Why reads have no rows, or the log has no end; nil if all is well.
  var note: String? {
    state.withLock { state in
      state.lost.map { "\($0.count) reads have no row in the log of uses: \($0.why)" }
        ?? state.unclosed.map { "the vault does not remember the end of the log of uses: \($0.facts)" }
    }
  }

  /// Opens the log at an unlock, if the vault has one, so that no later lock keeps rows out. The first use reports any error.
  func begin(in vault: borrowing UnlockedVault) {
    state.withLock { state in
      // Another vault has come to the place.
      if let other = state.open?.files.vault, other != vault.id { state = State() }
      do throws(StoreError) {
        guard try remembered(by: vault, &state) != nil else { return }
        try open(&state, vault)
        anchor(&state, vault)
      } catch { state.unclosed = error }
    }
  }

  /// Makes the log if there is none, so that later uses only add rows.
  ///
  /// - Throws: the errors of `record(_:in:)`.
  func prepare(in vault: borrowing UnlockedVault) throws(StoreError) {
    try state.withLock { (state) throws(StoreError) in try openForUse(&state, vault) }
  }

  /// Writes `row` before its use is answered. Equal refusals or reads within a minute are counted in one later row.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.noSpace`, `.readOnly`, `.denied`, `.io`, `.tampered` for a log that somebody
  ///   changed, `.busy` for another agent that has it open or another writer of the vault. Then the use must not happen.
  func record(_ row: UseRow, in vault: borrowing UnlockedVault) throws(StoreError) {
    try state.withLock { (state) throws(StoreError) in
      try openForUse(&state, vault)
      try add(row, &state)
      anchor(&state, vault)
    }
  }

  /// Records each value read, if the vault has a log. The read is served in any case.
  func noteReads(of names: [ItemName], by reader: @autoclosure () -> ProcessFacts?, in vault: borrowing UnlockedVault) {
    state.withLock { state in
      var missing = names.count
      do throws(StoreError) {
        if state.isKept == nil { _ = try remembered(by: vault, &state) }
        guard missing > 0, state.isKept == true else { return }
        // A log that cannot be opened is not checked again for each read.
        if let lost = state.lost, state.open == nil, now() - lost.time < Self.minute {
          state.lost?.count += missing
          return
        }
        try open(&state, vault)
        let reader = reader()
        for name in names {
          try add(UseRow(time: .now, kind: .read, item: nil, name: name.description).by(reader, client: reader), &state)
          missing -= 1
        }
        anchor(&state, vault)
      } catch { state.lost = Lost(count: (state.lost?.count ?? 0) + missing, why: error.facts, time: now()) }
    }
  }

  /// The newest rows, oldest first, after a check of all; none without a log. A row at the end tells of a missing one.
  ///
  /// - Parameter most: nil for all.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` for a changed, added, moved or missing row.
  func read(most: Int?, in vault: borrowing UnlockedVault) throws(StoreError) -> [UseRow] {
    try state.withLock { (state) throws(StoreError) in
      guard let item = try remembered(by: vault, &state) else { return [] }
      var rows: [UseRow] = []
      let files = UsesFiles(folder: folder.appending(vault.id.description), vault: vault.id)
      let end = try files.walk(item.key, from: item.anchor) { rows.append($0) }
      switch state.open {
      case .none: if let gap = end.gap { rows.append(.own(.cut, gap)) }
      case .some(let open):
        guard open.end.chain == end.chain, !end.isMissing else {
          throw StoreError(
            .tampered, "the log of uses ends elsewhere than this agent has written it", place: files.folder.string,
            cure: "somebody changed it: lock the vault and keep its folder elsewhere")
        }
      }
      if let lost = state.lost { rows.append(lost.row) }
      return most.map { rows.suffix(max(0, $0)) } ?? rows
    }
  }

  /// Writes the numbers of equal rows once their minute is over, and an anchor if the last one is an hour old.
  func keep(in vault: borrowing UnlockedVault) {
    state.withLock { state in
      do throws(StoreError) { try writeRepeats(&state) } catch { state.unclosed = error }
      anchor(&state, vault)
    }
  }

  /// Ends the log at a lock. The next use says so if that fails.
  func close(in vault: borrowing UnlockedVault) {
    state.withLock { state in
      state.unclosed = nil
      if state.open != nil {
        do throws(StoreError) {
          try writeRepeats(&state, isDue: true)
          try write(.own(.closed), &state)
        } catch { state.unclosed = error }
        anchor(&state, vault, isDue: true)
      }
      state = State(lost: state.lost, unclosed: state.unclosed)
    }
  }

  // MARK: Opening

  private struct Remembered: ~Copyable {
    let key: SecretBytes
    let anchor: UsesChain
  }

  /// The log's key and anchor; nil if the vault has none.
  private func remembered(by vault: borrowing UnlockedVault, _ state: inout State) throws(StoreError) -> Remembered? {
    do throws(StoreError) {
      var found: Remembered?
      try vault.withKey(item) { (key, item) throws(StoreError) in
        let anchor = try Self.anchor(in: item)
        found = Remembered(key: try key.withUnsafeBytes { (raw) throws(StoreError) in try .copy(of: raw) }, anchor: anchor)
      }
      state.isKept = true
      return found
    } catch {
      guard error.kind == .notFound else { throw error }
      state.isKept = false
      return nil
    }
  }

  /// Until the vault remembers a row of this unlock, all of them could be cut unnoticed: no use before.
  private func openForUse(_ state: inout State, _ vault: borrowing UnlockedVault) throws(StoreError) {
    try open(&state, vault)
    if !state.isAnchored { anchor(&state, vault, isDue: true) }
    if !state.isAnchored, let error = state.unclosed { throw error }
  }

  private func open(_ state: inout State, _ vault: borrowing UnlockedVault) throws(StoreError) {
    guard state.open == nil else { return }
    let files = UsesFiles(
      folder: try TrustedPath.makePrivateFolder(folder).appending(vault.id.description), vault: vault.id)
    let lockPath = FilePath(files.folder.string + ".lock")
    guard let lock = try DescriptorLock.take(lockPath) else {
      throw StoreError(
        .busy, "another agent of yours keeps the log of uses of this vault", place: lockPath.string,
        cure: "lock the vault in the other agent, then try again")
    }
    _ = try TrustedPath.makePrivateFolder(files.folder)
    var found = try remembered(by: vault, &state)
    if found == nil {
      try makeItem(in: vault)
      found = try remembered(by: vault, &state)
    }
    guard let item = found.take() else {
      throw StoreError(.conflict, "the key of the log of uses was removed meanwhile", place: lockPath.string, cure: "try again")
    }
    let end = try files.walk(item.key, from: item.anchor)
    try files.trim(to: end)
    state.open = try UsesWriter(key: item.key, lock: lock, files: files, end, anchored: item.anchor.count)
    do throws(StoreError) { try write(end.gap.map { .own(.cut, $0) } ?? .own(.opened), &state) } catch {
      // The next try must find the gap again.
      state.open = nil
      throw error
    }
  }

  private func makeItem(in vault: borrowing UnlockedVault) throws(StoreError) {
    let key: SecretBytes
    do throws(SecretMemoryError) { key = try SecretBytes.random(32) } catch { throw StoreError(memory: error) }
    try change(.set(SecretForm(key, metadata: Self.metadata), for: item, if: .absent, keeping: 0), in: vault)
  }

  private static let metadata = ItemMetadata(label: "log of uses", attributes: [ItemMetadata.use: ItemMetadata.useOnly])

  /// Names the log as author in the vault's own log.
  private func change(_ change: ItemChange, in vault: borrowing UnlockedVault) throws(StoreError) {
    let author = Author(user: UInt32(getuid()), process: UInt32(getpid()), program: "agent (log of uses)")
    try CallWait(within: Self.patience).run { () throws(StoreError) in
      _ = try author.represented { () throws(StoreError) in try vault.changeInternal(change) }
    }
  }

  // MARK: Writing

  private func write(_ row: UseRow, _ state: inout State) throws(StoreError) {
    if let lost = state.lost {
      try state.open?.append(lost.row)
      state.lost = nil
    }
    try state.open?.append(row)
  }

  /// Writes `row`, or counts it as a repeated one.
  private func add(_ row: UseRow, _ state: inout State) throws(StoreError) {
    try writeRepeats(&state)
    if state.repeats.isFirst(row, now()) { try write(row, &state) }
  }

  private func writeRepeats(_ state: inout State, isDue: Bool = false) throws(StoreError) {
    guard isDue || state.repeats.areDue(now()) else { return }
    for row in state.repeats.rows {
      try write(row, &state)
      state.repeats.forget(row)
    }
    state.repeats = UsesRepeats()
  }

  // MARK: Anchor

  private static func anchor(in item: VaultItem) throws(StoreError) -> UsesChain {
    let attributes = item.metadata.attributes
    guard let count = attributes[Self.count] else { return UsesChain() }
    guard let count = UInt64(count), let head = attributes[head].flatMap(Hex.bytes).flatMap({ Digest32($0) }) else {
      throw StoreError(
        .damaged, "the vault's anchor of the log of uses is unreadable", key: item.name.description,
        cure: "remove the item, and a new log begins")
    }
    return UsesChain(count: count, head: head)
  }

  /// Has the vault remember the last row. Of a vault that cannot be written, the anchor waits.
  private func anchor(_ state: inout State, _ vault: borrowing UnlockedVault, isDue: Bool = false) {
    guard let chain = state.open?.end.chain, let anchored = state.open?.anchored, chain.count > anchored else { return }
    guard isDue || now() >= state.anchorTime else { return }
    do throws(StoreError) {
      // The vault must not remember a row that a power failure takes.
      try state.open?.segment?.synchronize()
      var metadata = Self.metadata
      metadata.attributes[Self.count] = String(chain.count)
      metadata.attributes[Self.head] = chain.head.description
      try change(.describe(item, as: metadata, keeping: 0), in: vault)
      state.open?.anchored = chain.count
      (state.isAnchored, state.anchorTime, state.unclosed) = (true, now() + Self.anchorPause, nil)
    } catch {
      if error.kind == .readOnly { state.isAnchored = true }
      // Reads wait for a busy vault once a minute.
      (state.anchorTime, state.unclosed) = (now() + Self.minute, error)
    }
  }
}
