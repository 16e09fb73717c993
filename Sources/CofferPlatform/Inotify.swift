#if !canImport(Darwin)
  internal import Synchronization
  internal import SystemPackage

  /// The process's one inotify(7) descriptor, made for its first watch: a user may have 128 of them.
  ///
  /// It is never closed: its own thread reads it.
  final class Inotify: Sendable {
    struct Watcher: Sendable {
      let names: Set<String>
      let receive: @Sendable (DirectoryWatch.Notice) -> Void
    }

    private struct State {
      var watchers: [Int32: [UInt64: Watcher]] = [:]
      var lastID: UInt64 = 0
    }

    private static let current = Mutex<Inotify?>(nil)
    private let fd: Int32
    private let process = getpid()
    private let state = Mutex(State())

    /// All events after which a file reads differently. A close after writing is the only event of a process that dies
    /// between a store to a mapping and its notice of it.
    private static let events =
      UInt32(IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF)
      | UInt32(IN_MOVE_SELF | IN_ONLYDIR)

    static func watch(_ folder: FilePath, _ watcher: Watcher) throws(StoreError) -> Subscription {
      try ForkedChild.refuse("watch files", place: folder.string)
      let inotify = try current.withLock { (current) throws(StoreError) in
        if let current { return current }
        let new = try Inotify(folder)
        current = new
        return new
      }
      return try inotify.add(folder, watcher)
    }

    private init(_ folder: FilePath) throws(StoreError) {
      // The value of IN_CLOEXEC.
      fd = inotify_init1(O_CLOEXEC)
      guard fd >= 0 else { throw DirectoryWatch.failure(errno, folder) }
      do throws(StoreError) {
        try DetachedThread.start(stackBytes: Self.stackBytes, place: folder) { [self] in
          while self.drain() {}
        }
      } catch {
        close(fd)
        throw error
      }
    }

    private static let stackBytes = 512 << 10

    private func add(_ folder: FilePath, _ watcher: Watcher) throws(StoreError) -> Subscription {
      let (watch, id) = try state.withLock { (state) throws(StoreError) in
        // Under the lock, so that the first event finds its watcher. Adding a folder again returns the same number.
        let watch = folder.withPlatformString { inotify_add_watch(fd, $0, Self.events) }
        guard watch >= 0 else { throw DirectoryWatch.failure(errno, folder) }
        state.lastID += 1
        state.watchers[watch, default: [:]][state.lastID] = watcher
        return (watch, state.lastID)
      }
      return Subscription { [self] in remove(watch, id) }
    }

    private func remove(_ watch: Int32, _ id: UInt64) {
      guard process == getpid() else { return }  // The parent still watches.
      state.withLock { state in
        guard state.watchers[watch]?.removeValue(forKey: id) != nil, state.watchers[watch]?.isEmpty ?? false else { return }
        state.watchers[watch] = nil
        inotify_rm_watch(fd, watch)
      }
    }

    // MARK: Events

    /// Room for a thousand events with short names; the next read takes the rest.
    private static let bufferBytes = 64 << 10

    /// Waits for events and reports them; false once none can come.
    private func drain() -> Bool {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferBytes, alignment: 8)
      defer { buffer.deallocate() }
      var told: [UInt64: (watcher: Watcher, notice: DirectoryWatch.Notice)] = [:]
      let count = read(fd, buffer.baseAddress, buffer.count)
      guard count > 0 else { return errno == EINTR }
      gather(UnsafeRawBufferPointer(rebasing: buffer[..<count]), &told)
      for (_, entry) in told { entry.watcher.receive(entry.notice) }
      return true
    }

    /// Parses `struct inotify_event`s: watch, mask, cookie, length of the name, name padded with zeros.
    private func gather(
      _ bytes: UnsafeRawBufferPointer, _ told: inout [UInt64: (watcher: Watcher, notice: DirectoryWatch.Notice)]
    ) {
      var offset = 0
      while offset + 16 <= bytes.count {
        let watch = bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
        let mask = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
        let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
        let name = String(decoding: bytes[offset + 16..<offset + 16 + length].prefix { $0 != 0 }, as: UTF8.self)
        offset += 16 + length
        for (id, watcher, notice) in concerned(by: watch, mask, name) {
          if case .lost? = told[id]?.notice { continue }
          told[id] = (watcher, notice)
        }
      }
    }

    private func concerned(
      by watch: Int32, _ mask: UInt32, _ name: String
    ) -> [(UInt64, Watcher, DirectoryWatch.Notice)] {
      state.withLock { state in
        if mask & UInt32(IN_Q_OVERFLOW) != 0 {
          return state.watchers.values.flatMap { $0 }.map { ($0.key, $0.value, .changed) }
        }
        if mask & UInt32(IN_IGNORED | IN_MOVE_SELF) != 0 {
          // The kernel has dropped the watch, or the folder was moved.
          guard let watchers = state.watchers.removeValue(forKey: watch) else { return [] }
          if mask & UInt32(IN_MOVE_SELF) != 0 { inotify_rm_watch(fd, watch) }
          return watchers.map { ($0.key, $0.value, .lost) }
        }
        return (state.watchers[watch] ?? [:]).compactMap { id, watcher in
          watcher.names.contains(name) ? (id, watcher, .changed) : nil
        }
      }
    }
  }
#endif
