import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferDefaults

final class Heard: Sendable {
  private let events = Mutex<[(event: ChangeFeed.Event, at: UInt64)]>([])
  private let subscription = Mutex<Subscription?>(nil)

  init(_ feed: ChangeFeed) throws {
    let new = try feed.subscribe { [weak self] event in
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      let now = UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
      self?.events.withLock { $0.append((event, now)) }
    }
    subscription.withLock { $0 = new }
  }

  var all: [ChangeFeed.Event] { events.withLock { $0.map(\.event) } }
  var times: [UInt64] { events.withLock { $0.map(\.at) } }
  var changes: [Change] { all.flatMap { event -> [Change] in if case .changes(let changes) = event { changes } else { [] } } }
  func stop() { subscription.withLock { $0.take() }?.cancel() }

  func wait(_ condition: (Heard) -> Bool) -> Bool { eventually { condition(self) } }

  func waitFor(_ names: String...) -> Bool {
    wait { heard in names.allSatisfy { name in heard.changes.contains { $0.name == name } } }
  }
}

@Suite(.serialized)
struct ObservationTests {
  @Test func `own writes are told in order, with cause and origin, and none for an equal write`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(0), for: "before")
    let heard = try Heard(store.changes)
    try store.save(.integer(1), for: "a")
    #expect(heard.waitFor("a"))
    try store.save(.integer(1), for: "a")
    try store.save(nil, for: "absent")
    try store.save(.integer(2), for: "b")
    #expect(heard.waitFor("b"))
    try store.save(nil, for: "a")
    #expect(heard.wait { $0.changes.count == 3 })
    #expect(
      heard.changes == [
        Change("a", .set, by: .thisProcess), Change("b", .set, by: .thisProcess), Change("a", .removed, by: .thisProcess),
      ])
  }

  @Test func `a batch is told at once, and of one name's changes only the last`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let heard = try Heard(store.changes)
    var batch = Batch<Plain>()
    for number in 0..<5 { batch.writes["k\(number)"] = .set(.integer(Int64(number))) }
    try store.commit(batch, decision: nil)
    #expect(heard.wait { $0.changes.count == 5 })
    #expect(heard.all.count == 1)
    for number in 0..<1000 { try store.save(.integer(Int64(number)), for: "hot") }
    try store.save(.bool(true), for: "end")
    #expect(heard.waitFor("end"))
    for case .changes(let changes) in heard.all { #expect(Set(changes.map(\.name)).count == changes.count) }
  }

  @Test func `every event is of a value that can be read by then`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let seen = Mutex<[Int64]>([])
    let subscription = try store.changes.subscribe { event in
      guard case .changes = event else { return }
      if case .integer(let value)? = try? store.load("n") { seen.withLock { $0.append(value) } }
    }
    for number in 1...2000 { try store.save(.integer(Int64(number)), for: "n") }
    #expect(eventually { seen.withLock { $0.last } == 2000 })
    let values = seen.withLock { $0 }
    #expect(values.last == 2000)
    #expect(values == values.sorted(), "an older value after a newer one")
    subscription.cancel()
  }

  @Test(.tags(.kill, .process), .defaultRun) func `each set of another process is told at once, by its process, without a fold`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let heard = try Heard(store.changes)
    let tool = try Tool("pace", folder, arguments: [], hasInput: true)
    for number in 1...40 {
      tool.send("next\n")
      #expect(heard.wait { $0.changes.count == number })
    }
    #expect(heard.changes.allSatisfy { $0 == Change("n", .set, by: .otherProcess(id: tool.process.processIdentifier)) })
    guard case .integer(let last)? = try store.load("n"), let arrived = heard.times.last else {
      Issue.record("nothing arrived")
      return
    }
    print("latency of the last foreign change: \((Int64(arrived) - last) / 1000) µs")
    tool.kill()
    tool.finish()
  }

  @Test(.tags(.process), .defaultRun) func `a process that dies before it can tell is heard of by its death`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let heard = try Heard(store.changes)
    let tool = try Tool("die-before-bell", folder, arguments: [], hasInput: true)
    #expect(tool.firstLine() == "open")
    // Opening rings too, so observers must ask for the next bell.
    #expect(waitsForBell(store))
    tool.send("set\n")
    #expect(!tool.finish().contains("survived"), "this file system stores through system calls")
    #expect(heard.waitFor("k"))
  }

  private func waitsForBell(_ store: DefaultsStore) -> Bool {
    eventually { store.engine.state.withLock { $0.journal?.memory.isArmed ?? false } }
  }

  @Test(.tags(.process), .defaultRun) func `Foundation's write is told, without a process`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "k")
    try store.synchronize()
    let heard = try Heard(store.changes)
    try Tool("foundation-set", folder, "k", "7").finish()
    #expect(heard.waitFor("k"))
    #expect(heard.changes == [Change("k", .set, by: .otherProcess(id: nil))])
    #expect(try store.load("k") == .integer(7))
  }

  @Test func `an editor's replacement is told as the difference`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    for name in ["same", "other", "gone"] { try store.save(.string("old"), for: name) }
    try store.synchronize()
    let heard = try Heard(store.changes)
    let list = ["same": "old", "other": "new", "new": "new"]
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
    try data.write(to: URL(filePath: folder.file("d.plist").string), options: .atomic)
    #expect(heard.waitFor("other", "gone", "new"))
    #expect(
      Set(heard.changes) == [
        Change("other", .set, by: .otherProcess(id: nil)), Change("new", .set, by: .otherProcess(id: nil)),
        Change("gone", .removed, by: .otherProcess(id: nil)),
      ])
  }

  @Test func `a list that is removed is told, and what the journal holds stays`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "folded")
    try store.synchronize()
    try store.save(.integer(2), for: "journalled")
    let heard = try Heard(store.changes)
    try FileManager.default.removeItem(atPath: folder.file("d.plist").string)
    #expect(heard.waitFor("folded"))
    #expect(heard.changes == [Change("folded", .removed, by: .otherProcess(id: nil))])
  }

  @Test func `a list that becomes unreadable and is repaired is told as such`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "k")
    try store.synchronize()
    let good = try folder.bytes(of: "d.plist")
    let heard = try Heard(store.changes)
    try folder.write("not a property list", to: "d.plist")
    #expect(heard.wait { $0.all == [.access] })
    #expect(kind { _ = try store.load("k") } == .damaged)
    try good.write(to: URL(filePath: folder.file("d.plist").string), options: .atomic)
    #expect(heard.wait { $0.all.count == 2 })
    #expect(heard.all == [.access, .access])
    #expect(try store.load("k") == .integer(1))
  }

  @Test func `a fold, another process's too, is no change`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(), other = try folder.open(isShared: false)
    try store.save(.integer(1), for: "k")
    let heard = try Heard(store.changes)
    try store.synchronize()
    try other.save(.integer(2), for: "k")
    // A first look with the new list but before its epoch gives the value without its writer.
    #expect(heard.waitFor("k"))
    try other.synchronize()
    usleep(100_000)  // No event: nothing more is told.
    #expect(heard.changes == [Change("k", .set, by: .thisProcess)])
    #expect(heard.all.count == 1)
  }

  @Test(.tags(.process), .defaultRun) func `with many writers the last word on each name is its final value`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let seen = Mutex<[String: PlainForm?]>([:])
    let subscription = try store.changes.subscribe { event in
      guard case .changes(let changes) = event else { return }
      for change in changes {
        let value = try? store.load(change.name)
        seen.withLock { $0[change.name] = value }
      }
    }
    let tools =
      try (0..<4).map { try Tool("write", folder, "p\($0)", "100") } + (0..<3).map { _ in try Tool("count", folder, "200") }
    for tool in tools { #expect(tool.finish().isEmpty) }
    #expect(eventually { seen.withLock { $0["counter"] == .integer(600) && $0.count >= 401 } })
    let told = seen.withLock { $0 }
    #expect(told.count == 401)
    for name in try store.names() { #expect(told[name] == .some(try store.load(name)), "\(name)") }
    subscription.cancel()
  }

  @Test func `layers: overridden changes are told as such, prefixes are taken off, suites count`() throws {
    let folder = try TemporaryFolder()
    let suite = try folder.open(domain: "suite")
    let plain = try folder.open()
    let store = try folder.open(suites: ["suite"], layers: DefaultsLayers(["-my.theme", "dark"], nil, [:], "my."))
    let heard = try Heard(store.changes)
    try store.save(.string("light"), for: "theme")
    #expect(heard.waitFor("theme"))
    try plain.save(.integer(1), for: "foreign")
    try plain.save(.integer(1), for: "my.size")
    #expect(heard.waitFor("size"))
    try suite.save(.integer(2), for: "my.size")
    #expect(heard.wait { $0.changes.count == 3 })
    try suite.save(.integer(2), for: "my.other")
    #expect(heard.waitFor("other"))
    try plain.save(.integer(1), for: "my.\u{301}mark")
    #expect(heard.waitFor("\u{301}mark"))
    #expect(
      heard.changes == [
        Change("theme", .overridden, by: .thisProcess), Change("size", .set, by: .thisProcess),
        Change("size", .overridden, by: .thisProcess), Change("other", .set, by: .thisProcess),
        Change("\u{301}mark", .set, by: .thisProcess),
      ])
  }

  @Test func `closing ends the feed after all that was written is told`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let heard = try Heard(store.changes)
    try store.save(.integer(1), for: "k")
    try store.close()
    #expect(heard.wait { $0.all.last == .ended })
    #expect(heard.changes == [Change("k", .set, by: .thisProcess)])
    let late = try Heard(store.changes)
    #expect(late.wait { $0.all == [.ended] })
    var released: DefaultsStore? = try folder.open()
    let last = try released.map { try Heard($0.changes) }
    released = nil
    #expect(last?.wait { $0.all == [.ended] } ?? false)
  }

  @Test(.tags(.kill, .process), .defaultRun) func `a journal deleted by hand is followed by its successor`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "a")
    let heard = try Heard(store.changes)
    try FileManager.default.removeItem(atPath: folder.file(".d.plist.coffer").string)
    #expect(heard.wait { _ in folder.exists(".d.plist.coffer") && waitsForBell(store) })
    let tool = try Tool("pace", folder, arguments: [], hasInput: true)
    tool.send("next\n")
    #expect(heard.waitFor("n"))
    #expect(!heard.changes.contains { $0.name == "a" })
    tool.kill()
    tool.finish()
  }

  @Test(.tags(.kill, .process), .defaultRun) func `a folder moved away and made again is watched again`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "a")
    try store.synchronize()
    let heard = try Heard(store.changes)
    let moved = folder.path.string + ".moved"
    try FileManager.default.moveItem(atPath: folder.path.string, toPath: moved)
    try FileManager.default.moveItem(atPath: moved, toPath: folder.path.string)
    // The folder is searched again after a second. A set before that would be found then.
    usleep(1_200_000)  // No event: its watch is made again in silence.
    let tool = try Tool("pace", folder, arguments: [], hasInput: true)
    tool.send("next\n")
    #expect(heard.waitFor("n"))
    tool.kill()
    tool.finish()
  }

  @Test(.tags(.kill, .process), .defaultRun) func `nobody watches: no system call; a watcher that died: one`() throws {
    let folder = try TemporaryFolder()
    let bells = Atomic<Int>(0)
    var calls = SystemCalls()
    let write = calls.write
    calls.write = { fd, bytes, offset in
      if bytes.count == 1 { bells.add(1, ordering: .relaxed) }
      return write(fd, bytes, offset)
    }
    let store = try folder.open(calls: calls)
    for number in 0..<100 { try store.save(.integer(Int64(number)), for: "k") }
    #expect(bells.load(ordering: .relaxed) == 0)
    let tool = try Tool("observe", folder)
    #expect(tool.firstLine() == "ready")
    #expect(waitsForBell(store))
    tool.kill()
    tool.finish()
    for number in 0..<100 { try store.save(.integer(Int64(number)), for: "k") }
    #expect(bells.load(ordering: .relaxed) == 1)
  }

  @Test(.tags(.process), .defaultRun) func `a forked child cannot observe, and its parent goes on`() throws {
    let folder = try TemporaryFolder()
    let output = try Tool("fork-observed", folder).finish()
    #expect(output.contains("afterFork"))
    #expect(output.contains("parent heard"))
  }

  @Test func `two hundred observed stores leave no descriptor behind`() async {
    // In a separate process: other tests open and close files meanwhile.
    await #expect(processExitsWith: .success) { try Self.observeTwoHundredStores() }
  }

  private static func observeTwoHundredStores() throws {
    let folder = try TemporaryFolder()
    func descriptors() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
    func once(_ number: Int) throws {
      let store = try folder.open(domain: "d\(number % 10)")
      let heard = try Heard(store.changes)
      if number % 20 == 0 { try store.save(.integer(Int64(number)), for: "k") }
      if number % 2 == 0 { heard.stop() }
      try store.close()
    }
    for number in 0..<10 { try once(number) }
    // Until background closes are done: the number no longer falls.
    var before = try descriptors(), isFalling = true
    while isFalling {
      usleep(200_000)
      let now = try descriptors()
      (before, isFalling) = (now, now < before)
    }
    for number in 0..<200 { try once(number) }
    let isGone = try eventually { try descriptors() <= before }
    let after = try descriptors()
    #expect(isGone, "\(before) descriptors before, \(after) after")
  }

  struct Keys: KeySpace {
    let theme = StorageKey("theme", default: "light")
    let size = StorageKey("n", default: 0)
  }

  @Test(.tags(.process), .defaultRun) func `a router's sequence follows another process and ends with the store`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(), keys = Keys()
    let router = try StorageRouter(plain: store, vault: MemoryStore<Vault>(), keys: keys)
    var values = try router.changes(of: keys.theme, keys.size).makeAsyncIterator()
    guard case .success(let first)? = await values.next() else {
      Issue.record("no first element")
      return
    }
    #expect(first == ("light", 0))
    let tool = try Tool("set", folder, "theme", "dark")
    guard case .success(let second)? = await values.next() else {
      Issue.record("no second element")
      return
    }
    #expect(second == ("dark", 0))
    tool.finish()
    try store.close()
    let end = await values.next()
    #expect(end == nil)
  }

  @Test func `a change that could not be looked at is told once it can be, without another event`() throws {
    let folder = try TemporaryFolder()
    let isOut = Atomic<Bool>(false)
    let refused = Atomic<Int>(0)
    var calls = SystemCalls()
    let real = calls
    calls.open = {
      guard isOut.load(ordering: .relaxed), $0.hasSuffix("d.plist") else { return real.open($0, $1, $2) }
      refused.add(1, ordering: .relaxed)
      return -EMFILE
    }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "k")
    try store.synchronize()
    let heard = try Heard(store.changes)
    isOut.store(true, ordering: .relaxed)
    let other = try PropertyListSerialization.data(fromPropertyList: ["k": 1, "other": 2], format: .xml, options: 0)
    try other.write(to: URL(filePath: folder.file("d.plist").string), options: .atomic)
    eventually("it is looked at") { refused.load(ordering: .relaxed) > 0 }
    isOut.store(false, ordering: .relaxed)
    #expect(heard.waitFor("other"))
    heard.stop()
  }

  @Test func `what a store wrote last is told, also where the store is gone by then`() throws {
    let folder = try TemporaryFolder()
    for round in 0..<20 {
      let heard: Heard
      do {
        let store = try folder.open(isShared: false)
        heard = try Heard(store.changes)
        try store.save(.integer(Int64(round)), for: "last")
      }
      #expect(heard.waitFor("last"), "round \(round)")
      heard.stop()
    }
  }
}
