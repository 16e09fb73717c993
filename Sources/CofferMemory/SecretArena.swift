internal import CCofferSodium
internal import CofferPlatform
internal import Synchronization

/// All guarded memory of the process, carved from a few `sodium_malloc` regions.
///
/// One region a secret does not scale: `sodium_malloc` plus `sodium_free` costs 23 µs (measured), and about 16 000 regions of
/// four mappings reach the kernel's limit. So blocks of up to 16 KiB come from 64 KiB slabs of one block size; larger blocks
/// have their own region.
///
/// Every region begins with a non-zero mark. The kernel zeroes these pages in a forked child (`MADV_WIPEONFORK`), so a
/// missing mark shows the child that its secrets are gone.
final class SecretArena: Sendable {
  static let shared = SecretArena()

  /// Bytes at the head of each region for the mark; a whole cache line keeps blocks aligned.
  static let headerBytes = 64
  static let slabBytes = 64 * 1024
  static let smallestBlock = 32
  static let largestBlock = 16 * 1024

  /// A lent block. `region` is the address of the mark.
  struct Block {
    let start: UnsafeMutableRawPointer
    let region: UnsafeMutableRawPointer
    let capacity: Int
    let isLocked: Bool

    /// False in a forked child: the kernel has zeroed the region.
    var isIntact: Bool { region.load(as: UInt64.self) == SecretArena.mark }
  }

  /// Results of `mlock` for the live regions, and the count of all regions ever made.
  struct LockTally { var locked = 0, unlocked = 0, firstError: Int32 = 0, regions = 0 }

  private struct State {
    /// Free blocks of 2^n bytes at index n. A dictionary's hashing would cost as much as the wiping.
    var free = [[Block]](repeating: [], count: largestBlock.trailingZeroBitCount + 1)
    var tally = LockTally()
  }

  private static let mark: UInt64 = 0x5EC2_E7B1_0C4B_57A9
  // Blocks hold raw pointers; each is owned by exactly one SecretBytes or by the free list under this lock.
  private let state = Mutex(UncheckedState(State()))
  private struct UncheckedState: @unchecked Sendable {
    var inner: State
    init(_ inner: State) { self.inner = inner }
  }

  private init() { _ = Sodium.ready }

  var tally: LockTally { state.withLock { $0.inner.tally } }

  /// A zeroed block of at least `count` bytes.
  func take(_ count: Int) throws(SecretMemoryError) -> Block {
    let capacity = Self.capacity(for: count)
    let size = capacity.trailingZeroBitCount
    return try state.withLock { (held) throws(SecretMemoryError) in
      // In a forked child the parent's free blocks lie in regions without a mark, and would read as gone for ever.
      if capacity <= Self.largestBlock {
        while let block = held.inner.free[size].popLast() { if block.isIntact { return block } }
      } else {
        let (region, isLocked) = try Self.region(bytes: Self.headerBytes + capacity, tally: &held.inner.tally)
        return Block(start: region + Self.headerBytes, region: region, capacity: capacity, isLocked: isLocked)
      }
      let (region, isLocked) = try Self.region(bytes: Self.slabBytes, tally: &held.inner.tally)
      let first = max(Self.headerBytes, capacity)
      var blocks = stride(from: first, through: Self.slabBytes - capacity, by: capacity).map {
        Block(start: region + $0, region: region, capacity: capacity, isLocked: isLocked)
      }
      let block = blocks.removeLast()
      held.inner.free[size].append(contentsOf: blocks)
      return block
    }
  }

  /// Wipes `block` and takes it back. In a forked child the block is already zeros, and the bookkeeping is the child's copy,
  /// so the same code is right there.
  func give(_ block: Block) {
    sodium_memzero(block.start, block.capacity)
    guard block.capacity > Self.largestBlock else {
      state.withLock { $0.inner.free[block.capacity.trailingZeroBitCount].append(block) }
      return
    }
    let bytes = Self.roundedToPages(Self.headerBytes + block.capacity)
    state.withLock { held in
      if block.isLocked { held.inner.tally.locked -= bytes } else { held.inner.tally.unlocked -= bytes }
    }
    sodium_free(block.region)
  }

  private static func capacity(for count: Int) -> Int {
    guard count <= largestBlock else { return count }
    guard count > smallestBlock else { return smallestBlock }
    return 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)
  }

  private static let pageBytes = max(4096, Int(sysconf(Int32(_SC_PAGESIZE))))

  private static func roundedToPages(_ bytes: Int) -> Int { (bytes + pageBytes - 1) / pageBytes * pageBytes }

  /// A region of whole pages, so that it starts on a page as `madvise` needs. `sodium_malloc` adds guard pages and a canary,
  /// and tries to lock it, but hides a failure; a second lock reveals it.
  private static func region(
    bytes: Int, tally: inout LockTally
  ) throws(SecretMemoryError) -> (start: UnsafeMutableRawPointer, isLocked: Bool) {
    let bytes = roundedToPages(bytes)
    guard let region = sodium_malloc(bytes) else { throw .exhausted(bytes: bytes) }
    tally.regions += 1
    let isLocked = sodium_mlock(region, bytes) == 0
    if isLocked {
      tally.locked += bytes
    } else {
      tally.unlocked += bytes
      if tally.firstError == 0 { tally.firstError = errno }
    }
    _ = coffer_wipe_on_fork(region, bytes)  // Kernels before 4.14 cannot; the mark then survives, as it always did there.
    sodium_memzero(region, bytes)
    region.storeBytes(of: mark, as: UInt64.self)
    return (region, isLocked)
  }
}
