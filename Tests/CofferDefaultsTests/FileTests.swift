import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferDefaults

@Suite
struct FileTests {
  @Test(arguments: ["", "hello", "{ a = b; }", "<plist version=\"1.0\"><array/></plist>", "<plist version=\"1.0\"><dict><key>a"])
  func `a list that cannot be read is damaged, and nothing is changed`(_ text: String) throws {
    let folder = try TemporaryFolder()
    try folder.write(text, to: "d.plist")
    do {
      _ = try folder.open()
      Issue.record("opened")
    } catch {
      #expect(error.kind == .damaged)
      #expect(error.place?.hasSuffix("/d.plist") == true)
    }
    #expect(try folder.bytes(of: "d.plist") == Data(text.utf8))
    #expect(try !folder.names().contains { $0.contains("damaged") })
  }

  @Test(.tags(.process), .defaultRun) func `Foundation says nothing of its own on standard error, whatever the file holds`()
    throws
  {
    let folder = try TemporaryFolder()
    for text in ["{ a = b; }", "hello", "", "<plist><dict><key>a"] {
      try folder.write(text, to: "d.plist")
      let tool = try Tool("get", folder, arguments: ["k"], keepsErrors: true)
      #expect(tool.finish().contains("damaged") || tool.process.terminationStatus == 1)
      #expect(tool.errorText().isEmpty, "\(text)")
    }
  }

  @Test func `a fold looks at no file of another domain, however many there are`() throws {
    let folder = try TemporaryFolder()
    try folder.write("", to: ".1.coffer-unfinished")
    let looks = Mutex(0)
    var calls = SystemCalls()
    let real = calls.open
    calls.open = { path, flags, mode in
      if path.hasSuffix("-unfinished") { looks.withLock { $0 += 1 } }
      return real(path, flags, mode)
    }
    let store = try folder.open(isShared: false, calls: calls)
    for value in ["v", "w"] {
      try store.save(.string(value), for: "k")
      try store.synchronize()
    }
    #expect(looks.withLock { $0 } == 0)
    #expect(
      try folder.names() == [".1.coffer-unfinished", ".d.plist.coffer", ".d.plist.coffer-fold", ".d.plist.last-good", "d.plist"])
  }

  @Test(arguments: [true, false])
  func `what a fold that died left beside the list goes with the next one, also where no file is without a name`(
    _ isUnnamed: Bool
  ) throws {
    let folder = try TemporaryFolder()
    var calls = SystemCalls()
    if !isUnnamed { calls.openUnnamed = { _, _ in -EOPNOTSUPP } }
    let store = try folder.open(isShared: false, calls: calls)
    let journal = try #require(try FileStatus(at: folder.file(".d.plist.coffer")))
    let draft = try ListFiles(resolving: folder.file("d.plist")).draft(of: journal)
    for value in ["first", "second"] {
      try Data("left".utf8).write(to: URL(filePath: draft.string))
      try store.save(.string(value), for: "k")
      try store.synchronize()
      #expect(try folder.names() == [".d.plist.coffer", ".d.plist.coffer-fold", ".d.plist.last-good", "d.plist"])
    }
    #expect(try folder.open(isShared: false).load("k") == .string("second"))
  }

  @Test func `only a list that was just written is given time to be complete`() throws {
    let folder = try TemporaryFolder()
    let reads = Mutex(0)
    let isBeingWritten = Mutex(true)
    var calls = SystemCalls()
    let open = calls.open
    calls.open = { path, flags, mode in
      if path.hasSuffix("/d.plist") {
        reads.withLock { $0 += 1 }
        // As late as possible: a busy machine may take a second between a write and this.
        if isBeingWritten.withLock({ $0 }) { utimes(path, nil) }
      }
      return open(path, flags, mode)
    }
    try folder.write("torn", to: "d.plist")
    #expect(kind { _ = try folder.open(isShared: false, calls: calls) } == .damaged)
    #expect(reads.withLock { $0 } > 1)
    isBeingWritten.withLock { $0 = false }
    let hourAgo = Date(timeIntervalSinceNow: -3600)
    try FileManager.default.setAttributes([.modificationDate: hourAgo], ofItemAtPath: folder.file("d.plist").string)
    reads.withLock { $0 = 0 }
    #expect(kind { _ = try folder.open(isShared: false, calls: calls) } == .damaged)
    #expect(reads.withLock { $0 } == 1)
  }

  @Test func `starting empty keeps the damaged bytes and the journal's values`() throws {
    let folder = try TemporaryFolder()
    let before = try folder.open(isShared: false)
    try before.save(.integer(1), for: "folded")
    try before.synchronize()
    try before.save(.integer(2), for: "journalled")
    try folder.write("torn", to: "d.plist")
    let store = try folder.open(damage: .startEmpty, isShared: false)
    #expect(try store.names() == ["journalled"])
    try expectQuarantine(of: "torn", folder)
  }

  @Test func `the last good copy is put back`() throws {
    let folder = try TemporaryFolder()
    let before = try folder.open(isShared: false)
    try before.save(.integer(1), for: "folded")
    try before.synchronize()
    try before.save(.integer(2), for: "journalled")
    try folder.write("torn", to: "d.plist")
    let store = try folder.open(damage: .restoreLastGood, isShared: false)
    #expect(try store.names() == ["folded", "journalled"])
    try expectQuarantine(of: "torn", folder)
    try folder.write("torn", to: "d.plist")
    try folder.write("torn too", to: ".d.plist.last-good")
    #expect(kind { _ = try folder.open(damage: .restoreLastGood, isShared: false) } == .damaged)
  }

  @Test func `a list that is damaged under a running store is reported, not overwritten`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "k")
    try store.synchronize()
    try folder.write("torn", to: "d.plist")
    Thread.sleep(forTimeInterval: 0.12)  // No event: it has looked once, and believes nothing yet.
    #expect(try store.load("k") == .integer(1), "it may be half written: once is no proof")
    eventually { kind { _ = try store.load("k") } == .damaged }
    #expect(kind { _ = try store.load("k") } == .damaged)
    #expect(try folder.bytes(of: "d.plist") == Data("torn".utf8))
  }

  @Test func `the next write reports a list that became garbage, and stores nothing`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "k")
    try store.synchronize()
    let good = try folder.bytes(of: "d.plist")
    try folder.write("garbage", to: "d.plist")
    #expect(untilTheNextLookIsDue())
    let word = store.engine.state.withLock { $0.seen }
    #expect(kind { try store.save(.integer(2), for: "k") } == .damaged)
    #expect(kind { try store.save(.integer(2), for: "k") } == .damaged)
    #expect(kind { try store.update("k") { (_) throws(StoreError) in .integer(2) } } == .damaged)
    #expect(kind { _ = try store.load("k") } == .damaged)
    #expect(store.engine.state.withLock { $0.seen } == word)
    #expect(try folder.bytes(of: "d.plist") == Data("garbage".utf8))
    try good.write(to: URL(filePath: folder.file("d.plist").string))
    #expect(try store.load("k") == .integer(1))
    try store.save(.integer(2), for: "k")
    #expect(try folder.open(isShared: false).load("k") == .integer(2))
  }

  @Test func `a write waits for a program that is saving the list in place`() throws {
    let folder = try TemporaryFolder()
    let good = Mutex(Data()), reads = Mutex(0)
    var calls = SystemCalls()
    let real = calls
    calls.open = { path, flags, mode in
      guard path == folder.file("d.plist").string else { return real.open(path, flags, mode) }
      let read = reads.withLock { reads in
        reads += 1
        return reads
      }
      // The program is at work at the first read, and done before the second.
      if read == 1 { utimes(path, nil) }
      if read == 2 { do { try good.withLock { $0 }.write(to: URL(filePath: path)) } catch { Issue.record(error) } }
      return real.open(path, flags, mode)
    }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "k")
    try store.synchronize()
    good.withLock { $0 = PropertyList.encode(["k": .integer(1), "theirs": .integer(2)], as: .xml) }
    try folder.write("half", to: "d.plist")
    #expect(untilTheNextLookIsDue())
    reads.withLock { $0 = 0 }
    try store.save(.integer(3), for: "k")
    #expect(try store.load(["k", "theirs"]).map(\.form) == [.integer(3), .integer(2)])
  }

  @Test(arguments: [DamagePolicy.restoreLastGood, .startEmpty])
  func `a write repairs a list that became garbage as the policy says`(_ policy: DamagePolicy) throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(damage: policy)
    try store.save(.integer(1), for: "folded")
    try store.synchronize()
    try folder.write("garbage", to: "d.plist")
    #expect(untilTheNextLookIsDue())
    try store.save(.integer(2), for: "k")
    #expect(try store.load("k") == .integer(2))
    #expect(try store.load("folded") == (policy == .startEmpty ? nil : .integer(1)))
    try expectQuarantine(of: "garbage", folder)
  }

  private func expectQuarantine(of text: String, _ folder: TemporaryFolder) throws {
    let kept = try folder.names().filter { $0.hasPrefix("d.plist.damaged-") }
    #expect(kept.count == 1)
    for name in kept { #expect(try folder.bytes(of: name) == Data(text.utf8)) }
  }

  @Test func `a linked list stays a link, and the journal is beside the real file`() throws {
    let folder = try TemporaryFolder()
    let real = folder.file("dotfiles")
    try FileManager.default.createDirectory(atPath: real.string, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: folder.file("d.plist").string, withDestinationPath: "dotfiles/real.plist")
    let store = try folder.open()
    try store.save(.integer(1), for: "k")
    try store.synchronize()
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("d.plist").string) == "dotfiles/real.plist")
    #expect(folder.exists("dotfiles/real.plist") && folder.exists("dotfiles/.real.plist.coffer"))
    #expect(try folder.names() == ["d.plist", "dotfiles"])
    var options = EngineOptions()
    options.foldsWhenIdle = false
    let direct = try DefaultsStore.open(domain: "real", in: real, options: options)
    #expect(direct.engine === store.engine, "one engine for one file, whatever its name")
  }

  @Test func `new files are private, an existing list keeps its mode`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "k")
    try store.synchronize()
    for name in ["d.plist", ".d.plist.coffer", ".d.plist.coffer-fold", ".d.plist.last-good"] {
      #expect(try mode(folder.file(name)) == 0o600)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("d.plist").string)
    try store.save(.integer(2), for: "k")
    try store.synchronize()
    #expect(try mode(folder.file("d.plist")) == 0o644)
  }

  private func mode(_ path: FilePath) throws -> UInt32? { try FileStatus(at: path)?.permissions }

  @Test func `an equal value writes nothing`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let values: [String: PlainForm] = ["a": .real(.nan), "b": .array([.integer(1)]), "c": .string("x"), "d": .real(-0.0)]
    for (name, form) in values { try store.save(form, for: name) }
    let word = store.engine.state.withLock { $0.seen }
    for (name, form) in values { try store.save(form, for: name) }
    try store.save(nil, for: "absent")
    #expect(store.engine.state.withLock { $0.seen } == word)
    try store.synchronize()
    let list = try FileStatus(at: folder.file("d.plist"))
    for (name, form) in values { try store.save(form, for: name) }
    try store.synchronize()
    #expect(try FileStatus(at: folder.file("d.plist"))?.inode == list?.inode)
    #expect(try folder.open(isShared: false).load("a") == .real(.nan))
  }

  @Test(.tags(.slow), .defaultRun) func `values and domains have a budget`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let largest = PlainForm.string(String(repeating: "&", count: Budget.value))
    #expect(kind { try store.save(.data(Data(count: Budget.value + 1)), for: "k") } == .tooLarge(limit: Budget.value))
    var batch = Batch<Plain>()
    let plain = PlainForm.string(String(repeating: "x", count: Budget.value))
    for number in 0..<15 { batch.writes["big.\(number)"] = .set(number < 2 ? largest : plain) }
    try store.commit(batch, decision: nil)
    #expect(kind { try store.save(largest, for: "last") } == .tooLarge(limit: Budget.domain))
    batch.writes = ["big.0": .set(.integer(1)), "last": .set(largest)]
    try store.commit(batch, decision: nil)
    try store.close()
    #expect(try folder.open(isShared: false).load("last") == largest, "a domain within its budget can be read back")
    #expect(try FileStatus(at: folder.file("d.plist"))?.size ?? 0 <= Budget.file)
    var nested = PlainForm.integer(1)
    for _ in 0...Budget.depth { nested = .array([nested]) }
    #expect(kind { try store.engine.save(nested, for: "deep") } == .unencodable)
  }

  @Test func `a list that is too large is damaged, not read`() throws {
    let folder = try TemporaryFolder()
    try folder.write("", to: "d.plist")
    let file = try FileHandle(forWritingTo: URL(filePath: folder.file("d.plist").string))
    try file.truncate(atOffset: UInt64(Budget.file) + 1)
    #expect(kind { _ = try folder.open() } == .damaged)
  }

  @Test(arguments: ["\u{0}", "\u{1}", "\u{b}", "\u{1f}", "\u{fffe}", "\u{ffff}"])
  func `text that XML forbids is refused, naming the key`(_ character: String) throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    let text = "a" + character
    let forms: [PlainForm] = [.string(text), .array([.string(text)]), .dictionary([text: .integer(1)])]
    for form in forms {
      do {
        try store.save(form, for: "k")
        Issue.record("stored")
      } catch {
        #expect(error.kind == .unencodable)
        #expect(error.key == "k")
      }
    }
    #expect(kind { try store.save(.integer(1), for: text) } == .invalidName)
    #expect(try store.names().isEmpty)
  }

  @Test func `dates that a list cannot write are refused`() throws {
    let store = try TemporaryFolder().open()
    for moment in [Double.nan, .infinity, 1e15, -1e15] {
      #expect(kind { try store.save(.date(Date(timeIntervalSinceReferenceDate: moment)), for: "k") } == .unencodable)
    }
    try store.save(.date(.distantPast), for: "past")
    try store.save(.date(.distantFuture), for: "future")
  }

  @Test func `a full disk is reported, and nothing changes`() throws {
    let folder = try TemporaryFolder()
    let disk = FaultyDisk()
    var calls = SystemCalls()
    let real = calls
    calls.allocate = { disk.isFaulty ? -28 : real.allocate($0, $1, $2) }
    calls.write = { disk.isFaulty ? -28 : real.write($0, $1, $2) }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "k")
    disk.isFaulty = true
    #expect(kind { try store.save(.string(String(repeating: "x", count: 100_000)), for: "k") } == .noSpace)
    #expect(kind { try store.synchronize() } == .noSpace)
    #expect(try store.load("k") == .integer(1))
    #expect(try !folder.names().contains { $0.hasSuffix("-next") })
    try store.save(.integer(2), for: "k")
    #expect(try folder.open(isShared: false).load("k") == .integer(2), "there is room for small values still")
    disk.isFaulty = false
    try store.synchronize()
    #expect(try folder.open(isShared: false).load("k") == .integer(2))
  }

  @Test(arguments: [true, false])
  func `a fold that fails says that every value is stored, which it is`(_ isDiskFull: Bool) throws {
    let folder = try TemporaryFolder()
    let disk = FaultyDisk()
    var calls = SystemCalls()
    let real = calls
    calls.write = { disk.isFaulty ? -28 : real.write($0, $1, $2) }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "k")
    if isDiskFull {
      disk.isFaulty = true
    } else {
      let copy = folder.file(".d.plist.last-good").string
      try FileManager.default.createDirectory(atPath: copy + "/in the way", withIntermediateDirectories: true)
    }
    for attempt in [store.synchronize, store.scrub, store.close] {
      do {
        try attempt()
        Issue.record("succeeded")
      } catch {
        let error = error as StoreError
        #expect(error.kind == (isDiskFull ? .noSpace : .io(EISDIR)))
        #expect(error.what.contains("every value is stored"))
        #expect(!"\(error)".contains("nothing was changed"), "\(error)")
      }
    }
    #expect(try folder.open(isShared: false).load("k") == .integer(1))
  }

  @Test(arguments: [true, false])
  func `what another program saves while a fold makes its own list durable is read, and kept by the next fold`(
    _ isReplaced: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: folder.file("d.plist").string)
    let saved = Mutex(0)
    var calls = SystemCalls()
    let real = calls
    calls.reached = { step in
      // Renamed, but not yet durable, which takes milliseconds.
      guard step == .listReplaced,
        saved.withLock({
          $0 += 1; return $0
        }) == 1
      else { return }
      let text = """
        <plist version="1.0"><dict><key>theirs</key><integer>7</integer></dict></plist>
        """
      do { try Data(text.utf8).write(to: url, options: isReplaced ? .atomic : []) } catch { Issue.record(error) }
    }
    calls.synchronize = real.synchronize
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "mine")
    try store.synchronize()
    // A list in the new one's place makes the fold begin again.
    #expect(saved.withLock { $0 } == (isReplaced ? 2 : 1))
    try eventually { try store.load("theirs") == .integer(7) }
    try store.save(.integer(2), for: "next")
    try store.synchronize()
    let fresh = try folder.open(isShared: false)
    #expect(try fresh.load("theirs") == .integer(7) && fresh.load("next") == .integer(2))
  }

  /// Another program's ways to save: a new file in the list's place, the list itself, a previously opened file, or a link.
  enum Saving: CaseIterable { case replacing, inPlace, inFormerFile, linking }

  @Test(arguments: Saving.allCases, [true, false])
  func `what another program saves between a fold's last look and its rename is kept`(_ saving: Saving, _ isFirst: Bool) throws {
    if isFirst, saving == .inFormerFile { return }  // There is none.
    let folder = try TemporaryFolder()
    let list = folder.file("d.plist").string
    let text = #"<plist version="1.0"><dict><key>theirs</key><integer>7</integer></dict></plist>"#
    try folder.write(text, to: "elsewhere.plist")
    let isSaved = Mutex(false)
    let held = Mutex<FileHandle?>(nil)
    @Sendable func save() {
      guard
        !isSaved.withLock({ isSaved in
          defer { isSaved = true }; return isSaved
        })
      else { return }
      do {
        switch saving {
        case .replacing: try Data(text.utf8).write(to: URL(filePath: list), options: .atomic)
        case .inPlace: try Data(text.utf8).write(to: URL(filePath: list))
        case .inFormerFile:
          try held.withLock { handle in
            try handle?.truncate(atOffset: 0)
            try handle?.write(contentsOf: Data(text.utf8))
          }
        case .linking:
          unlink(list)
          #expect(symlink("elsewhere.plist", list) == 0)
        }
      } catch { Issue.record(error) }
    }
    var calls = SystemCalls()
    let real = calls
    let isArmed = Atomic<Bool>(isFirst)
    calls.exchange = { one, other in
      if isArmed.load(ordering: .relaxed), saving != .inFormerFile { save() }
      return real.exchange(one, other)
    }
    calls.renameAnew = { one, other in
      if other == list, isFirst { save() }
      return real.renameAnew(one, other)
    }
    // After the exchange, which returned the expected file.
    calls.reached = { if $0 == .listReplaced, isArmed.load(ordering: .relaxed), saving == .inFormerFile { save() } }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "mine")
    if !isFirst {
      try store.synchronize()
      held.withLock { $0 = FileHandle(forUpdatingAtPath: list) }
      isArmed.store(true, ordering: .relaxed)
      try store.save(.integer(2), for: "mine")
    }
    let refusal = kind { try store.synchronize() }
    #expect(isSaved.withLock { $0 })
    let fresh = try folder.open(isShared: false)
    #expect(try fresh.load("theirs") == .integer(7))
    if saving == .linking {
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: list) == "elsewhere.plist")
    } else {
      #expect(try refusal == nil && fresh.load("mine") == .integer(isFirst ? 1 : 2))
    }
    #expect(try !folder.names().contains { $0.hasSuffix(ListFiles.draftSuffix) })
  }

  @Test func `two saves in a row over a fold's list end with the newest`() throws {
    let folder = try TemporaryFolder()
    let list = URL(filePath: folder.file("d.plist").string)
    let saves = Mutex(0)
    var calls = SystemCalls()
    let real = calls
    let isArmed = Atomic<Bool>(false)
    calls.exchange = { one, other in
      if isArmed.load(ordering: .relaxed) {
        let number = saves.withLock {
          $0 += 1; return $0
        }
        if number < 3 {
          let text = #"<plist version="1.0"><dict><key>theirs</key><integer>\#(number)</integer></dict></plist>"#
          do { try Data(text.utf8).write(to: list, options: .atomic) } catch { Issue.record(error) }
        }
      }
      return real.exchange(one, other)
    }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "mine")
    try store.synchronize()
    isArmed.store(true, ordering: .relaxed)
    try store.save(.integer(2), for: "mine")
    try store.synchronize()
    let fresh = try folder.open(isShared: false)
    #expect(try fresh.load("theirs") == .integer(2) && fresh.load("mine") == .integer(2))
  }

  @Test func `what cannot be put back after an exchange is named, and nothing is acknowledged`() throws {
    let folder = try TemporaryFolder()
    let list = URL(filePath: folder.file("d.plist").string)
    let exchanges = Mutex(0)
    var calls = SystemCalls()
    let real = calls
    calls.exchange = { one, other in
      if exchanges.withLock({
        $0 += 1; return $0
      }) > 1 {
        return -EIO
      }
      do { try Data("<plist><dict/></plist>".utf8).write(to: list, options: .atomic) } catch { Issue.record(error) }
      return real.exchange(one, other)
    }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "mine")
    try store.synchronize()
    try store.save(.integer(2), for: "mine")
    let error = #expect(throws: StoreError.self) { try store.synchronize() }
    let draft = try #require(try folder.names().first { $0.hasSuffix(ListFiles.draftSuffix) })
    #expect(error?.kind == .io(EIO) && error?.what.contains(draft) == true)
    #expect(try folder.bytes(of: draft) == Data("<plist><dict/></plist>".utf8))
    #expect(try folder.open(isShared: false).load("mine") == .integer(2))
  }

  @Test(arguments: [EINVAL, ENOSYS])
  func `where the file system exchanges no files, a fold replaces the list`(_ code: Int32) throws {
    let folder = try TemporaryFolder()
    var calls = SystemCalls()
    calls.exchange = { _, _ in -code }
    let store = try folder.open(isShared: false, calls: calls)
    for value in 1...3 {
      try store.save(.integer(Int64(value)), for: "k")
      try store.synchronize()
      #expect(try PropertyList.decode(folder.bytes(of: "d.plist")).values == ["k": .integer(Int64(value))])
    }
    #expect(try folder.names() == [".d.plist.coffer", ".d.plist.coffer-fold", ".d.plist.last-good", "d.plist"])
  }

  @Test func `a list dated in the future is folded in time and not read again with each write`() throws {
    let folder = try TemporaryFolder()
    let seed = try folder.open(isShared: false)
    try seed.save(.string(String(repeating: "x", count: 1_000)), for: "large")
    try seed.synchronize()
    let tomorrow = Date(timeIntervalSinceNow: 86_400)
    try FileManager.default.setAttributes([.modificationDate: tomorrow], ofItemAtPath: folder.file("d.plist").string)
    let reads = Mutex(0)
    var calls = SystemCalls()
    let real = calls
    calls.open = { path, flags, mode in
      if path.hasSuffix("/d.plist") { reads.withLock { $0 += 1 } }
      return real.open(path, flags, mode)
    }
    let store = try folder.open(isShared: false, foldsWhenIdle: true, calls: calls)
    let before = reads.withLock { $0 }
    for _ in 0..<50 {
      try store.update("n") { (old) throws(StoreError) in
        guard case .integer(let number)? = old else { return .integer(1) }
        return .integer(number + 1)
      }
    }
    #expect(reads.withLock { $0 } == before)
    // A fold that took a second is repeated only after ten, counted from the list's date.
    try store.engine.state.withLock { (state) throws(StoreError) in
      try state.journal?.memory.store(1_000_000, .foldTime)
    }
    #expect(try eventually { try PropertyList.decode(folder.bytes(of: "d.plist")).values["n"] == .integer(50) })
  }

  @Test func `a damaged list dated in the future is not taken for one that is being written`() throws {
    let folder = try TemporaryFolder()
    let reads = Mutex(0)
    var calls = SystemCalls()
    let real = calls
    calls.open = { path, flags, mode in
      if path.hasSuffix("/d.plist") { reads.withLock { $0 += 1 } }
      return real.open(path, flags, mode)
    }
    try folder.write("torn", to: "d.plist")
    let tomorrow = Date(timeIntervalSinceNow: 86_400)
    try FileManager.default.setAttributes([.modificationDate: tomorrow], ofItemAtPath: folder.file("d.plist").string)
    #expect(kind { _ = try folder.open(isShared: false, calls: calls) } == .damaged)
    #expect(reads.withLock { $0 } == 1)
  }

  @Test func `where a full disk has no room for a journal, opening says so, and works once there is room`() throws {
    let folder = try TemporaryFolder()
    let disk = FaultyDisk()
    var calls = SystemCalls()
    let real = calls
    calls.allocate = { disk.isFaulty ? -28 : real.allocate($0, $1, $2) }
    disk.isFaulty = true
    #expect(kind { _ = try folder.open(isShared: false, calls: calls) } == .noSpace)
    disk.isFaulty = false
    try folder.open(isShared: false, calls: calls).save(.integer(1), for: "k")
    #expect(try folder.open(isShared: false).load("k") == .integer(1))
  }

  @Test(arguments: [0x9123_683E, 0x6969] as [Int64])
  func `file systems that copy on write, and remote ones, are written by calls`(_ type: Int64) throws {
    let folder = try TemporaryFolder()
    var calls = SystemCalls()
    calls.fileSystem = { _ in type }
    let one = try folder.open(isShared: false, calls: calls), two = try folder.open(isShared: false, calls: calls)
    for number in 0..<100 {
      try one.save(.integer(Int64(number)), for: "n")
      #expect(try two.load("n") == .integer(Int64(number)))
    }
    try two.synchronize()
    #expect(try one.load("n") == .integer(99))
    #expect(try folder.open(isShared: false).load("n") == .integer(99))
  }

  @Test(.tags(.root, .process), .defaultRun) func `a place that cannot be written is read, and says so to writers`() throws {
    guard geteuid() == 0 else { try Test.skip("only root can drop to a user who may not write here") }
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false)
    try store.save(.integer(1), for: "a")
    try store.synchronize()
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path.string)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("d.plist").string)
    try FileManager.default.removeItem(atPath: folder.file(".d.plist.coffer").string)
    let output = try Tool("unprivileged", folder).finish()
    if output.contains("cannot drop") { try Test.skip("privileges cannot be dropped here") }
    #expect(output == "read integer(1)\nwrite readOnly\n")
    #expect(!folder.exists(".d.plist.coffer"))
  }

  @Test func `another user's journal is refused`() throws {
    guard geteuid() == 0 else { try Test.skip("only root can make another user's file") }
    let folder = try TemporaryFolder()
    try folder.write("", to: ".d.plist.coffer")
    try FileManager.default.setAttributes([.ownerAccountID: 65534], ofItemAtPath: folder.file(".d.plist.coffer").string)
    #expect(kind { _ = try folder.open() } == .denied)
  }

  @Test func `scrubbing leaves no trace of a removed value`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.string("hunter2-in-the-clear"), for: "password")
    try store.synchronize()
    try store.save(.string("hunter3-in-the-clear"), for: "password")
    try store.save(nil, for: "password")
    try store.save(.integer(1), for: "kept")
    try store.scrub()
    for name in try folder.names() { #expect(try folder.bytes(of: name).firstRange(of: Data("in-the-clear".utf8)) == nil) }
    #expect(try store.names() == ["kept"])
    #expect(try folder.open(isShared: false).names() == ["kept"])
  }

  @Test(arguments: [true, false], ["", "app."])
  func `a scrubbing that somebody left is finished by who opens the domain to write, or folds it`(
    _ isOpened: Bool, _ prefix: String
  )
    throws
  {
    let folder = try TemporaryFolder()
    let other = try folder.open(isShared: false)
    let dying = try folder.open(isShared: false, layers: DefaultsLayers([], nil, [:], prefix))
    try dying.save(.string("hunter2-in-the-clear"), for: "password")
    try dying.synchronize()
    var batch = Batch<Plain>()
    batch.writes = ["password": .remove, ReservedName.scrubPending: .set(.bool(true))]
    try dying.commit(batch, decision: nil)
    #expect(try dying.names() == [] && dying.contents() == [:])
    if isOpened {
      _ = try folder.open(isShared: false)
    } else {
      try other.save(.integer(1), for: "k")
      try other.synchronize()
    }
    for name in try folder.names() { #expect(try folder.bytes(of: name).firstRange(of: Data("in-the-clear".utf8)) == nil) }
    #expect(try other.load(ReservedName.scrubPending) == nil)
    #expect(try PropertyList.decode(folder.bytes(of: "d.plist")).values == (isOpened ? [:] : ["k": .integer(1)]))
  }

  @Test func `a list and a folder of a date that no counter of nanoseconds holds are read and written`() throws {
    let folder = try TemporaryFolder()
    try folder.open(isShared: false).close()
    let store = try folder.open(isShared: false)
    try store.save(.integer(1), for: "k")
    try store.synchronize()
    // The year 2400; a file system without it stores its latest date.
    let far = [timespec](repeating: timespec(tv_sec: 13_569_465_600, tv_nsec: 0), count: 2)
    for path in [folder.file("d.plist"), folder.path] { #expect(utimensat(AT_FDCWD, path.string, far, 0) == 0) }
    #expect(try folder.open(isShared: false).load("k") == .integer(1))
    try store.save(.integer(2), for: "k")
    try store.synchronize()
    #expect(try folder.open(isShared: false).load("k") == .integer(2))
  }

  @Test func `what an idle fold could not write is written once it can be, without another write`() throws {
    let folder = try TemporaryFolder()
    let disk = FaultyDisk()
    let refused = Atomic<Int>(0)
    var calls = SystemCalls()
    let real = calls
    calls.exchange = {
      guard disk.isFaulty else { return real.exchange($0, $1) }
      refused.add(1, ordering: .relaxed)
      return -ENOSPC
    }
    let store = try folder.open(isShared: false, foldsWhenIdle: true, calls: calls)
    try store.save(.string("first"), for: "k")
    try store.synchronize()
    disk.isFaulty = true
    try store.save(.string("second"), for: "k")
    eventually("a fold is tried") { refused.load(ordering: .relaxed) > 0 }
    disk.isFaulty = false
    try eventually("the list has it") { try folder.bytes(of: "d.plist").firstRange(of: Data("second".utf8)) != nil }
  }

  @Test func `a folder whose real name is not UTF-8 is refused, and not taken for an empty one`() throws {
    let folder = try TemporaryFolder()
    let real: [CChar] = folder.path.string.utf8.map { CChar(bitPattern: $0) } + [0x2F, 0x6A, CChar(bitPattern: 0xE9), 0]
    guard mkdir(real, 0o700) == 0 else { try Test.skip("this file system has names in UTF-8 alone") }
    let link = folder.file("link").string
    #expect(symlink(real, link) == 0)
    let folderError = #expect(throws: StoreError.self) { _ = try DefaultsStore.open(domain: "d", in: FilePath(link)) }
    #expect(folderError?.kind == .invalidName && folderError?.what == "the folder's real name is not UTF-8")
    let list = folder.file("e.plist").string
    #expect(symlink(real, list) == 0)
    let linkError = #expect(throws: StoreError.self) { _ = try DefaultsStore.open(domain: "e", in: folder.path) }
    #expect(linkError?.kind == .invalidName && linkError?.what == "the link leads to a name that is not UTF-8")
    #expect(rmdir(real) == 0)
  }
}
