internal import CofferPlatform
internal import Synchronization

/// A lock around a value that is mostly read.
///
/// Under a mutex, threads that only read wait for each other and pass one cache line from core to core. While this lock is
/// biased toward readers, each thread takes its own slot. A writer removes the bias, waits until the slots are empty, and
/// works under the mutex. After some reads without a change the bias returns.
///
/// Source: D. Dice, A. Kogan, "BRAVO – Biased Locking for Reader-Writer Locks", USENIX ATC 2019.
struct BiasedLock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  // Sendable: the value is changed only under the mutex with no bias and all slots empty, and read only under the mutex or in
  // a slot taken before the bias was seen. A reader takes its slot and then reads the bias; a writer removes the bias and
  // then reads the slots. All four accesses are sequentially consistent, so either the writer sees the slot or the reader
  // sees that the bias is gone. A write reaches readers with the bias, which returns after it under the mutex. A read is over
  // when its slot is seen empty, because leaving releases and looking acquires.
  private let value: UnsafeMutablePointer<Value>
  private let slots: UnsafeMutableRawPointer
  private let isBiased = Atomic<Bool>(false)
  /// Guards the value, and counts the reads since its last change.
  private let calmReads = Mutex(0)

  /// More threads share slots, and take the mutex when they collide.
  private static var slotCount: Int { 16 }
  /// Two cache lines: processors fetch them in pairs.
  private static var slotBytes: Int { 128 }
  /// This many reads outweigh the cost of removing the bias.
  private static var readsBeforeBias: Int { 64 }

  init(_ initial: consuming Value) {
    value = .allocate(capacity: 1)
    value.initialize(to: initial)
    slots = .allocate(byteCount: Self.slotCount * Self.slotBytes, alignment: Self.slotBytes)
    for number in 0..<Self.slotCount {
      (slots + number * Self.slotBytes).initializeMemory(as: Atomic<UInt32>.self, to: Atomic(0))
    }
  }

  deinit {
    value.deinitialize(count: 1)
    value.deallocate()
    slots.deallocate()
  }

  @inline(__always)
  func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
    try calmReads.withLock { (calmReads) throws(Failure) in
      calmReads = 0
      if isBiased.load(ordering: .relaxed) { removeBias() }
      return try body(&value.pointee)
    }
  }

  @inline(__always)
  func withReadLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
    try calmReads.withLock { (calmReads) throws(Failure) in
      if isBiased.load(ordering: .relaxed) { removeBias() }
      let result = try body(&value.pointee)
      calmReads += 1
      if calmReads >= Self.readsBeforeBias {
        calmReads = 0
        isBiased.store(true, ordering: .sequentiallyConsistent)
      }
      return result
    }
  }

  /// Nil if there is no bias or slot, or if `body` returns nil. `body` must take no lock of this kind.
  @inline(__always)
  func withoutLock<Result, Failure: Error>(_ body: (borrowing Value) throws(Failure) -> Result?) throws(Failure) -> Result? {
    guard isBiased.load(ordering: .relaxed) else { return nil }
    let slot = slot(Int(coffer_thread_number()) % Self.slotCount)
    guard slot.pointee.compareExchange(expected: 0, desired: 1, ordering: .sequentiallyConsistent).exchanged else { return nil }
    defer { slot.pointee.store(0, ordering: .releasing) }
    // A thread that removed the bias before this slot was taken has not seen the slot.
    guard isBiased.load(ordering: .sequentiallyConsistent) else { return nil }
    return try body(value.pointee)
  }

  private func removeBias() {
    isBiased.store(false, ordering: .sequentiallyConsistent)
    for number in 0..<Self.slotCount {
      while slot(number).pointee.load(ordering: .sequentiallyConsistent) != 0 { sched_yield() }
    }
  }

  @inline(__always)
  private func slot(_ number: Int) -> UnsafeMutablePointer<Atomic<UInt32>> {
    (slots + number * Self.slotBytes).assumingMemoryBound(to: Atomic<UInt32>.self)
  }
}
