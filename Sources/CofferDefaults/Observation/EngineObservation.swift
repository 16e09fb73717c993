internal import CofferPlatform
internal import CofferStorage
internal import Dispatch
internal import Synchronization
internal import SystemPackage

/// What an engine needs while its changes are observed.
final class EngineObservation: Sendable {
  /// All looks on behalf of observers happen here, one after the other.
  let queue = DispatchQueue(label: "coffer.defaults", qos: .utility)
  let feed = Mutex<ChangeFeed?>(nil)
  /// The watch on the folder, and the period of observation that it is of.
  let watch = Mutex<(id: UInt64, subscription: Subscription)?>(nil)
  /// A look is on its way.
  let isScheduled = Atomic<Bool>(false)
  /// The next look is to ask the file system too.
  let mayDiffer = Atomic<Bool>(false)
  /// The last look failed.
  let isFailing = Atomic<Bool>(false)
  let lastID = Atomic<UInt64>(0)
}

// Observers hear of every change of the domain's stored values, under the names in the file.
extension DefaultsEngine {
  /// What the engine tells. Watching begins with the first listener and ends with the last.
  var changes: ChangeFeed {
    observation.feed.withLock { feed in
      if let feed { return feed }
      let new = ChangeFeed { [weak self] (_) throws(StoreError) in try self?.startWatching() ?? Subscription {} }
      feed = new
      return new
    }
  }

  private func startWatching() throws(StoreError) -> Subscription {
    try checkProcess()
    let id = observation.lastID.add(1, ordering: .relaxed).newValue
    let isThere = try watchExistingFolder(for: id)
    state.withLock { state in
      // What changed before is no news. What stands in the way of reading is told by the first look.
      do throws(StoreError) { try refresh(&state) } catch {}
      state.unreported = UnreportedChanges(id: id) { [weak self] in self?.scheduleLook() }
    }
    noticeDifference()
    if !isThere { watchAgain(for: id) }
    return Subscription { [weak self] in self?.stopWatching(id) }
  }

  /// Watches the folder; false where there is none yet. A store that is only read makes none.
  private func watchExistingFolder(for id: UInt64) throws(StoreError) -> Bool {
    do throws(StoreError) {
      try watchFolder(for: id)
      return true
    } catch {
      guard error.kind == .notFound else { throw error }
      return false
    }
  }

  private func stopWatching(_ id: UInt64) {
    let isLast = state.withLock { state in
      guard state.unreported?.id == id else { return false }  // Someone else has begun meanwhile.
      state.unreported = nil
      return true
    }
    if isLast { endWatch(of: id) }
  }

  private func endWatch(of id: UInt64) {
    let watch = observation.watch.withLock { $0?.id == id ? $0.take() : nil }
    watch?.subscription.cancel()
  }

  private func watchFolder(for id: UInt64) throws(StoreError) {
    let names = Set([files.list, files.journal].compactMap { $0.lastName })
    let new = try DirectoryWatch.start(files.folder, names: names) { [weak self] notice in
      switch notice {
      case .changed: self?.noticeDifference()
      case .lost: self?.watchAgain(for: id)
      }
    }
    let old = observation.watch.withLock { watch in
      defer { watch = (id, new) }
      return watch
    }
    old?.subscription.cancel()
  }

  /// There is no folder, or it was moved or removed. Only when there is one can anything change.
  func watchAgain(for id: UInt64) {
    observation.queue.asyncAfter(deadline: .now() + Self.pauseWithoutFolder) { [weak self] in
      guard let self, state.withLock({ $0.unreported?.id == id }) else { return }
      do throws(StoreError) { try watchFolder(for: id) } catch { return watchAgain(for: id) }
      noticeDifference()
      // It may have ended meanwhile, and found no watch to end.
      if state.withLock({ $0.unreported?.id != id }) { endWatch(of: id) }
    }
  }

  private static var pauseWithoutFolder: DispatchTimeInterval { .seconds(1) }

  /// Something may have changed outside of this process.
  private func noticeDifference() {
    observation.mayDiffer.store(true, ordering: .relaxed)
    scheduleLook()
  }

  private func scheduleLook() {
    guard !observation.isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    observation.queue.async { self.look() }
  }

  /// Brings the state up to date and tells what is new. On the observation's queue.
  private func look() {
    observation.isScheduled.store(false, ordering: .sequentiallyConsistent)
    let asksFiles = observation.mayDiffer.exchange(false, ordering: .relaxed)
    do throws(StoreError) {
      let armed = state.withLock { state in
        // Before the word is read: see Sidecar.unlock().
        state.sidecar?.memory.arm()
        if asksFiles { state.nextLook = 0 }
        return state.sidecar
      }
      _ = try load([])
      let (found, isOther, isSuspect) = state.withLock { state in
        (state.unreported?.take(now: state.values) ?? [], state.sidecar !== armed, state.suspect != nil)
      }
      if observation.isFailing.exchange(false, ordering: .relaxed) { changes.send(.access) }
      if !found.isEmpty { changes.send(.changes(found)) }
      if isOther { noticeDifference() }
      // Half written, as it seems: if it stays so, no further event will come.
      if isSuspect {
        observation.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(CoarseClock.lookInterval))) { self.lookAgain() }
      }
    } catch {
      // Whoever reads now gets the error itself.
      if !observation.isFailing.exchange(true, ordering: .relaxed) { changes.send(.access) }
    }
  }

  private func lookAgain() {
    observation.mayDiffer.store(true, ordering: .relaxed)
    look()
  }

  /// Runs `body` once everything that was written so far is told to those who observe.
  func afterTelling(_ body: @escaping @Sendable () -> Void) {
    guard state.withLock({ $0.unreported != nil }) else { return body() }
    observation.queue.async {
      self.look()
      self.changes.afterDelivery(body)
    }
  }
}
