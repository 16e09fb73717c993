import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Synchronization
import Testing

/// Observation on the main actor: owners that are not `Sendable`, and closures that touch them.
@MainActor @Suite struct MainActorTests {
  /// As in programs: a class without a word on concurrency.
  class Label {
    var texts: [String] = []
    var deinitialized: (@MainActor () -> Void)?
  }
  struct Keys: KeySpace {
    let number = StorageKey("number", default: 0)
    let token = StorageKey("token", secret: String.self)
  }
  let keys = Keys()

  @Test func `an owner that is not Sendable gets the present value at once, and then the newest, on the main actor`() async throws
  {
    let app = try StorageRouter.inMemory(keys: keys), label = Label()
    try app.observe(keys.number, on: .shared, owner: label) { label, value in
      MainActor.assertIsolated()
      label.texts.append("\(value)")
    }
    #expect(label.texts == ["success(0)"])
    let (router, number) = (app, keys.number)
    await Task.detached { for value in 1...200 { #expect(throws: Never.self) { try router.set(value, for: number) } } }.value
    try await poll("the newest") { label.texts.last == "success(200)" }
    #expect(zip(label.texts, label.texts.dropFirst()).allSatisfy { $0 != $1 })
  }

  @Test func `the closure is told no more once it is cancelled, replaced, or its owner is gone, and keeps none of it`()
    async throws
  {
    let app = try StorageRouter.inMemory(keys: keys)
    let other = Label()
    weak var gone: Label?
    do {
      let label = Label()
      gone = label
      try app.observe(keys.number, on: .shared, owner: label) { label, value in label.texts.append("\(value)") }
    }
    #expect(gone == nil)
    try app.observe(keys.number, on: .shared, owner: other) { other, _ in other.texts.append("former") }
    let cancel = try app.observe(keys.number, on: .shared, owner: other) { other, _ in other.texts.append("latter") }
    try await app.set(1, for: keys.number)
    try await poll("the second closure alone") { other.texts == ["former", "latter", "latter"] }
    cancel()
    try await app.set(2, for: keys.number)
    let last = Label()
    try app.observe(keys.number, on: .shared, owner: last) { last, value in last.texts.append("\(value)") }
    try await app.set(3, for: keys.number)
    try await poll("another observer's news") { last.texts.last == "success(3)" }
    #expect(other.texts.count == 3)
  }

  @Test func `a value of the vault, and why there is none, is told as well; closing the router ends it`() async throws {
    let app = try StorageRouter.inMemory(keys: keys), label = Label()
    try app.observe(keys.token, on: .shared, owner: label) { label, value in
      do { label.texts.append(try value.get()?.reveal() ?? "nil") } catch { label.texts.append("\(error)") }
    }
    try await app.set(Sealed("a"), for: keys.token)
    try await poll("the token") { label.texts == ["nil", "a"] }
    app.endObservation()
    try await app.set(Sealed("b"), for: keys.token)
    let other = Label()
    try app.observe(keys.number, on: .shared, owner: other) { other, value in other.texts.append("\(value)") }
    try await app.set(1, for: keys.number)
    try await poll("news of later observers") { other.texts.count == 2 }
    #expect(label.texts == ["nil", "a"])
  }

  @Test func `a handler calls a closure of the main actor there, in the order of the triggers`() async throws {
    let handler = Handler<Int>(), label = Label()
    handler.add(label, on: .shared) { label, value in
      MainActor.assertIsolated()
      label.texts.append("\(value)")
    }
    #expect(handler.count == 1)
    await Task.detached { for value in 1...100 { handler.trigger(value) } }.value
    try await poll("all of them") { label.texts == (1...100).map(String.init) }
  }

  @Test func `D5 a trigger on the main actor is over when it returns, and waiting triggers come first`() {
    let handler = Handler<Int>(), label = Label()
    handler.add(label, on: .shared) { label, value in
      label.texts.append("\(value)")
      if value == 2 { handler.trigger(3) }
    }
    // The test holds the main actor: the other thread's trigger waits for it.
    let triggered = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      handler.trigger(1)
      triggered.signal()
    }
    triggered.wait()
    #expect(label.texts == [])
    handler.trigger(2)
    #expect(label.texts == ["1", "2", "3"])
  }

  @Test func `a handler keeps no owner of the main actor, replaces its closure and drops it with the owner`() {
    let handler = Handler<Int>()
    var label: Label? = Label()
    weak let gone = label
    let seen = Mutex<[Int]>([])
    if let label {
      handler.add(label, on: .shared) { label, value in label.texts.append("former") }
      handler.add(label, on: .shared) { label, value in label.texts.append("\(value)") }
      handler.trigger(1)
      #expect(label.texts == ["1"])
      #expect(handler.count == 1)
    }
    label = nil
    #expect(gone == nil)
    handler.trigger(2)
    let other = Label()
    let cancel = handler.add(other, on: .shared) { _, value in seen.withLock { $0.append(value) } }
    #expect(handler.count == 1)
    handler.trigger(3)
    cancel()
    handler.trigger(4)
    #expect(handler.count == 0)
    #expect(seen.withLock { $0 } == [3])
    withExtendedLifetime(other) {}
  }

  @Test func `owners of the main actor that are gone count no more, and go without a trigger, with what closures captured`()
    async throws
  {
    let handler = Handler<Int>()
    final class Weak { weak var label: Label? }
    var screens = (0..<1000).map { _ in Label() }
    let captured = (0..<1000).map { _ in Weak() }
    for (screen, place) in zip(screens, captured) {
      let model = Label()
      place.label = model
      handler.add(screen, on: .shared) { _, _ in model.texts.append("told") }
    }
    #expect(handler.count == 1000)
    screens = []
    #expect(handler.count == 0)
    let (label, later) = (Label(), (0..<1100).map { _ in Label() })
    handler.add(label, on: .shared) { _, _ in }
    await Task.detached { #expect(handler.count == 1, "from a thread of no actor") }.value
    // Once they may be half of all, a handler looks for those without an owner.
    for screen in later { handler.add(screen, on: .shared) { _, _ in } }
    #expect(handler.count == 1101)
    try await poll("what they captured goes") { captured.allSatisfy { $0.label == nil } }
    withExtendedLifetime((label, later)) {}
  }
}
