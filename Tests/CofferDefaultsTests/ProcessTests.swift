import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import CofferTestSupport
import Testing

@testable import CofferDefaults

@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct ProcessTests {
  @Test func `eight processes with fifty keys each lose none of 400`() throws {
    let folder = try TemporaryFolder()
    let tools = try (0..<8).map { try Tool("write", folder, "p\($0)", "50") }
    for tool in tools { #expect(tool.finish().isEmpty) }
    let store = try folder.open()
    #expect(try store.names().count == 400)
    for process in 0..<8 {
      for number in 0..<50 { #expect(try store.load("p\(process).\(number)") == .integer(Int64(number))) }
    }
  }

  @Test func `the first write, watch and idle fold of a process without a free descriptor do not end it`() throws {
    let folder = try TemporaryFolder()
    let tool = try Tool("starved", folder)
    #expect(tool.finish() == "observing: io(\(EMFILE))\nstring(\"w\")\n")
    #expect(!tool.wasKilled)
  }

  /// Around the year 2262 nanoseconds since 1970 no longer fit a number of 64 bits.
  @Test(arguments: ["1950-01-01", "2262-04-11", "2262-04-13", "2300-01-01", "2560-01-01", "9000-01-01"])
  func `preferences are read, written, folded and mended at any time that a clock can show`(_ day: String) throws {
    guard access("/usr/bin/faketime", X_OK) == 0 else { try Test.skip(without: "faketime") }
    let folder = try TemporaryFolder()
    let clock = ["/usr/bin/env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "/usr/bin/faketime", day + " 00:00:00"]
    func run(_ verb: String, _ rest: String...) throws -> String {
      let tool = try Tool(verb, folder, arguments: rest, wrapper: clock)
      defer { #expect(!tool.wasKilled && tool.process.terminationStatus == 0, "\(verb)") }
      return tool.finish()
    }
    #expect(try run("set", "k", "1") == "")
    #expect(try run("write", "p", "3") == "")
    #expect(try run("get", "k") == "string(\"1\")\n")
    try folder.write("no list", to: "d.plist")
    let tool = try Tool("get", folder, arguments: ["k"], wrapper: clock)
    #expect(tool.finish().hasPrefix("error: ") && !tool.wasKilled)
  }

  @Test func `a counter incremented by several processes is exact`() throws {
    let folder = try TemporaryFolder()
    let processes = Campaign.size(short: 4, long: 8), each = Campaign.size(short: 200, long: 1_000)
    let tools = try (0..<processes).map { _ in try Tool("count", folder, "\(each)") }
    for tool in tools { #expect(tool.finish().isEmpty) }
    #expect(try folder.open().load("counter") == .integer(Int64(processes * each)))
    print("counter: \(processes) processes × \(each)")
  }

  @Test func `what was acknowledged survives SIGKILL at any moment`() throws {
    let folder = try TemporaryFolder()
    let kills = Campaign.size(short: 20, long: 10_000)
    var random = Random(campaign: "kills of a writer")
    for round in 0..<kills {
      let tool = try Tool("acknowledge", folder)
      // In every second round it has begun to write; in the others it may be about to open the domain.
      let first = round.isMultiple(of: 2) ? tool.firstBytes(8) : Data()
      Thread.sleep(forTimeInterval: .random(in: 0.01...0.05, using: &random))  // No event: any moment.
      tool.kill()
      let bytes = first + tool.finishBytes()
      let count = bytes.count / 8
      let last =
        count == 0 ? 0 : bytes.suffix(from: (count - 1) * 8).prefix(8).withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
      let store = try folder.open(isShared: false)
      guard case .integer(let stored)? = try store.load("k") ?? .integer(0) else {
        Issue.record("not a number")
        return
      }
      #expect(stored >= last, "acknowledged \(last), found \(stored)")
      try store.close()
      guard stored > 0 else { continue }
      #expect(try PropertyList.decode(folder.bytes(of: "d.plist")).values == ["k": .integer(stored)], "Foundation reads the list")
    }
    if case .integer(let total)? = try folder.open().load("k") { #expect(total > 0, "the test wrote nothing") }
    print("random kills: \(kills)")
  }

  @Test(arguments: ["recordCopied", "listWritten", "listReplaced", "journalEmptied"])
  func `death at any step of a fold keeps the acknowledged value and a whole list`(_ step: String) throws {
    let folder = try TemporaryFolder()
    let before = try folder.open(isShared: false)
    try before.save(.string("before"), for: "a")
    try before.save(.string("kept"), for: "b")
    try before.close()
    let tool = try Tool("fold-and-die", folder, step)
    let acknowledged = tool.finish().contains("acknowledged")
    #expect(tool.wasKilled)
    #expect(acknowledged == (step != "recordCopied"))
    let store = try folder.open(isShared: false)
    #expect(try store.load("a") == .string(acknowledged ? "after" : "before"))
    #expect(try store.load("b") == .string("kept"))
    _ = try PropertyList.decode(folder.bytes(of: "d.plist"))
    try store.save(.integer(1), for: "next")
    try store.synchronize()
    #expect(try folder.open(isShared: false).names() == ["a", "b", "next"])
    #expect(try !folder.names().contains { $0.hasSuffix("-next") }, "nothing half written is left")
  }

  @Test func `a stopped holder of the lock is named after five seconds`() throws {
    let folder = try TemporaryFolder()
    let tool = try Tool("hold", folder)
    let holder = tool.firstLine()
    let store: DefaultsStore?
    do {
      store = try folder.open()
      Issue.record("opened under another's lock: \(String(describing: store))")
    } catch {
      #expect(error.kind == .busy)
      #expect(error.what.contains("process \(holder)"))
    }
    tool.kill()
    tool.finish()
    #expect(try folder.open().load("held") == nil)
  }

  @Test func `two stores in one process see each other at once, and one may close`() throws {
    let folder = try TemporaryFolder()
    let one = try folder.open(), two = try folder.open()
    #expect(one.engine === two.engine)
    try one.save(.bool(true), for: "k")
    #expect(try two.load("k") == .bool(true))
    try one.close()
    #expect(kind { _ = try one.load("k") } == .closed)
    try two.save(.bool(false), for: "k")
    #expect(try two.load("k") == .bool(false))
  }

  @Test func `two engines on one file see each other's next read at once, across folds`() throws {
    let folder = try TemporaryFolder()
    let one = try folder.open(isShared: false), two = try folder.open(isShared: false)
    for number in 0..<200 {
      try one.save(.integer(Int64(number)), for: "n")
      #expect(try two.load("n") == .integer(Int64(number)))
      if number % 20 == 0 { try (number % 40 == 0 ? one : two).synchronize() }
      try two.save(.integer(Int64(number)), for: "m.\(number % 7)")
      #expect(try one.load("m.\(number % 7)") == .integer(Int64(number)))
    }
  }

  @Test func `threads of one process that write and read lose nothing`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      do {
        for number in 0..<250 {
          try store.save(.integer(Int64(number)), for: "t\(thread).\(number)")
          try store.update("sum") { (old) throws(StoreError) in
            guard case .integer(let sum)? = old else { return .integer(1) }
            return .integer(sum + 1)
          }
          _ = try store.load("t\((thread + 1) % 4).\(number)")
        }
      } catch { Issue.record(error) }
    }
    #expect(try store.load("sum") == .integer(1000))
    #expect(try store.names().count == 1001)
  }

  @Test func `threads that read beside writers, folds and an observer find whole values and lose no update`() throws {
    let folder = try TemporaryFolder()
    #expect(try Tool("threads", folder, "200").finish() == "done 200\n")
  }

  @Test func `a forked child cannot write through its parent's store, and may open its own`() throws {
    let folder = try TemporaryFolder()
    let output = try Tool("fork", folder).finish()
    #expect(output.contains("inherited afterFork"))
    #expect(output.contains("own written"))
    #expect(output.contains("parent reads integer(3)"))
    #expect(try folder.open().load("parent") == .integer(1))
  }

  @Test func `a journal deleted by hand is noticed, and its values are written again`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "a")
    try FileManager.default.removeItem(atPath: folder.file(".d.plist.coffer").string)
    try eventually { try store.load("a") == .integer(1) && folder.exists(".d.plist.coffer") }
    try store.save(.integer(2), for: "b")
    let other = try folder.open(isShared: false)
    #expect(try other.load("a") == .integer(1))
    #expect(try other.load("b") == .integer(2))
  }

  @Test func `a list deleted by hand is an empty one, and what the journal holds stays`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "folded")
    try store.synchronize()
    try store.save(.integer(2), for: "journalled")
    try FileManager.default.removeItem(atPath: folder.file("d.plist").string)
    try eventually { try store.names() == ["journalled"] }
  }
}
