import CofferStorage
import CofferTestSupport
import Dispatch
import Synchronization
import Testing

final class Owner: Sendable {}

@Suite
struct HandlerTests {
  @Test func `closures are called on the calling thread in the order of their owners`() {
    let handler = Handler<Int>(), record = Collected<String>(), owners = (0..<4).map { _ in Owner() }
    for (number, owner) in owners.enumerated() { handler.add(owner) { record.add("\(number):\($0)") } }
    handler.trigger(7)
    #expect(record.all == ["0:7", "1:7", "2:7", "3:7"])
  }

  @Test func `an owner has one closure, and a second one takes the place of the first`() {
    let handler = Handler<Void>(), record = Collected<String>(), one = Owner(), two = Owner()
    handler.add(one) { record.add("old") }
    handler.add(two) { record.add("two") }
    handler.add(one) { record.add("new") }
    handler.trigger()
    #expect(record.all == ["new", "two"])
    #expect(handler.count == 2)
  }

  @Test func `owners are held weakly, and the closures of those that are gone are dropped with what they hold`() {
    let handler = Handler<Void>(), record = Collected<String>()
    weak var captured: Owner?
    do {
      let owner = Owner(), capture = Owner()
      captured = capture
      handler.add(owner) { record.add("\(capture)") }
      #expect(handler.count == 1)
    }
    #expect(handler.count == 0)
    handler.trigger()
    #expect(record.all.isEmpty)
    #expect(captured == nil)
  }

  @Test func `a stale canceller removes no newer closure, and a canceller outlives its handler`() {
    var handler: Handler<Int>? = Handler<Int>()
    let record = Collected<Int>(), owner = Owner()
    let stale = handler?.add(owner) { record.add($0) }
    let fresh = handler?.add(owner) { record.add($0 * 10) }
    stale?()
    handler?.trigger(1)
    #expect(record.all == [10])
    fresh?()
    fresh?()
    handler?.trigger(2)
    #expect(record.all == [10])
    handler = nil
    fresh?()
  }

  @Test func `a new object at a former owner's address is another owner`() throws {
    let handler = Handler<Void>(), record = Collected<String>()
    var reused = false
    for _ in 0..<1000 where !reused {
      var former: Owner? = Owner()
      let id = former.map(ObjectIdentifier.init)
      let cancelFormer = former.map { handler.add($0) { record.add("former") } }
      former = nil
      let next = Owner()
      guard ObjectIdentifier(next) == id else { continue }
      reused = true
      handler.add(next) { record.add("next") }
      cancelFormer?()
      handler.trigger()
      #expect(record.all == ["next"])
    }
    // An allocator that looks for faults, as AddressSanitizer's, never reuses an address.
    if !reused { try Test.skip("the allocator never gave an address twice") }
  }

  @Test func `closures may add, cancel and trigger`() {
    let handler = Handler<Int>(), record = Collected<String>(), one = Owner(), two = Owner(), three = Owner()
    let cancelTwo = Mutex<Handler<Int>.Canceller?>(nil)
    handler.add(one) { value in
      record.add("one \(value)")
      guard value > 0 else { return }
      handler.add(three) { record.add("three \($0)") }
      cancelTwo.withLock { $0 }?()
      handler.trigger(value - 1)
    }
    let cancel = handler.add(two) { record.add("two \($0)") }
    cancelTwo.withLock { $0 = cancel }
    handler.trigger(1)
    // Owners added meanwhile get the trigger that began later; cancelled ones get none.
    #expect(record.all == ["one 1", "one 0", "three 0"])
  }

  @Test func `an owner that gets another closure during a trigger is called with that one`() {
    let handler = Handler<Void>(), record = Collected<String>(), one = Owner(), two = Owner()
    handler.add(one) { handler.add(two) { record.add("new") } }
    handler.add(two) { record.add("old") }
    handler.trigger()
    #expect(record.all == ["new"])
  }

  @Test func `an owner that goes during a trigger is not called`() {
    let handler = Handler<Void>(), record = Collected<String>(), one = Owner()
    let other = Mutex<Owner?>(Owner())
    handler.add(one) { _ = other.withLock { $0.take() } }
    if let owner = other.withLock({ $0 }) { handler.add(owner) { record.add("gone") } }
    handler.trigger()
    #expect(record.all.isEmpty)
    #expect(handler.count == 1)
  }

  @Test func `what a closure holds may call the handler as it is released`() {
    final class Caller: Sendable {
      let handler: Handler<Void>
      init(_ handler: Handler<Void>) { self.handler = handler }
      deinit {
        handler.trigger()
        _ = handler.count
      }
    }
    let handler = Handler<Void>(), owner = Owner(), other = Owner()
    for _ in 0..<3 {
      let caller = Caller(handler)
      handler.add(owner) { withExtendedLifetime(caller) {} }
    }
    let caller = Caller(handler)
    let cancel = handler.add(other) { withExtendedLifetime(caller) {} }
    cancel()
    handler.removeAll()
    #expect(handler.count == 0)
  }

  @Test(.tags(.process), .defaultRun) func `an owner that goes while another is added may cancel as it goes`() async {
    await #expect(processExitsWith: .success) { Self.letOwnersGoDuringAdditions() }
  }

  private static func letOwnersGoDuringAdditions() {
    final class Quitter: Sendable {
      let cancel = Mutex<Handler<Void>.Canceller?>(nil)
      deinit { cancel.withLock { $0 }?() }
    }
    for round in 0..<20_000 {
      let handler = Handler<Void>(), leaving = Mutex<[Quitter]>([])
      // As many as a handler may have before an addition looks for dead owners.
      for _ in 0..<32 {
        let owner = Quitter(), cancel = handler.add(owner) {}
        owner.cancel.withLock { $0 = cancel }
        leaving.withLock { $0.append(owner) }
      }
      let arrived = Atomic<Int>(0), newcomer = Owner()
      DispatchQueue.concurrentPerform(iterations: 2) { side in
        arrived.add(1, ordering: .acquiringAndReleasing)
        // No barrier: one thread may have to take both sides.
        for _ in 0..<10_000 where arrived.load(ordering: .acquiring) < 2 {}
        if side == 0 { handler.add(newcomer) {} } else { _ = leaving.withLock { $0.remove(at: round % $0.count) } }
      }
    }
  }

  @Test func `threads that add, cancel and trigger lose nothing`() {
    let handler = Handler<Int>(), hits = Atomic<Int>(0), stays = Owner()
    handler.add(stays) { _ in hits.add(1, ordering: .relaxed) }
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for number in 0..<500 {
        let owner = Owner()
        let cancel = handler.add(owner) { _ in }
        handler.trigger(number)
        if number % 2 == 0 { cancel() }
      }
    }
    #expect(hits.load(ordering: .relaxed) == 2000)
    handler.trigger(0)
    #expect(handler.count == 1)
  }
}
