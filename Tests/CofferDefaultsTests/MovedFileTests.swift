import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import SystemPackage
import CofferTestSupport
import Testing

@testable import CofferDefaults

/// People, backups and dot-file tools move, link and restore the files of a running store.
@Suite
struct MovedFileTests {
  private let files = FileManager.default

  private func increment(_ store: DefaultsStore, times: Int = 1) throws {
    for _ in 0..<times {
      try store.update("n") { (old) throws(StoreError) in
        guard case .integer(let number)? = old else { return .integer(1) }
        return .integer(number + 1)
      }
    }
  }

  /// Two writers, one opened before `move` and one after, continue to count in one file.
  private func expectOneCount(
    _ folder: TemporaryFolder, _ domain: String = "d", isFolded: Bool = false, _ move: () throws -> Void
  ) throws {
    let first = try folder.open(domain: domain, isShared: false), idle = try folder.open(domain: domain, isShared: false)
    try increment(first, times: 10)
    if isFolded { try first.synchronize() }
    #expect(try idle.load("n") == .integer(10))
    try move()
    #expect(untilTheNextLookIsDue())
    #expect(try first.load("n") == .integer(10))
    let second = try folder.open(domain: domain, isShared: false)
    for _ in 0..<20 {
      try increment(first)
      try increment(second)
      #expect(try first.load("n") == second.load("n"))
    }
    // A store that was idle knows an old value, and must not write it again.
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

  @Test(arguments: [true, false])
  func `a list that a dot-file tool moves and links to stays a link, and all go on in one file`(_ hasJournal: Bool) throws {
    let folder = try TemporaryFolder()
    try files.createDirectory(atPath: folder.file("dotfiles").string, withIntermediateDirectories: false)
    let seed = try folder.open(isShared: false)
    try seed.save(.integer(7), for: "folded")
    try seed.synchronize()
    let list = folder.file("d.plist").string
    // Only the list's values move with the list.
    try expectOneCount(folder, isFolded: !hasJournal) {
      try files.moveItem(atPath: list, toPath: folder.file("dotfiles/d.plist").string)
      try files.createSymbolicLink(atPath: list, withDestinationPath: "dotfiles/d.plist")
      // Some tools move hidden files too.
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
    #expect(kind { try increment(store) } == .moved)
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

  @Test(.tags(.campaign, .process), .wholeRun)
  func `writers whose journal is taken away again and again lose no value without a word`() throws {
    let folder = try TemporaryFolder()
    let journal = folder.file(".d.plist.coffer").string
    let processes = Campaign.size(short: 3, long: 6), each = Campaign.size(short: 15_000, long: 20_000)
    let tools = try (0..<processes).map { try Tool("write", folder, "p\($0)", "\(each)") }
    // A process that opens the domain while the journal is away makes another file.
    let watcher = try folder.open(isShared: false)
    try eventually("all have it open") { try watcher.names().count { $0.hasSuffix(".0") } == processes }
    var (moves, random) = (0, Random(campaign: "journals taken away"))
    while moves < Campaign.size(short: 8, long: 100) {
      usleep(useconds_t.random(in: 1_000...200_000, using: &random))
      // Moving a journal away after the last process has ended loses the values only it has.
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
    // If the next journal goes before all have noticed, they may report replaced files.
    let errors = tools.map { $0.finish() }.filter { !$0.isEmpty }
    #expect(errors.allSatisfy { $0.contains("the files in use were replaced") })
    let found = try folder.open(isShared: false).names().count
    #expect(found == processes * each || !errors.isEmpty)
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

  @Test(.tags(.process), .defaultRun)
  func `a process that dies when it has made a deleted journal anew costs nobody what is written into the old one meanwhile`()
    throws
  {
    let folder = try TemporaryFolder()
    let idle = try folder.open(isShared: false), other = try folder.open(isShared: false)
    try increment(idle, times: 3)
    #expect(try other.load("n") == .integer(3))
    let tool = try Tool("delete-and-die", folder, "journalNamed")
    #expect(tool.firstLine() == "moved")
    tool.finish()
    #expect(tool.wasKilled)
    // Before their next looks, as in a stopped process.
    try idle.engine.writing.withLock(busy: { idle.engine.busy }) { (writer, _) throws(StoreError) in writer.nextLinkCheck = .max }
    idle.engine.state.withLock { $0.nextLook = .max }
    try increment(idle)
    try idle.engine.writing.withLock(busy: { idle.engine.busy }) { (writer, _) throws(StoreError) in writer.nextLinkCheck = 0 }
    #expect(kind { try increment(idle) } == .moved)
    #expect(untilTheNextLookIsDue())
    #expect(kind { try increment(other) } == .moved)
    try increment(other)
    #expect(try idle.load("n") == .integer(4) && folder.open(isShared: false).load("n") == .integer(4))
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
    #expect(tool.finish().contains("'second'"))
    #expect(try second.names() == ["second"])
  }

  @Test func `while none can be made in its place, a deleted journal stays, and is made anew later`() throws {
    let folder = try TemporaryFolder(), disk = FaultyDisk()
    let store = try folder.open(isShared: false, calls: disk.readOnly)
    try store.save(.integer(1), for: "a")
    try files.removeItem(atPath: folder.file(".d.plist.coffer").string)
    disk.isFaulty = true
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("a") == .integer(1))
    #expect(kind { try store.save(.integer(3), for: "c") } == .readOnly)
    #expect(try store.load("a") == .integer(1))
    disk.isFaulty = false
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("a") == .integer(1))
    try store.save(.integer(3), for: "c")
    #expect(try folder.open(isShared: false).contents() == ["a": .integer(1), "c": .integer(3)])
  }

  @Test func `a batch whose outcome is open goes along with a deleted journal, and is settled in the next alone`() throws {
    let folder = try TemporaryFolder()
    let committed = DecisionLookup(
      outcome: { (_, _) throws(StoreError) in .committed }, settle: { (_, _) throws(StoreError) in .committed },
      forget: { (_, _) throws(StoreError) in })
    let writer = try folder.open(isShared: false)
    try writer.save(.string("before"), for: "a")
    let frozen = try folder.open(decisions: committed, isShared: false)
    try writer.leavePending(.string("after"), for: "a")
    #expect(try frozen.load("other") == nil)
    // Stopped before it looks at its files again.
    frozen.engine.state.withLock { $0.nextLook = .max }
    try files.removeItem(atPath: folder.file(".d.plist.coffer").string)
    #expect(untilTheNextLookIsDue())
    #expect(try writer.load("other") == nil, "which makes the next one")
    #expect(folder.exists(".d.plist.coffer"))
    _ = try frozen.load("a")
    #expect(try frozen.load("a") == .string("after"))
    #expect(try folder.open(isShared: false).load("a") == .string("after") && writer.load("a") == .string("after"))
  }
}
