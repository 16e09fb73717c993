internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import Synchronization
internal import SystemPackage

/// One engine for all stores of a process that can write a list: the kernel's lock belongs to an open file, so a second
/// engine would wait for the first. A read-only store takes no lock, and has its own engine.
final class EngineLease: Sendable {
  let engine: DefaultsEngine
  private let key: EngineRegistry.Key?

  init(_ path: FilePath, _ options: EngineOptions, until deadline: LockDeadline? = nil) throws(StoreError) {
    let deadline = deadline ?? .ofCall(FileLock.patience)
    // The current directory may change.
    let path = FilePath(FileManager.default.currentDirectoryPath).pushing(path)
    let files = try ListFiles(resolving: path, makingFolder: options.access == .readWrite)
    // A read-only one has no lock to wait for.
    guard options.isShared, options.access == .readWrite else {
      key = nil
      engine = try DefaultsEngine(files, from: path, options, until: deadline)
      return
    }
    let key = try EngineRegistry.Key(files)
    self.key = key
    engine = try EngineRegistry.open(key, options, until: deadline) { () throws(StoreError) in
      try DefaultsEngine(files, from: path, options, until: deadline)
    }
  }

  deinit {
    if let key { EngineRegistry.release(key) }
  }
}

enum EngineRegistry {
  /// Each fold replaces the list, so the folder identifies it.
  struct Key: Hashable {
    // A forked child inherits the table, but must not use its engines.
    private let process: pid_t
    private let device: UInt64, inode: UInt64
    /// A folder that cannot be made has no identity.
    private let missing: FilePath?
    private let name: String

    /// Another thread opens the list, and waits for its lock.
    var busy: StoreError { FileLock.busy(FilePath(name), UInt32(bitPattern: getpid()), doing: "is opening the list") }

    init(_ files: ListFiles) throws(StoreError) {
      let folder = try FileStatus(at: files.folder)
      process = getpid()
      device = folder?.device ?? 0
      inode = folder?.inode ?? 0
      missing = folder == nil ? files.folder : nil
      name = files.list.lastName ?? ""
    }
  }

  /// Opening one domain never waits for another.
  private final class Slot: Sendable {
    let engine = TimedLock<DefaultsEngine?>(nil)
  }

  private static let slots = Mutex<[Key: (slot: Slot, users: Int)]>([:])

  /// Each call needs one ``release(_:)``.
  static func open(
    _ key: Key, _ options: EngineOptions, until deadline: LockDeadline, _ make: () throws(StoreError) -> DefaultsEngine
  ) throws(StoreError) -> DefaultsEngine {
    let slot = slots.withLock { slots in
      let slot = slots[key]?.slot ?? Slot()
      slots[key, default: (slot, 0)].users += 1
      return slot
    }
    do {
      return try slot.engine.withLock(until: deadline, busy: { key.busy }) { (engine, _) throws(StoreError) in
        if let engine, engine.isWritable {
          engine.adopt(options)
          return engine
        }
        // By now it may be writable.
        let new = try make()
        if let engine, engine.isAsUnwritable(as: new) {
          engine.adopt(options)
          return engine
        }
        engine = new
        return new
      }
    } catch {
      release(key)
      throw error
    }
  }

  static func release(_ key: Key) {
    slots.withLock { slots in
      guard let entry = slots[key] else { return }
      slots[key] = entry.users > 1 ? (entry.slot, entry.users - 1) : nil
    }
  }
}
