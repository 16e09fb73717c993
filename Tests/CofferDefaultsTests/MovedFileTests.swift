import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import SystemPackage
import CofferTestSupport
import Testing

@testable import CofferDefaults

/// People, backups and dot-file tools move, link and put back what a running store has open.
@Suite
struct MovedFileTests {
  private let files = FileManager.default

  /// Adds one to `n`, as every process does.
  private func increment(_ store: DefaultsStore, times: Int = 1) throws {
    for _ in 0..<times {
      try store.update("n") { (old) throws(StoreError) in
        guard case .integer(let number)? = old else { return .integer(1) }
        return .integer(number + 1)
      }
    }
  }

  /// Two writers, of which one opened before `move` and the other after, count on in one file.
  private func expectOneCount(_ folder: TemporaryFolder, _ domain: String = "d", _ move: () throws -> Void) throws {
    let first = try folder.open(domain: domain, isShared: false), idle = try folder.open(domain: domain, isShared: false)
    try increment(first, times: 10)
    #expect(try idle.load("n") == .integer(10))
    try move()
    #expect(untilTheNextLookIsDue())
    // Whoever looks first brings along what was acknowledged.
    #expect(try first.load("n") == .integer(10))
    let second = try folder.open(domain: domain, isShared: false)
    for _ in 0..<20 {
      try increment(first)
      try increment(second)
      #expect(try first.load("n") == second.load("n"))
    }
    // One that was idle all the time knows an old value, and must not write it again.
    #expect(untilTheNextLookIsDue())
    #expect(try idle.load("n") == .integer(50))
    try increment(idle)
    #expect(try first.load("n") == .integer(51) && second.load("n") == .integer(51))
    try second.synchronize()
    #expect(try folder.open(domain: domain, isShared: false).load("n") == .integer(51))
  }

  @Test func `a journal that has another name as well, and loses its own, is noticed`() throws {
    let folder = try TemporaryFolder()
    try expectOneCount(folder) {
      let journal = folder.file(".d.plist.coffer").string
      try files.linkItem(atPath: journal, toPath: folder.file("backup").string)
      try files.removeItem(atPath: journal)
    }
  }

  @Test func `a journal that was moved away is noticed`() throws {
    let folder = try TemporaryFolder()
    try expectOneCount(folder) {
      try files.moveItem(atPath: folder.file(".d.plist.coffer").string, toPath: folder.file("moved").string)
    }
  }

  @Test func `a folder that was moved away, and another put in its place, is noticed`() throws {
    let outer = try TemporaryFolder()
    let inner = outer.file("config")
    let store = try DefaultsStore.open(domain: "d", in: inner, options: .unshared)
    try increment(store, times: 3)
    try files.moveItem(atPath: inner.string, toPath: outer.file("old").string)
    try files.createDirectory(atPath: inner.string, withIntermediateDirectories: false)
    #expect(untilTheNextLookIsDue())
    try increment(store)
    let second = try DefaultsStore.open(domain: "d", in: inner, options: .unshared)
    try increment(second)
    #expect(try store.load("n") == .integer(5) && second.load("n") == .integer(5))
  }

  @Test func `a journal that is put back after its values were carried over counts again`() throws {
    let folder = try TemporaryFolder()
    let journal = folder.file(".d.plist.coffer").string, moved = folder.file("moved").string
    let store = try folder.open(isShared: false)
    try increment(store, times: 3)
    try files.moveItem(atPath: journal, toPath: moved)
    #expect(untilTheNextLookIsDue())
    try increment(store)
    #expect(rename(moved, journal) == 0)
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("n") == .integer(4))
    #expect(try folder.open(isShared: false).load("n") == .integer(4))
    try increment(store)
    #expect(try folder.open(isShared: false).load("n") == .integer(5))
  }

  @Test(arguments: [true, false])
  func `a list that a dot-file tool moves and links to stays a link, and all go on in one file`(_ hasJournal: Bool) throws {
    let folder = try TemporaryFolder()
    try files.createDirectory(atPath: folder.file("dotfiles").string, withIntermediateDirectories: false)
    let seed = try folder.open(isShared: false)
    try seed.save(.integer(7), for: "folded")
    try seed.synchronize()
    let list = folder.file("d.plist").string
    try expectOneCount(folder) {
      try files.moveItem(atPath: list, toPath: folder.file("dotfiles/d.plist").string)
      try files.createSymbolicLink(atPath: list, withDestinationPath: "dotfiles/d.plist")
      // Some tools take hidden files along.
      if hasJournal {
        try files.moveItem(
          atPath: folder.file(".d.plist.coffer").string, toPath: folder.file("dotfiles/.d.plist.coffer").string)
      }
    }
    #expect(try files.destinationOfSymbolicLink(atPath: list) == "dotfiles/d.plist")
    #expect(try PropertyList.decode(folder.bytes(of: "dotfiles/d.plist")).values == ["folded": .integer(7), "n": .integer(51)])
    #expect(!folder.exists("dotfiles/.dotfiles"))
  }

  @Test func `a link that leads elsewhere by now is followed`() throws {
    let folder = try TemporaryFolder()
    for name in ["one", "two"] {
      try files.createDirectory(atPath: folder.file(name).string, withIntermediateDirectories: false)
    }
    let link = folder.file("d.plist").string
    try files.createSymbolicLink(atPath: link, withDestinationPath: "one/d.plist")
    let store = try folder.open(isShared: false)
    try increment(store)
    try store.synchronize()
    try files.removeItem(atPath: link)
    try files.createSymbolicLink(atPath: link, withDestinationPath: "two/d.plist")
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("n") == nil, "the other list is another list")
    #expect(store.place == folder.file("two/d.plist").string)
    try increment(store)
    #expect(try folder.open(isShared: false).load("n") == .integer(1))
  }

  @Test func `observers go along with a list that is moved and linked to`() throws {
    let folder = try TemporaryFolder()
    try files.createDirectory(atPath: folder.file("dotfiles").string, withIntermediateDirectories: false)
    let list = folder.file("d.plist").string
    let store = try folder.open(isShared: false)
    try increment(store)
    try store.synchronize()
    let heard = try Heard(store.changes)
    try files.moveItem(atPath: list, toPath: folder.file("dotfiles/d.plist").string)
    try files.createSymbolicLink(atPath: list, withDestinationPath: "dotfiles/d.plist")
    #expect(eventually { store.place == folder.file("dotfiles/d.plist").string })
    let other = try folder.open(isShared: false)
    try other.save(.integer(1), for: "new")
    #expect(heard.waitFor("new"))
    #expect(try store.load("n") == .integer(1))
  }

  @Test(.tags(.campaign, .process), .wholeRun) func `writers whose journal is taken away again and again lose no value`() throws {
    let folder = try TemporaryFolder()
    let journal = folder.file(".d.plist.coffer").string
    let processes = Campaign.size(short: 3, long: 6), each = Campaign.size(short: 3_000, long: 20_000)
    let tools = try (0..<processes).map { try Tool("write", folder, "p\($0)", "\(each)") }
    var (moves, random) = (0, Random(campaign: "journals taken away"))
    while moves < Campaign.size(short: 8, long: 100) {
      usleep(useconds_t.random(in: 1_000...200_000, using: &random))
      // Who takes a journal away behind the last of them takes along what it alone holds.
      guard tools.allSatisfy({ $0.process.isRunning }) else { break }
      switch Int.random(in: 0..<3, using: &random) {
      case 0: guard rename(journal, folder.file("moved-\(moves)").string) == 0 else { continue }
      case 1: guard unlink(journal) == 0 else { continue }
      default:
        guard link(journal, folder.file("linked-\(moves)").string) == 0 else { continue }
        #expect(unlink(journal) == 0)
      }
      moves += 1
    }
    for tool in tools { #expect(tool.finish().isEmpty) }
    let found = try folder.open(isShared: false).names().count
    #expect(found == processes * each)
    print("journals taken away: \(moves) times under \(processes) writers, \(found) of \(processes * each) values")
  }

  // MARK: Pairs of faults

  @Test func `a journal that is moved away while the disk is full costs nothing once there is room`() throws {
    let folder = try TemporaryFolder()
    let disk = FaultyDisk()
    let store = try folder.open(isShared: false, calls: disk.full)
    try increment(store, times: 3)
    try files.moveItem(atPath: folder.file(".d.plist.coffer").string, toPath: folder.file("moved").string)
    #expect(untilTheNextLookIsDue())
    disk.isFaulty = true
    #expect(kind { try increment(store) } == .noSpace)
    disk.isFaulty = false
    try increment(store)
    #expect(try store.load("n") == .integer(4))
    #expect(try folder.open(isShared: false).load("n") == .integer(4))
  }

  @Test(.tags(.process), .defaultRun, arguments: [1, 2])
  func `a process that dies while it carries values over leaves them to the next, which writes nothing older`(
    _ step: Int
  ) throws {
    let folder = try TemporaryFolder()
    let idle = try folder.open(isShared: false)
    try increment(idle, times: 3)
    try idle.save(.integer(7), for: "kept")
    let tool = try Tool("carry-and-die", folder, "\(step)")
    #expect(tool.firstLine() == "moved")
    tool.finish()
    #expect(tool.wasKilled)
    // Somebody goes on at the journal's name, before the one that was idle looks.
    let next = try folder.open(isShared: false)
    let before = try next.load("n")
    #expect(before == (step == 1 ? nil : .integer(3)))
    try next.save(.integer(100), for: "n")
    try next.save(.integer(1), for: "other")
    #expect(untilTheNextLookIsDue())
    #expect(try idle.load("n") == .integer(100) && idle.load("other") == .integer(1))
    // Where nobody had carried a value over, the one that knows it writes it again.
    #expect(try idle.load("kept") == .integer(7) && next.load("kept") == .integer(7))
    #expect(try next.load("n") == .integer(100))
  }

  @Test(.tags(.process), .defaultRun)
  func `what a dying process carried over, and others changed and folded since, is not brought back by an idle one`()
    throws
  {
    let folder = try TemporaryFolder()
    let idle = try folder.open(isShared: false)
    try increment(idle, times: 3)
    try idle.save(.integer(7), for: "removed")
    let tool = try Tool("carry-and-die", folder, "2")
    #expect(tool.firstLine() == "moved")
    tool.finish()
    #expect(tool.wasKilled)
    let next = try folder.open(isShared: false)
    #expect(try next.load("n") == .integer(3) && next.load("removed") == .integer(7), "they were carried over")
    try next.save(.integer(100), for: "n")
    try next.save(nil, for: "removed")
    // The records that told of it go with the fold.
    try next.synchronize()
    #expect(untilTheNextLookIsDue())
    #expect(try idle.load("n") == .integer(100) && idle.load("removed") == nil)
    #expect(try next.load("n") == .integer(100) && next.load("removed") == nil)
  }

  @Test(.tags(.process), .defaultRun)
  func `what a dying process carried over is not brought back by an idle one after a second move either`() throws {
    let folder = try TemporaryFolder()
    let idle = try folder.open(isShared: false)
    try increment(idle, times: 3)
    let tool = try Tool("carry-and-die", folder, "2")
    #expect(tool.firstLine() == "moved")
    tool.finish()
    #expect(tool.wasKilled)
    let next = try folder.open(isShared: false)
    try next.save(.integer(100), for: "n")
    try files.moveItem(atPath: folder.file(".d.plist.coffer").string, toPath: folder.file("moved again").string)
    #expect(untilTheNextLookIsDue())
    // Goes on in a third journal, whose records go with the fold.
    try next.save(.integer(1), for: "other")
    try next.synchronize()
    #expect(untilTheNextLookIsDue())
    #expect(try idle.load("n") == .integer(100))
    #expect(try next.load("n") == .integer(100))
  }

  @Test(.tags(.process), .defaultRun) func `a writer that was stopped while the journal was moved loses nothing when it goes on`()
    throws
  {
    let folder = try TemporaryFolder()
    let tool = try Tool("hold-then-write", folder, arguments: [], hasInput: true)
    let process = try #require(pid_t(tool.firstLine()))
    stop(process)
    try files.moveItem(atPath: folder.file(".d.plist.coffer").string, toPath: folder.file("moved").string)
    let second = try folder.open(isShared: false)
    try second.save(.integer(2), for: "second")
    tool.send("\n")
    #expect(kill(process, SIGCONT) == 0)
    #expect(tool.finish() == "written\nread\n")
    #expect(try second.names() == ["held", "later", "second"])
  }

  @Test(arguments: [true, false])
  func `while none can be written in its place, a journal stays, and is carried over later`(hasOther: Bool) throws {
    let folder = try TemporaryFolder(), disk = FaultyDisk()
    let store = try folder.open(isShared: false, calls: disk.readOnly)
    try store.save(.integer(1), for: "a")
    try files.removeItem(atPath: folder.file(".d.plist.coffer").string)
    if hasOther { try folder.open(isShared: false).save(.integer(2), for: "b") }
    disk.isFaulty = true
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("a") == .integer(1))
    #expect(kind { try store.save(.integer(3), for: "c") } == .readOnly)
    #expect(try store.load("a") == .integer(1))
    disk.isFaulty = false
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("a") == .integer(1))
    try store.save(.integer(3), for: "c")
    let fresh = try folder.open(isShared: false)
    #expect(try fresh.contents() == ["a": .integer(1), "c": .integer(3)].merging(hasOther ? ["b": .integer(2)] : [:]) { $1 })
  }
}
