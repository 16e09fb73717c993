import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Dispatch
import Foundation
import Synchronization
import Testing

@Suite
struct RouterObservationTests {
  struct Keys: KeySpace {
    let theme = StorageKey("theme", default: "light")
    let size = StorageKey("size", default: 1)
    let token = StorageKey("token", secret: String.self)
    let user = StorageKey("user", vaulted: String.self)
  }
  let keys = Keys()
  let router: StorageRouter

  init() throws { router = try .inMemory(keys: keys) }

  @Test func `a sequence begins with the present value and goes on with the newest`() async throws {
    var values = try router.changes(of: keys.theme).makeAsyncIterator()
    #expect(try await values.next()?.get() == "light")
    try await router.set("dark", for: keys.theme)
    #expect(try await values.next()?.get() == "dark")
    for number in 0..<100 { try await router.set("\(number)", for: keys.theme) }
    var last = ""
    while last != "99", let value = try await values.next()?.get() { last = value }
    #expect(last == "99")
  }

  @Test func `an equal write and another key's write give no element`() async throws {
    var values = try router.changes(of: keys.theme).makeAsyncIterator()
    #expect(try await values.next()?.get() == "light")
    try await router.set(7, for: keys.size)
    try await router.set("dark", for: keys.theme)
    #expect(try await values.next()?.get() == "dark")
    try await router.set("dark", for: keys.theme)
    try await router.set("blue", for: keys.theme)
    #expect(try await values.next()?.get() == "blue")
  }

  @Test func `several keys of both stores come together, from one moment`() async throws {
    var values = try router.changes(of: keys.theme, keys.user, keys.size).makeAsyncIterator()
    guard case .success(let first)? = await values.next() else {
      Issue.record("no first element")
      return
    }
    #expect(first == ("light", nil, 1))
    try await router.transaction { tx in
      try tx.set("dark", for: keys.theme)
      try tx.set("anna", for: keys.user)
    }
    guard case .success(let second)? = await values.next() else {
      Issue.record("no second element")
      return
    }
    #expect(second == ("dark", "anna", 1))
  }

  @Test func `what cannot be decoded is an element, and the sequence goes on`() async throws {
    var values = try router.changes(of: keys.size).makeAsyncIterator()
    _ = await values.next()
    try router.plain.save(.string("not a number"), for: "size")
    guard case .failure(let error)? = await values.next() else {
      Issue.record("no failure")
      return
    }
    #expect(error.kind == .undecodable(stored: "string"))
    #expect(error.key == "size")
    try await router.set(3, for: keys.size)
    #expect(try await values.next()?.get() == 3)
  }

  @Test func `a sequence ends with the router's observation, and with its task`() async throws {
    let theme = try router.changes(of: keys.theme)
    let task = Task { [router, keys] in
      var count = 0
      for await _ in try router.changes(of: keys.size) { count += 1 }
      return count
    }
    router.endObservation()
    var count = 0
    for await _ in theme { count += 1 }
    #expect(count == 1)
    task.cancel()
    #expect(try await task.value <= 1)
  }

  @Test func `a store that tells nothing gives the present value and ends`() async throws {
    let mute = try StorageRouter(plain: MuteStore(), vault: MemoryStore<Vault>(), keys: keys)
    try await mute.set("dark", for: keys.theme)
    var seen: [String] = []
    for await value in try mute.changes(of: keys.theme) { seen.append(try value.get()) }
    #expect(seen == ["dark"])
  }

  @Test func `a key whose space was not given cannot be observed`() throws {
    let stranger = StorageKey("stranger", default: 0)
    #expect(throws: StoreError.self) { try router.changes(of: stranger) }
    #expect(throws: StoreError.self) { try router.observe(stranger, owner: Owner()) { _ in } }
  }

  @Test func `an owner hears of its key for as long as it lives`() async throws {
    let record = Collected<String>(), done = Signals()
    var owner: Owner? = Owner()
    if let owner {
      try router.observe(keys.theme, owner: owner) { value in
        if case .success(let theme) = value { record.add(theme) }
        done.give()
      }
    }
    await done.take()
    try await router.set("dark", for: keys.theme)
    await done.take()
    #expect(record.all == ["light", "dark"])
    owner = nil
    try await router.set("blue", for: keys.theme)
    let other = Owner()
    try router.observe(keys.theme, owner: other) { _ in done.give() }
    await done.take()
    try await router.set("red", for: keys.theme)
    await done.take()
    #expect(record.all == ["light", "dark"])
  }

  @Test func `an observer may set, observe and cancel`() async throws {
    let done = Signals(), one = Owner(), two = Owner(), record = Collected<Int>()
    let cancel = Mutex<(@Sendable () -> Void)?>(nil), isCancellable = DispatchSemaphore(value: 0)
    let router = router, keys = keys
    let canceller = try router.observe(keys.size, owner: one) { value in
      guard case .success(let size) = value else { return }
      record.add(size)
      do {
        if size < 5 { try router.set(size + 1, for: keys.size) }
        if size == 5 {
          // The queue may be here before the thread below has its canceller.
          isCancellable.wait()
          cancel.withLock { $0 }?()
          try router.observe(keys.theme, owner: two) { _ in done.give() }
          try router.set("dark", for: keys.theme)
        }
      } catch { Issue.record(error) }
    }
    cancel.withLock { $0 = canceller }
    isCancellable.signal()
    await done.take()
    await done.take()
    try await router.set(9, for: keys.size)
    try await router.set("end", for: keys.theme)
    await done.take()
    #expect(record.all == [1, 2, 3, 4, 5])
  }

  @Test func `whichever threads count up, no observer gets a number twice, or a lower one after a higher`() async throws {
    let owners = (0..<4).map { _ in Owner() }, records = owners.map { _ in Collected<Int>() }, done = Signals()
    let router = router, keys = keys, threads = 4, rounds = 250
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<threads {
        group.addTask { for _ in 0..<rounds { try router.update(keys.size) { $0 += 1 } } }
      }
      for (owner, record) in zip(owners, records) {
        try router.observe(keys.size, owner: owner) { value in
          guard case .success(let size) = value else { return }
          record.add(size)
          if size == threads * rounds + 1 { done.give() }
        }
      }
      try await group.waitForAll()
    }
    for _ in owners { await done.take() }
    for record in records {
      let told = record.all
      #expect(zip(told, told.dropFirst()).allSatisfy { $0 < $1 }, "\(told)")
    }
    withExtendedLifetime(owners) {}
  }

  @Test func `a receiver that blocks holds no writer up`() async throws {
    let gate = DispatchSemaphore(value: 0), done = Signals()
    let subscription = try router.plain.changes.subscribe { _ in
      gate.wait()
      done.give()
    }
    for number in 0..<100 { try await router.set(number, for: keys.size) }
    for _ in 0..<99 { gate.signal() }
    for _ in 0..<99 { await done.take() }
    subscription.cancel()
    gate.signal()
  }

  @Test func `events come in order, with cause and origin, and none for an equal write`() async throws {
    let record = Collected<Change>(), done = Signals()
    let subscription = try router.plain.changes.subscribe { event in
      if case .changes(let changes) = event { changes.forEach(record.add) }
      if event == .ended { done.give() }
    }
    try await router.set("dark", for: keys.theme)
    try await router.set("dark", for: keys.theme)
    try await router.set(2, for: keys.size)
    try await router.remove(keys.theme)
    try await router.remove(keys.theme)
    (router.plain as? MemoryStore<Plain>)?.changes.end()
    await done.take()
    #expect(
      record.all == [
        Change("theme", .set, by: .thisProcess), Change("size", .set, by: .thisProcess),
        Change("theme", .removed, by: .thisProcess),
      ])
    subscription.cancel()
  }

  @Test func `a released or cancelled subscription hears nothing more`() async throws {
    let heard = Signals(), record = Collected<Int>()
    let feed = ChangeFeed()
    do {
      let released = try feed.subscribe { _ in record.add(1) }
      withExtendedLifetime(released) {}
    }
    let cancelled = try feed.subscribe { _ in record.add(2) }
    cancelled.cancel()
    #expect(!feed.isObserved)
    let kept = try feed.subscribe { _ in heard.give() }
    feed.send(.access)
    await heard.take()
    #expect(record.all.isEmpty)
    kept.cancel()
  }
}

final class Signals: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  init() { (stream, continuation) = AsyncStream.makeStream() }
  func give() { continuation.yield() }
  func take() async {
    var iterator = stream.makeAsyncIterator()
    _ = await iterator.next()
  }
}

/// A store without a feed of its own.
struct MuteStore: LayeredStore {
  private let store = MemoryStore<Plain>()
  var place: String { store.place }
  func load(_ name: String) throws(StoreError) -> PlainForm? { try store.load(name) }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Plain>] { try store.load(names) }
  func names() throws(StoreError) -> [String] { try store.names() }
  func update(_ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?) throws(StoreError) {
    try store.update(name, body)
  }
  func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) { try store.commit(batch, decision: decision) }
}
