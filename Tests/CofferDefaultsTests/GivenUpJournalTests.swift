import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferDefaults

/// A second fault while a journal that lost its name is carried over to another one.
@Suite struct GivenUpJournalTests {
  private let files = FileManager.default

  private func takeAway(_ folder: TemporaryFolder) throws {
    try files.removeItem(atPath: folder.file(".d.plist.coffer").string)
  }

  private func move(_ folder: TemporaryFolder) throws {
    try files.moveItem(atPath: folder.file(".d.plist.coffer").string, toPath: folder.file("moved").string)
    #expect(untilTheNextLookIsDue())
  }

  private func putBack(_ folder: TemporaryFolder) {
    #expect(rename(folder.file("moved").string, folder.file(".d.plist.coffer").string) == 0)
    #expect(untilTheNextLookIsDue())
  }

  @Test func `a journal that is given up while its lock is waited for gets nothing more`() throws {
    let folder = try TemporaryFolder()
    let step = Shared<(@Sendable () -> Void)?>(nil)
    var calls = SystemCalls()
    let lock = calls.lock
    calls.lock = { fd, operation in
      step.value?()
      return lock(fd, operation)
    }
    let first = try folder.open(isShared: false, calls: calls)
    try first.save(.integer(1), for: "a")
    try takeAway(folder)
    let second = try folder.open(isShared: false)
    try second.save(.integer(2), for: "b")
    #expect(untilTheNextLookIsDue())
    // Its own lock and that of the new journal, as it is opened, come first; then both of them again.
    let locks = Shared(0)
    step.value = {
      locks.value += 1
      guard locks.value == 5 else { return }
      step.value = nil
      do {
        try takeAway(folder)
        #expect(untilTheNextLookIsDue())
        try second.save(.integer(3), for: "c")
      } catch { Issue.record(error) }
    }
    try first.save(.integer(4), for: "d")
    #expect(step.value == nil, "the second journal was taken away in the midst")
    for store in [first, second, try folder.open(isShared: false)] {
      #expect(try store.contents() == ["a": .integer(1), "b": .integer(2), "c": .integer(3), "d": .integer(4)])
    }
  }

  @Test func `a journal that was carried over and then opened where it is now is not carried over again`() throws {
    let folder = try TemporaryFolder()
    for name in ["one", "two"] {
      try files.createDirectory(atPath: folder.file(name).string, withIntermediateDirectories: false)
    }
    let link = folder.file("d.plist").string
    try files.createSymbolicLink(atPath: link, withDestinationPath: "one/d.plist")
    let first = try folder.open(isShared: false), idle = try folder.open(isShared: false)
    try first.save(.integer(1), for: "a")
    #expect(try idle.load("a") == .integer(1))
    try files.removeItem(atPath: link)
    try files.createSymbolicLink(atPath: link, withDestinationPath: "two/d.plist")
    #expect(untilTheNextLookIsDue())
    try first.save(.integer(2), for: "a")
    // Which finds the journal at its name, and takes it into use.
    let elsewhere = try DefaultsStore.open(domain: "d", in: folder.file("one"), options: .unshared)
    #expect(try elsewhere.load("a") == .integer(1))
    try elsewhere.save(.integer(3), for: "b")
    #expect(try idle.load("a") == .integer(2))
    #expect(try first.contents() == ["a": .integer(2)])
    try elsewhere.save(.integer(4), for: "b")
    #expect(try elsewhere.contents() == ["a": .integer(1), "b": .integer(4)])
  }

  @Test func `what is known of a journal that was spoilt survives a list that changes before the journal is deleted`() throws {
    let folder = try TemporaryFolder()
    let seed = try folder.open(isShared: false)
    try seed.save(.integer(0), for: "folded")
    try seed.synchronize()
    let store = try folder.open(isShared: false)
    try store.save(.integer(1), for: "a")
    // A bit of the record.
    let journal = folder.file(".d.plist.coffer")
    var bytes = try folder.bytes(of: ".d.plist.coffer")
    let place = store.engine.state.withLock { $0.seen.end } + JournalLayout.headerBytes - 1
    bytes[place] ^= 1
    let file = try FileHandle(forWritingTo: URL(filePath: journal.string))
    try file.write(contentsOf: bytes)
    try file.close()
    try folder.write("<plist><dict><key>folded</key><integer>7</integer></dict></plist>", to: "d.plist")
    #expect(untilTheNextLookIsDue())
    _ = kind { _ = try store.load("a") }
    try takeAway(folder)
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("a") == .integer(1))
    try store.save(.integer(2), for: "b")
    let fresh = try folder.open(isShared: false)
    #expect(try fresh.load("a") == .integer(1) && fresh.load("b") == .integer(2))
  }

  @Test func `who has carried nothing reads on in the next journal, though it cannot be written`() throws {
    let folder = try TemporaryFolder(), disk = FaultyDisk()
    let first = try folder.open(isShared: false), idle = try folder.open(isShared: false, calls: disk.readOnly)
    try first.save(.integer(1), for: "a")
    #expect(try idle.load("a") == .integer(1))
    try takeAway(folder)
    #expect(untilTheNextLookIsDue())
    try first.save(.integer(2), for: "a")
    disk.isFaulty = true
    #expect(untilTheNextLookIsDue())
    #expect(try idle.load("a") == .integer(2))
    #expect(kind { try idle.save(.integer(3), for: "a") } == .readOnly)
    disk.isFaulty = false
    try idle.save(.integer(4), for: "a")
    #expect(try first.load("a") == .integer(4) && idle.load("a") == .integer(4))
  }

  @Test func `a reader that looks while the list cannot be written leaves its store one that can write later`() throws {
    let outer = try TemporaryFolder(), disk = FaultyDisk()
    let inner = outer.file("config"), moved = outer.file("moved")
    var options = EngineOptions.unshared
    options.calls = disk.readOnly
    let store = try DefaultsStore.open(domain: "d", in: inner, options: options)
    try store.save(.integer(1), for: "a")
    try files.moveItem(atPath: inner.string, toPath: moved.string)
    try files.createSymbolicLink(atPath: inner.string, withDestinationPath: "moved")
    disk.isFaulty = true
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("a") == .integer(1))
    #expect(kind { try store.save(.integer(2), for: "a") } == .readOnly)
    disk.isFaulty = false
    try store.save(.integer(3), for: "a")
    try store.synchronize()
    let other = try DefaultsStore.open(domain: "d", in: inner, options: .unshared)
    try other.save(.integer(4), for: "b")
    #expect(try store.contents() == ["a": .integer(3), "b": .integer(4)])
  }

  @Test func `a fold without a caller is tried again once the list can be written`() throws {
    let folder = try TemporaryFolder(), disk = FaultyDisk()
    let store = try folder.open(isShared: false, foldsWhenIdle: true, calls: disk.readOnly)
    try store.save(.integer(1), for: "a")
    disk.isFaulty = true
    try takeAway(folder)
    usleep(600_000)  // No event: nothing is written.
    #expect(!folder.exists("d.plist"))
    disk.isFaulty = false
    #expect(eventually { folder.exists("d.plist") })
    #expect(try PropertyList.decode(folder.bytes(of: "d.plist")).values == ["a": .integer(1)])
  }

  @Test func `what a reader carries over reaches the list as what is written does`() throws {
    let folder = try TemporaryFolder()
    let idle = try folder.open(isShared: false, foldsWhenIdle: true)
    do { try folder.open(isShared: false).save(.integer(1), for: "a") }
    try takeAway(folder)
    #expect(untilTheNextLookIsDue())
    #expect(try idle.load("a") == .integer(1))
    #expect(eventually { folder.exists("d.plist") })
    #expect(try PropertyList.decode(folder.bytes(of: "d.plist")).values == ["a": .integer(1)])
  }

  @Test func `who could make no journal reads and writes on as soon as there is one`() throws {
    let folder = try TemporaryFolder(), disk = FaultyDisk()
    try folder.write("<plist><dict><key>a</key><integer>1</integer></dict></plist>", to: "d.plist")
    disk.isFaulty = true
    let reader = try folder.open(isShared: false, calls: disk.readOnly),
      writer = try folder.open(isShared: false, calls: disk.readOnly)
    #expect(try reader.load("a") == .integer(1))
    #expect(kind { try writer.save(.integer(2), for: "a") } == .readOnly)
    let other = try folder.open(isShared: false)
    try other.save(.integer(3), for: "a")
    #expect(try reader.load("a") == .integer(3), "which another process has acknowledged")
    #expect(kind { try writer.save(.integer(4), for: "a") } == .readOnly)
    disk.isFaulty = false
    try writer.save(.integer(5), for: "a")
    #expect(try reader.load("a") == .integer(5) && other.load("a") == .integer(5))
    try reader.save(.integer(6), for: "a")
    #expect(try other.load("a") == .integer(6) && writer.load("a") == .integer(6))
  }

  @Test func `values that were carried over from a journal do not replace newer ones in it once it is put back`() throws {
    let folder = try TemporaryFolder()
    let first = try folder.open(isShared: false), second = try folder.open(isShared: false)
    try first.save(.integer(1), for: "a")
    try first.save(.integer(1), for: "b")
    try move(folder)
    try second.save(.integer(2), for: "b")
    putBack(folder)
    try first.save(.integer(3), for: "a")
    #expect(try second.load("a") == .integer(3))
    for store in [first, second, try folder.open(isShared: false)] {
      #expect(try store.contents() == ["a": .integer(3), "b": .integer(2)])
    }
  }

  @Test func `a journal that is put back after the list was rewritten brings no old value back`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false)
    try store.save(.integer(1), for: "a")
    try move(folder)
    try store.save(.integer(2), for: "a")
    try store.synchronize()
    putBack(folder)
    #expect(try store.load("a") == .integer(2) && folder.open(isShared: false).load("a") == .integer(2))
  }

  @Test func `what was acknowledged is carried over though a first try had no room`() throws {
    let folder = try TemporaryFolder(), disk = FaultyDisk()
    let first = try folder.open(isShared: false), second = try folder.open(isShared: false, calls: disk.full)
    try first.save(.integer(1), for: "b")
    try move(folder)
    try second.save(.integer(2), for: "b")
    // More than the room that the journal has which is put back.
    try second.save(.data(Data(count: 100_000)), for: "c")
    putBack(folder)
    disk.isFaulty = true
    #expect(untilTheNextLookIsDue())
    #expect(try second.load("b") == .integer(2))
    disk.isFaulty = false
    #expect(untilTheNextLookIsDue())
    #expect(try second.load("b") == .integer(2) && first.load("b") == .integer(2))
    #expect(try folder.open(isShared: false).load("b") == .integer(2))
  }

  @Test func `a copy of the journal in its place gets what the journal has got since, and hands on all of it`() throws {
    let folder = try TemporaryFolder()
    let journal = folder.file(".d.plist.coffer").string, copy = folder.file("copy").string
    let store = try folder.open(isShared: false)
    try store.save(.integer(1), for: "a")
    try files.copyItem(atPath: journal, toPath: copy)
    try store.save(.integer(2), for: "b")
    #expect(rename(copy, journal) == 0)
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("b") == .integer(2))
    try takeAway(folder)
    #expect(untilTheNextLookIsDue())
    #expect(try store.contents() == ["a": .integer(1), "b": .integer(2)])
    #expect(try folder.open(isShared: false).contents() == ["a": .integer(1), "b": .integer(2)])
  }

  @Test func `a journal that is put back while another one is made is not replaced by that`() throws {
    let folder = try TemporaryFolder()
    let journal = folder.file(".d.plist.coffer").string, moved = folder.file("moved").string
    do { try folder.open(isShared: false).save(.integer(1), for: "a") }
    try files.moveItem(atPath: journal, toPath: moved)
    var calls = SystemCalls()
    let allocate = calls.allocate
    calls.allocate = { fd, offset, count in
      _ = rename(moved, journal)
      return allocate(fd, offset, count)
    }
    #expect(try folder.open(isShared: false, calls: calls).load("a") == .integer(1))
    #expect(!folder.exists(".d.plist.coffer-new"))
  }

  @Test func `what a journal lost with the power is not missed where it is put back`() throws {
    let folder = try TemporaryFolder()
    let moved = folder.file("moved").string
    let store = try folder.open(isShared: false)
    try store.save(.integer(1), for: "a")
    try move(folder)
    #expect(try store.load("a") == .integer(1))
    let file = try FileHandle(forUpdating: URL(filePath: moved))
    for (place, count) in [(JournalLayout.Field.bootHigh.rawValue, 8), (JournalLayout.headerBytes, 1 << 12)] {
      try file.seek(toOffset: UInt64(place))
      try file.write(contentsOf: Data(count: count))
    }
    try file.close()
    putBack(folder)
    #expect(try store.load("a") == .integer(1) && folder.open(isShared: false).load("a") == .integer(1))
  }

  @Test func `a store that can only read answers on when the journal is taken away or the domain removed`() throws {
    for isRemoved in [false, true] {
      let folder = try TemporaryFolder(), disk = FaultyDisk()
      let other = try folder.open(isShared: false)
      try other.save(.integer(1), for: "a")
      disk.isFaulty = true
      let reader = try folder.open(isShared: false, calls: disk.readOnly)
      #expect(try reader.load("a") == .integer(1))
      if isRemoved { try other.domain.remove() } else { try takeAway(folder) }
      for _ in 0..<2 {
        #expect(untilTheNextLookIsDue())
        #expect(try reader.load("a") == (isRemoved ? nil : .integer(1)))
      }
    }
  }

  @Test func `a store without a journal reads on while none can be made, and says each time that one may not be read`() throws {
    let folder = try TemporaryFolder(), disk = FaultyDisk(), refuses = Shared<Int32>(0)
    try folder.write("<plist><dict><key>a</key><integer>1</integer></dict></plist>", to: "d.plist")
    var calls = disk.readOnly
    let open = calls.open
    calls.open = { path, flags, mode in path.hasSuffix(".plist") || refuses.value == 0 ? open(path, flags, mode) : -refuses.value
    }
    disk.isFaulty = true
    let store = try folder.open(isShared: false, calls: calls)
    refuses.value = EMFILE
    for _ in 0..<3 { #expect(try store.load("a") == .integer(1)) }
    try folder.open(isShared: false).save(.integer(2), for: "a")
    refuses.value = EACCES
    for _ in 0..<3 { #expect(kind { _ = try store.load("a") } == .denied) }
    refuses.value = 0
    #expect(try store.load("a") == .integer(2))
  }

  @Test func `what a reader carries over reaches the list though the first try could not make it durable`() throws {
    let folder = try TemporaryFolder(), failures = Shared(1)
    var calls = SystemCalls()
    let synchronize = calls.synchronize
    let idle = try {
      calls.synchronize = { fd in
        guard failures.value < 1 else { return synchronize(fd) }
        failures.value += 1
        return -EIO
      }
      return try folder.open(isShared: false, foldsWhenIdle: true, calls: calls)
    }()
    do { try folder.open(isShared: false).save(.integer(1), for: "a") }
    try takeAway(folder)
    let next = try folder.open(isShared: false)
    #expect(untilTheNextLookIsDue())
    failures.value = 0
    _ = kind { _ = try idle.load("a") }
    #expect(untilTheNextLookIsDue())
    #expect(try idle.load("a") == .integer(1) && next.load("a") == .integer(1))
    #expect(eventually { folder.exists("d.plist") })
  }

  @Test func `finished transactions are carried over once, however often that has to be tried`() throws {
    let folder = try TemporaryFolder()
    let fails = Shared(false)
    var calls = SystemCalls()
    let synchronize = calls.synchronize
    calls.synchronize = { fails.value ? -5 : synchronize($0) }
    let store = try folder.open(isShared: false, calls: calls)
    var batch = Batch<Plain>()
    batch.writes["a"] = .set(.integer(1))
    try store.commit(batch, decision: Decision(place: "x") { (_) throws(StoreError) in })
    try takeAway(folder)
    let next = try folder.open(isShared: false)
    try next.save(.integer(2), for: "b")
    #expect(untilTheNextLookIsDue())
    fails.value = true
    for _ in 0..<3 { _ = kind { try store.save(.integer(3), for: "c") } }
    let end = next.engine.state.withLock { $0.seen.end }
    _ = try next.load("b")
    let grown = next.engine.state.withLock { $0.seen.end }
    for _ in 0..<20 { _ = kind { try store.save(.integer(3), for: "c") } }
    _ = try next.load("b")
    #expect(next.engine.state.withLock { $0.seen.end } == grown && grown >= end)
    fails.value = false
    try store.save(.integer(3), for: "c")
    #expect(try next.contents() == ["a": .integer(1), "b": .integer(2), "c": .integer(3)])
  }

  @Test func `a removed domain is durably empty before its list goes`() throws {
    let folder = try TemporaryFolder()
    let steps = Shared<[String]>([])
    var calls = SystemCalls()
    let (synchronize, unlink) = (calls.synchronize, calls.unlink)
    calls.synchronize = { fd in
      steps.value.append("sync")
      return synchronize(fd)
    }
    calls.unlink = { path in
      steps.value.append("unlink")
      return unlink(path)
    }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "a")
    try store.synchronize()
    try store.save(.integer(2), for: "a")
    steps.value = []
    try store.engine.removeDomain()
    #expect(steps.value.first == "sync")
  }
}

/// A value that a disk's calls share with the test.
private final class Shared<Value: Sendable>: Sendable {
  private let held: Mutex<Value>
  init(_ value: Value) { held = Mutex(value) }
  var value: Value {
    get { held.withLock { $0 } }
    set { held.withLock { $0 = newValue } }
  }
}
