internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import Synchronization
internal import SystemPackage

/// Puts a list in order that cannot be read, where the policy says so.
struct ListRepair {
  let engine: DefaultsEngine

  /// Heals the list if `error` says that it is damaged and the policy allows it; true when a second attempt makes sense.
  @inline(never)
  func heal(after error: StoreError) throws(StoreError) -> Bool {
    guard isListDamage(error), !engine.isReadOnly, engine.options.withLock({ $0.damage }) != .fail else { return false }
    return try engine.holdingLock { (journal) throws(StoreError) in try healLocked(after: error, journal) }
  }

  /// The same under the file's lock.
  func healLocked(after error: StoreError, _ journal: Journal) throws(StoreError) -> Bool {
    guard isListDamage(error) else { return false }
    let substitute: Data
    switch engine.options.withLock({ $0.damage }) {
    case .fail: return false
    case .restoreLastGood: substitute = try lastGood()
    case .startEmpty: substitute = emptyList()
    }
    // Another process may have healed it before the lock was ours.
    do { _ = try ListContent.read(engine.files.list, engine.calls) } catch {
      try Quarantine.keep(engine.files.list, engine.calls)
      try replaceList(with: substitute)
    }
    try engine.state.withLock { (state) throws(StoreError) in
      state.suspect = nil
      for _ in 0..<4 {
        if try Replay(engine: engine).reload(&state, ListContent.read(engine.files.list, engine.calls)) { return }
      }
    }
    return true
  }

  private func replaceList(with data: Data) throws(StoreError) {
    let old = try FileStatus(at: engine.files.list)
    try AtomicFile(engine.files.list, calls: engine.calls).replace(
      with: data.bytes, mode: old?.permissions ?? 0o600, like: old)
  }

  private func isListDamage(_ error: StoreError) -> Bool {
    if case .damaged = error.kind { error.place == engine.files.list.string } else { false }
  }

  private func lastGood() throws(StoreError) -> Data {
    let content: ListContent
    do { content = try ListContent.read(engine.files.lastGood, engine.calls) } catch {
      throw StoreError(
        .damaged, "the property list is damaged, and so is its last good copy", place: engine.files.list.string,
        cure: "repair or restore the file, or open the domain with .startEmpty; nothing was changed", underlying: error)
    }
    guard content.fingerprint != .none else {
      throw StoreError(
        .damaged, "the property list is damaged, and there is no last good copy", place: engine.files.list.string,
        cure: "repair or restore the file, or open the domain with .startEmpty; nothing was changed")
    }
    return PropertyList.encode(content.values, as: content.encoding)
  }

  private func emptyList() -> Data { PropertyList.encode([:], as: .xml) }
}
