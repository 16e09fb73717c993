internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import Synchronization
internal import SystemPackage

// The first look at a domain, and what becomes of a list that cannot be read.
extension DefaultsEngine {
  /// Reads list and journal, puts a damaged list in order where the policy says so, and learns outcomes left open.
  func readForTheFirstTime(until deadline: LockDeadline) throws(StoreError) {
    guard isWritable else { return try read() }
    try holdingLock(until: deadline) { (sidecar) throws(StoreError) in
      do throws(StoreError) { try read() } catch {
        guard try healLocked(after: error, sidecar) else { throw error }
        try read()
      }
      try resolve(sidecar)
      let journalBytes = state.withLock { $0.seen.end - $0.start }
      if journalBytes >= Self.foldAtOpen { foldQuietly(sidecar) }
    }
  }

  /// Above this, folding once is cheaper than having every process replay the journal.
  private static var foldAtOpen: Int { SidecarLayout.foldAt / 4 }

  private func read() throws(StoreError) {
    try state.withLock { (state) throws(StoreError) in
      guard let sidecar = state.sidecar else { return state.begin(with: try ListContent.readPatiently(files.list, calls)) }
      try catchUp(&state, sidecar)
      state.nextLook = CoarseClock.now() + CoarseClock.lookInterval
    }
  }

  /// Heals the list if `error` says that it is damaged and the policy allows it; true when a second attempt makes sense.
  @inline(never)
  func heal(after error: StoreError) throws(StoreError) -> Bool {
    guard isListDamage(error), !isReadOnly, options.withLock({ $0.damage }) != .fail else { return false }
    return try holdingLock { (sidecar) throws(StoreError) in try healLocked(after: error, sidecar) }
  }

  /// The same under the file's lock.
  func healLocked(after error: StoreError, _ sidecar: Sidecar) throws(StoreError) -> Bool {
    guard isListDamage(error) else { return false }
    let substitute: Data
    switch options.withLock({ $0.damage }) {
    case .fail: return false
    case .restoreLastGood: substitute = try lastGood()
    case .startEmpty: substitute = emptyList()
    }
    // Another process may have healed it before the lock was ours.
    do { _ = try ListContent.read(files.list, calls) } catch {
      try Quarantine.keep(files.list, calls)
      try replaceList(with: substitute)
    }
    try state.withLock { (state) throws(StoreError) in
      state.suspect = nil
      for _ in 0..<4 { if try reload(&state, ListContent.read(files.list, calls)) { return } }
    }
    return true
  }

  private func replaceList(with data: Data) throws(StoreError) {
    let old = try FileStatus(at: files.list)
    try AtomicFile(files.list, calls: calls).replace(
      with: data.bytes, mode: old?.permissions ?? 0o600, like: old)
  }

  private func isListDamage(_ error: StoreError) -> Bool {
    if case .damaged = error.kind { error.place == files.list.string } else { false }
  }

  private func lastGood() throws(StoreError) -> Data {
    let content: ListContent
    do { content = try ListContent.read(files.lastGood, calls) } catch {
      throw StoreError(
        .damaged, "the property list is damaged, and so is its last good copy", place: files.list.string,
        cure: "repair or restore the file, or open the domain with .startEmpty; nothing was changed", underlying: error)
    }
    guard content.fingerprint != .none else {
      throw StoreError(
        .damaged, "the property list is damaged, and there is no last good copy", place: files.list.string,
        cure: "repair or restore the file, or open the domain with .startEmpty; nothing was changed")
    }
    return PropertyList.encode(content.values, as: content.encoding)
  }

  private func emptyList() -> Data { PropertyList.encode([:], as: .xml) }
}
