internal import CofferPlatform
internal import CofferStorage
internal import Dispatch
internal import Synchronization

/// Reports every change of a domain's stored values, under the names in the file.
final class EngineObservation: Sendable {
  /// All looks happen here, one at a time.
  private let queue = DispatchQueue(label: "coffer.defaults", qos: .utility)
  private let feed = Mutex<ChangeFeed?>(nil)
  private let watch = Mutex<(id: UInt64, subscription: Subscription)?>(nil)
  private let isScheduled = Atomic<Bool>(false)
  private let mayDiffer = Atomic<Bool>(false)
  private let isFailing = Atomic<Bool>(false)
  /// Many events before a retry share it.
  private let willRetry = Atomic<Bool>(false)
  private let lastID = Atomic<UInt64>(0)

  func changes(of engine: DefaultsEngine) -> ChangeFeed {
    feed.withLock { feed in
      if let feed { return feed }
      let new = ChangeFeed { [weak engine] (_) throws(StoreError) in
        guard let engine else { return Subscription {} }
        return try engine.observation.startWatching(engine)
      }
      feed = new
      return new
    }
  }

  private func startWatching(_ engine: DefaultsEngine) throws(StoreError) -> Subscription {
    try engine.checkProcess()
    let id = lastID.add(1, ordering: .relaxed).newValue
    let isThere = try watchExistingFolder(of: engine, for: id)
    engine.state.withLock { state in
      // Earlier changes are not news. The first look reports a failed read.
      do throws(StoreError) { try engine.refresh(&state) } catch {}
      state.unreported = UnreportedChanges(
        id: id, wake: { [weak engine] in engine.map { $0.observation.scheduleLook($0) } },
        moved: { [weak engine] in engine.map { $0.observation.watchAgain($0, for: id) } })
    }
    noticeDifference(engine)
    if !isThere { watchAgain(engine, for: id) }
    return Subscription { [weak engine] in engine.map { $0.observation.stopWatching($0, id) } }
  }

  // MARK: The folder's watch

  /// A store that only reads makes no folder.
  private func watchExistingFolder(of engine: DefaultsEngine, for id: UInt64) throws(StoreError) -> Bool {
    do throws(StoreError) {
      try watchFolder(of: engine, for: id)
      return true
    } catch {
      guard error.kind == .notFound else { throw error }
      return false
    }
  }

  private func stopWatching(_ engine: DefaultsEngine, _ id: UInt64) {
    let isLast = engine.state.withLock { state in
      guard state.unreported?.id == id else { return false }  // Someone else has begun meanwhile.
      state.unreported = nil
      return true
    }
    if isLast { endWatch(of: id) }
  }

  private func endWatch(of id: UInt64) {
    let watch = watch.withLock { $0?.id == id ? $0.take() : nil }
    watch?.subscription.cancel()
  }

  private func watchFolder(of engine: DefaultsEngine, for id: UInt64) throws(StoreError) {
    let files = engine.files
    let names = Set([files.list, files.journal].compactMap { $0.lastName })
    let new = try DirectoryWatch.start(files.folder, names: names) { [weak engine] notice in
      guard let engine else { return }
      switch notice {
      case .changed: engine.observation.noticeDifference(engine)
      case .lost: engine.observation.watchAgain(engine, for: id)
      }
    }
    let old = watch.withLock { watch in
      defer { watch = (id, new) }
      return watch
    }
    old?.subscription.cancel()
  }

  /// The folder is missing, or was moved or removed. Nothing can change until it exists.
  private func watchAgain(_ engine: DefaultsEngine, for id: UInt64) {
    DetachedThread.start(after: Self.pauseWithoutFolder, on: queue) { [weak engine] in
      if let engine { engine.observation.tryToWatch(engine, for: id) }
    }
  }

  private func tryToWatch(_ engine: DefaultsEngine, for id: UInt64) {
    guard engine.state.withLock({ $0.unreported?.id == id }) else { return }
    do throws(StoreError) { try watchFolder(of: engine, for: id) } catch { return watchAgain(engine, for: id) }
    noticeDifference(engine)
    // The observation may have ended meanwhile, with no watch to end.
    if engine.state.withLock({ $0.unreported?.id != id }) { endWatch(of: id) }
  }

  private static var pauseWithoutFolder: UInt64 { 1_000_000_000 }

  // MARK: Looks

  private func noticeDifference(_ engine: DefaultsEngine) {
    mayDiffer.store(true, ordering: .relaxed)
    scheduleLook(engine)
  }

  private func scheduleLook(_ engine: DefaultsEngine) {
    guard !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    queue.async { self.look(engine) }
  }

  private func look(_ engine: DefaultsEngine) {
    isScheduled.store(false, ordering: .sequentiallyConsistent)
    let asksFiles = mayDiffer.exchange(false, ordering: .relaxed)
    let changes = changes(of: engine)
    do throws(StoreError) {
      let armed = engine.state.withLock { state in
        // Before the word is read: see Journal.unlock().
        state.journal?.memory.arm()
        if asksFiles { state.nextLook = 0 }
        return state.journal
      }
      _ = try engine.load([])
      let (found, isOther, isSuspect) = engine.state.withLock { state in
        (state.unreported?.take(now: state.values) ?? [], state.journal !== armed, state.suspect != nil)
      }
      if isFailing.exchange(false, ordering: .relaxed) { changes.send(.access) }
      if !found.isEmpty { changes.send(.changes(found)) }
      if isOther { noticeDifference(engine) }
      // It looks half written. If it stays so, no further event comes.
      if isSuspect { DetachedThread.start(after: CoarseClock.lookInterval, on: queue) { self.lookAgain(engine) } }
    } catch {
      // A read gets the error itself.
      if !isFailing.exchange(true, ordering: .relaxed) { changes.send(.access) }
      // Perhaps no further event comes.
      guard engine.state.withLock({ $0.unreported != nil }), !willRetry.exchange(true, ordering: .relaxed) else { return }
      DetachedThread.start(after: Self.pauseWithoutFolder, on: queue) { [weak engine] in
        self.willRetry.store(false, ordering: .relaxed)
        guard let engine, self.isFailing.load(ordering: .relaxed) else { return }
        self.lookAgain(engine)
      }
    }
  }

  private func lookAgain(_ engine: DefaultsEngine) {
    mayDiffer.store(true, ordering: .relaxed)
    look(engine)
  }

  func afterTelling(_ engine: DefaultsEngine, _ body: @escaping @Sendable () -> Void) {
    guard engine.state.withLock({ $0.unreported != nil }) else { return body() }
    queue.async {
      self.look(engine)
      self.changes(of: engine).afterDelivery(body)
    }
  }
}
