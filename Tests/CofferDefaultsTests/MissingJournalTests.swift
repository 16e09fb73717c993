import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferDefaults

@Suite struct MissingJournalTests {
  private let files = FileManager.default

  private func takeAway(_ folder: TemporaryFolder) throws {
    try files.removeItem(atPath: folder.file(".d.plist.coffer").string)
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

private final class Shared<Value: Sendable>: Sendable {
  private let held: Mutex<Value>
  init(_ value: Value) { held = Mutex(value) }
  var value: Value {
    get { held.withLock { $0 } }
    set { held.withLock { $0 = newValue } }
  }
}
