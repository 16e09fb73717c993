internal import CCofferSQLite
internal import CofferPlatform
internal import Foundation
internal import Synchronization

/// A transaction's effects on other processes, each announced before it is made. A driver that reads the announcements makes
/// one effect at a time, or kills this process between two.
///
/// | step | next effect |
/// |---|---|
/// | `fold`, `unfold` | flock(2) of the file for the right to fold |
/// | `lock`, `unlock` | flock(2) of the journal |
/// | `append` | the store of the word that shows a record to readers |
/// | `sync` | fdatasync(2) of the journal |
/// | `begin` | fcntl(2) that takes the vault's write lock |
/// | `write` | pwrite(2) of a commit's frames into the vault's log; the last one marks the commit |
/// | `publish` | the sync of the vault's log and the stores that show the commit |
/// | `release` | fcntl(2) that releases the vault's write lock |
enum Steps {
  enum Mode {
    /// A line `at STEP` on standard output; the step is made when a line comes from standard input.
    case driven
    /// A line `PROCESS STEP` in the file; the step is made at once.
    case recorded(FileHandle)
  }

  private struct State {
    var mode: Mode?
    var last = ""
  }
  private static let state = Mutex(State())

  /// Announces every later step of this process in `mode`: `driven`, or the path of the record.
  static func announce(_ mode: String, _ calls: inout SystemCalls) throws {
    if mode == "driven" {
      state.withLock { $0.mode = .driven }
    } else {
      let descriptor = open(mode, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
      state.withLock { $0.mode = .recorded(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)) }
    }
    announcePlain(&calls)
    announceVault()
    say("start")
  }

  static var areAnnounced: Bool { state.withLock { $0.mode != nil } }

  /// Adds this process's input or answer to the record.
  static func say(_ word: String) {
    state.withLock { state in
      if case .recorded(let file) = state.mode { file.write(Data("\(getpid()) \(word)\n".utf8)) }
    }
  }

  /// Announces `step`, and returns when it may be made. Retries for a taken lock are recorded once.
  static func reach(_ step: String) {
    state.withLock { state in
      switch state.mode {
      case nil: return
      case .driven:
        Serving.say("at \(step)")
        guard readLine() != nil else { exit(0) }
      case .recorded(let file):
        if state.last != step || !["fold", "lock", "begin"].contains(step) { file.write(Data("\(getpid()) \(step)\n".utf8)) }
        state.last = step
        // Others may come between.
        usleep(.random(in: 0...300))
      }
    }
  }

  private static func announcePlain(_ calls: inout SystemCalls) {
    let (lock, synchronize) = (calls.lock, calls.synchronize)
    calls.lock = { descriptor, operation in
      reach((operation == LOCK_UN ? "un" : "") + (isFoldLock(descriptor) ? "fold" : "lock"))
      return lock(descriptor, operation)
    }
    calls.synchronize = { descriptor in
      reach("sync")
      return synchronize(descriptor)
    }
    calls.reached = { if $0 == .recordCopied { reach("append") } }
  }

  private static func isFoldLock(_ descriptor: Int32) -> Bool {
    let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
    return path?.hasSuffix("-fold") ?? false
  }

  // MARK: SQLite's system calls

  /// SQLite lets its own system calls be replaced (sqlite.org/vfs.html, xSetSystemCall).
  private static func announceVault() {
    guard let system = sqlite3_vfs_find(nil), let set = system.pointee.xSetSystemCall else { return }
    for name in ["pwrite", "pwrite64"] { _ = set(system, name, unsafeBitCast(write, to: sqlite3_syscall_ptr.self)) }
    _ = set(system, "fcntl", unsafeBitCast(control, to: sqlite3_syscall_ptr.self))
  }

  /// A frame's header: its page, the file's pages after its commit or zero, and checksums (sqlite.org/fileformat2.html,
  /// 4.2).
  private static let (frameHeaderBytes, logHeaderBytes, pageBytes) = (24, 32, 4096)

  private struct Commit {
    var hasBegun = false, isWriting = false, isLastFrame = false
    /// The reader locks of this process, by their bytes in the log index's file.
    var readLocks: Set<off_t> = []
  }
  nonisolated(unsafe) private static var commit = Commit()

  private static let write: @convention(c) (Int32, UnsafeRawPointer?, Int, off_t) -> Int = { descriptor, bytes, count, offset in
    let place = Int(offset) - logHeaderBytes
    let isFrame = count == frameHeaderBytes && place >= 0 && place % (frameHeaderBytes + pageBytes) == 0
    if commit.hasBegun, !commit.isWriting, isFrame || count == logHeaderBytes && offset == 0 {
      commit.isWriting = true
      reach("write")
    }
    let written = pwrite(descriptor, bytes, count, offset)
    if isFrame, let bytes {
      commit.isLastFrame = bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self) != 0
    } else if count == pageBytes, commit.isLastFrame {
      commit.isLastFrame = false
      if commit.hasBegun { reach("publish") }
    }
    return written
  }

  /// Offsets of SQLite's locks in the log index's file: writers and readers (sqlite.org/walformat.html, 2.3).
  private static let (writeLock, readLocks): (off_t, ClosedRange<off_t>) = (120, 123...127)

  private static let control: @convention(c) (Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
    descriptor, command, argument in
    guard let argument else { return fcntl(descriptor, command, 0) }
    let lock = command == F_SETLK ? argument.assumingMemoryBound(to: flock.self).pointee : flock()
    let isWriter = lock.l_start == writeLock && lock.l_len == 1
    // Recovery of the log takes the writers' lock too, before any read.
    if isWriter, lock.l_type == F_WRLCK, !commit.readLocks.isEmpty {
      reach("begin")
      commit = Commit(hasBegun: true, readLocks: commit.readLocks)
    } else if isWriter, lock.l_type == F_UNLCK, commit.hasBegun {
      reach("release")
      commit.hasBegun = false
    }
    let result = fcntl(descriptor, command, argument)
    if result == 0, readLocks.contains(lock.l_start), lock.l_len == 1 {
      if lock.l_type == F_UNLCK { commit.readLocks.remove(lock.l_start) } else { commit.readLocks.insert(lock.l_start) }
    }
    return result
  }
}
