internal import CofferPlatform
internal import Synchronization

/// This process's id without a system call: every write asks for it, to tell a process from the child it was forked into.
///
/// The id stands in a page that the kernel hands to a forked child as zeros (madvise(2), `MADV_WIPEONFORK`, Linux 4.14), however
/// the child came to be. Where there is no such page the system is asked each time.
enum ProcessMark {
  private static let page: UInt? = makePage()

  @inline(__always)
  static var current: pid_t {
    guard let page, let word = UnsafeMutablePointer<Atomic<pid_t>>(bitPattern: page) else { return getpid() }
    let known = word.pointee.load(ordering: .relaxed)
    return known != 0 ? known : mark(word)
  }

  private static func mark(_ word: UnsafeMutablePointer<Atomic<pid_t>>) -> pid_t {
    let process = getpid()
    word.pointee.store(process, ordering: .relaxed)
    return process
  }

  private static func makePage() -> UInt? {
    let bytes = Int(sysconf(Int32(_SC_PAGESIZE)))
    let address = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let address, address != MAP_FAILED else { return nil }
    guard coffer_wipe_on_fork(address, bytes) == 0 else {
      munmap(address, bytes)
      return nil
    }
    return UInt(bitPattern: address)
  }
}
