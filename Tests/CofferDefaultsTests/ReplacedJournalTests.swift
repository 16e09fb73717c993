import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferDefaults

/// Other files replace those of running stores: a process that knows of a missing value reports it once, and never writes
/// over the new files.
@Suite struct ReplacedJournalTests {
  private let files = FileManager.default

  private func journal(_ folder: TemporaryFolder) -> String { folder.file(".d.plist.coffer").string }

  private func missing(_ body: () throws -> Void) throws -> [String]? {
    do { try body() } catch let error as StoreError {
      guard error.kind == .moved else { throw error }
      return error.description.split(separator: "'").enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }
    return nil
  }

  private func overwrite(_ file: String, _ bytes: Data, truncating: Bool = false) throws {
    if truncating { #expect(truncate(file, 0) == 0) }
    let handle = try FileHandle(forUpdating: URL(filePath: file))
    try handle.write(contentsOf: bytes)
    try handle.close()
  }

  private func putOldCopy(_ folder: TemporaryFolder) {
    #expect(rename(folder.file("old").string, journal(folder)) == 0)
    #expect(untilTheNextLookIsDue())
  }

  @Test func `a copy in the journal's place costs nobody anything, one after the other`() throws {
    let folder = try TemporaryFolder()
    let first = try folder.open(isShared: false), idle = try folder.open(isShared: false)
    try first.save(.integer(0), for: "seed")
    for round in 0..<3 {
      try first.save(.integer(Int64(round)), for: "before \(round)")
      try files.moveItem(atPath: journal(folder), toPath: folder.file("old \(round)").string)
      try files.copyItem(atPath: folder.file("old \(round)").string, toPath: journal(folder))
      #expect(untilTheNextLookIsDue())
      // A later process knows an older value, which is not missing.
      try first.save(.integer(Int64(round)), for: "seed")
      #expect(try idle.load("seed") == .integer(Int64(round)))
    }
    #expect(untilTheNextLookIsDue())
    try idle.save(.integer(7), for: "after")
    #expect(untilTheNextLookIsDue())
    for store in [first, idle, try folder.open(isShared: false)] {
      #expect(try store.names() == ["after", "before 0", "before 1", "before 2", "seed"])
    }
  }

  enum Call: CaseIterable { case set, update, commit, transaction, removeAll, synchronize, close }

  @Test(arguments: Call.allCases)
  func `an older copy is read as it is, and each call that writes says once what is missing, with its name`(_ call: Call) throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false)
    try store.save(.integer(1), for: "changed")
    try store.save(.integer(1), for: "removed")
    try store.save(.integer(1), for: "kept")
    try files.copyItem(atPath: journal(folder), toPath: folder.file("old").string)
    try store.save(.integer(2), for: "changed")
    try store.save(.integer(2), for: "added")
    try store.save(nil, for: "removed")
    putOldCopy(folder)
    #expect(try store.load("changed") == .integer(1) && store.load("added") == nil)
    try Fold(engine: store.engine).synchronize(telling: false)
    var batch = Batch<Plain>()
    batch.writes["new"] = .set(.integer(3))
    let decided = Mutex(0)
    let found = try missing {
      switch call {
      case .set: try store.save(.integer(3), for: "new")
      case .update: try store.update("new") { (_) throws(StoreError) in .integer(3) }
      case .commit: try store.commit(batch, decision: nil)
      case .transaction:
        try store.commit(batch, decision: Decision(place: "x") { (_) throws(StoreError) in decided.withLock { $0 += 1 } })
      case .removeAll: try store.removeAll()
      case .synchronize: try store.synchronize()
      case .close: try store.close()
      }
    }
    #expect(found == ["added", "changed", "removed"])
    #expect(decided.withLock { $0 } == 0)
    let there: [String: PlainForm] = ["changed": .integer(1), "removed": .integer(1), "kept": .integer(1)]
    #expect(try folder.open(isShared: false).contents() == there)
    guard call != .close else { return }
    try store.save(.integer(3), for: "new")
    #expect(try folder.open(isShared: false).contents() == there.merging(["new": .integer(3)]) { $1 })
  }

  @Test func `each who knows says so, though another has gone on in the files that are there`() throws {
    let folder = try TemporaryFolder()
    let first = try folder.open(isShared: false), second = try folder.open(isShared: false)
    try first.save(.integer(1), for: "a")
    try files.copyItem(atPath: journal(folder), toPath: folder.file("old").string)
    try first.save(.integer(2), for: "a")
    #expect(try second.load("a") == .integer(2))
    putOldCopy(folder)
    #expect(try missing { try first.save(.integer(3), for: "b") } == ["a"])
    try first.save(.integer(3), for: "b")
    try first.synchronize()
    // A second replacement makes nobody forget.
    try files.copyItem(atPath: journal(folder), toPath: folder.file("old").string)
    #expect(try second.load("a") == .integer(1))
    putOldCopy(folder)
    #expect(try second.load("a") == .integer(1))
    #expect(try missing { try second.save(.integer(4), for: "c") }?.contains("a") == true)
    try second.save(.integer(4), for: "c")
    #expect(try first.contents() == ["a": .integer(1), "b": .integer(3), "c": .integer(4)])
  }

  @Test func `a journal that is put back after another went on is another one to all who had it open`() throws {
    let folder = try TemporaryFolder()
    let moved = folder.file("moved").string
    let first = try folder.open(isShared: false), second = try folder.open(isShared: false)
    try first.save(.integer(1), for: "a")
    try files.moveItem(atPath: journal(folder), toPath: moved)
    #expect(untilTheNextLookIsDue())
    try first.save(.integer(2), for: "a")
    #expect(try second.load("a") == .integer(2))
    #expect(rename(moved, journal(folder)) == 0)
    #expect(untilTheNextLookIsDue())
    #expect(try missing { try first.save(.integer(3), for: "b") } == ["a"])
    try first.save(.integer(3), for: "b")
    #expect(try missing { try second.synchronize() }?.contains("a") == true)
    for store in [first, second, try folder.open(isShared: false)] {
      #expect(try store.contents() == ["a": .integer(1), "b": .integer(3)])
    }
  }

  @Test func `a folder in the place of the one in use is another, whatever is in it`() throws {
    let outer = try TemporaryFolder()
    let inner = outer.file("config")
    let store = try DefaultsStore.open(domain: "d", in: inner, options: .unshared)
    try store.save(.integer(1), for: "a")
    try files.moveItem(atPath: inner.string, toPath: outer.file("old").string)
    try files.createDirectory(atPath: inner.string, withIntermediateDirectories: false)
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("a") == nil)
    #expect(try missing { try store.save(.integer(2), for: "b") } == ["a"])
    try store.save(.integer(2), for: "b")
    #expect(try DefaultsStore.open(domain: "d", in: inner, options: .unshared).contents() == ["b": .integer(2)])
  }

  // MARK: The same file

  @Test(arguments: [true, false], [true, false])
  func `older bytes in the same file are another file, also where as much has been written since`(_ mapped: Bool, _ cut: Bool)
    throws
  {
    let folder = try TemporaryFolder()
    let calls = mapped ? SystemCalls() : unmapped
    let store = try folder.open(isShared: false, calls: calls), other = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "a")
    let old = try folder.bytes(of: ".d.plist.coffer")
    try store.save(.integer(2), for: "a")
    #expect(try other.load("a") == .integer(2))
    try overwrite(journal(folder), old, truncating: cut)
    try folder.open(isShared: false, calls: calls).save(.integer(3), for: "b")
    #expect(try missing { try store.save(.integer(4), for: "c") }?.contains("a") == true)
    try store.save(.integer(4), for: "c")
    try store.synchronize()
    try store.save(.integer(5), for: "c")
    #expect(untilTheNextLookIsDue())
    #expect(try missing { try other.save(.integer(6), for: "d") }?.contains("a") == true)
    let there: [String: PlainForm] = ["a": .integer(1), "b": .integer(3), "c": .integer(5)]
    #expect(try folder.open(isShared: false).contents() == there && other.contents() == there)
  }

  @Test func `the same older bytes once more are another file once more`() throws {
    let folder = try TemporaryFolder()
    let first = try folder.open(isShared: false), second = try folder.open(isShared: false)
    try first.save(.integer(1), for: "a")
    let old = try folder.bytes(of: ".d.plist.coffer")
    try second.save(.integer(2), for: "b")
    try first.save(.integer(3), for: "c")
    try overwrite(journal(folder), old)
    #expect(untilTheNextLookIsDue())
    #expect(try missing { try first.save(.integer(4), for: "d") } == ["b", "c"])
    try overwrite(journal(folder), old)
    #expect(untilTheNextLookIsDue())
    for number in 4..<7 {
      try first.save(.integer(Int64(number)), for: "d")
      try first.synchronize()
    }
    #expect(try missing { try second.save(.integer(7), for: "e") }?.contains("b") == true)
  }

  /// A remote file system, where nothing is mapped.
  private var unmapped: SystemCalls {
    var calls = SystemCalls()
    calls.fileSystem = { _ in 0x6969 }
    return calls
  }

  @Test(arguments: [true, false])
  func `a journal that is cut short under readers and writers ends nobody, and is damaged until it is whole again`(_ mapped: Bool)
    throws
  {
    let folder = try TemporaryFolder()
    let calls = mapped ? SystemCalls() : unmapped
    let reader = try folder.open(isShared: false, calls: calls), writer = try folder.open(isShared: false, calls: calls)
    try writer.save(.integer(1), for: "a")
    #expect(try reader.load("a") == .integer(1))
    let whole = try folder.bytes(of: ".d.plist.coffer")
    #expect(truncate(journal(folder), 0) == 0)
    #expect(kind { _ = try reader.load("a") } == .damaged)
    #expect(kind { try writer.save(.integer(2), for: "b") } == .damaged)
    try overwrite(journal(folder), whole)
    #expect(untilTheNextLookIsDue())
    #expect(try missing { try writer.save(.integer(2), for: "b") } == nil)
    #expect(try reader.load("b") == .integer(2))
    #expect(try folder.open(isShared: false).contents() == ["a": .integer(1), "b": .integer(2)])
  }

  @Test(arguments: [true, false], [true, false])
  func `a write into a file that is cut short in its midst, and perhaps written again, is acknowledged only where it is`(
    _ mapped: Bool, _ isRestored: Bool
  ) throws {
    let folder = try TemporaryFolder()
    var calls = mapped ? SystemCalls() : unmapped
    let old = Mutex<Data?>(nil)
    calls.reached = { step in
      guard step == .recordCopied, let bytes = old.withLock({ $0.take() }) else { return }
      do { try self.overwrite(self.journal(folder), isRestored ? bytes : Data(), truncating: true) } catch { Issue.record(error) }
    }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "a")
    let bytes = try folder.bytes(of: ".d.plist.coffer")
    old.withLock { $0 = bytes }
    let refusal = kind { try store.save(.integer(2), for: "b") }
    #expect(refusal == (isRestored ? nil : .damaged))
    guard isRestored else { return }
    #expect(try folder.open(isShared: false).contents() == ["a": .integer(1), "b": .integer(2)])
  }

  @Test(.tags(.process), .defaultRun, arguments: [true, false])
  func `a SIGBUS that is not the journal's goes where it went before`(_ isHandled: Bool) throws {
    let folder = try TemporaryFolder()
    let tool = try Tool("bus", folder, isHandled ? "handled" : "default")
    #expect(tool.finish() == "opened\n")
    #expect(isHandled ? tool.process.terminationStatus == 7 : tool.wasKilled && tool.process.terminationStatus == SIGBUS)
  }

  @Test func `a copy whose header and records are of two moments has the values of the list`() throws {
    let folder = try TemporaryFolder()
    do {
      let store = try folder.open(isShared: false)
      try store.save(.integer(1), for: "folded")
      try store.synchronize()
      for number in 0..<3 { try store.save(.integer(2), for: "journalled \(number)") }
    }
    var bytes = try folder.bytes(of: ".d.plist.coffer")
    bytes[JournalLayout.headerBytes + 60] ^= 1
    try overwrite(journal(folder), bytes)
    #expect(kind { _ = try folder.open(isShared: false) } == .damaged, "which no tool that copies has made")
    try files.copyItem(atPath: journal(folder), toPath: folder.file("old").string)
    putOldCopy(folder)
    let reader = try DefaultsStore.open(domain: "d", in: folder.path, access: .readOnly)
    #expect(try reader.contents() == ["folded": .integer(1)])
    let store = try folder.open(isShared: false)
    #expect(try store.contents() == ["folded": .integer(1)])
    try store.save(.integer(3), for: "new")
    for store in [reader, try folder.open(isShared: false)] {
      #expect(untilTheNextLookIsDue())
      #expect(try store.contents() == ["folded": .integer(1), "new": .integer(3)])
    }
  }

  @Test func `a journal of an older format is refused, and says what to do`() throws {
    let folder = try TemporaryFolder()
    try folder.open(isShared: false).save(.integer(1), for: "a")
    var bytes = try folder.bytes(of: ".d.plist.coffer")
    bytes[JournalLayout.Field.version.rawValue] = 1
    try overwrite(journal(folder), bytes)
    do {
      _ = try folder.open(isShared: false)
      Issue.record("it was opened")
    } catch { #expect(error.kind == .damaged && error.description.contains("format 1")) }
  }

  @Test func `observers are told of the values that another file has`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false)
    try store.save(.integer(1), for: "changed")
    try store.save(.integer(1), for: "same")
    try files.copyItem(atPath: journal(folder), toPath: folder.file("old").string)
    try store.save(.integer(2), for: "changed")
    try store.save(.integer(2), for: "added")
    let heard = try Heard(store.changes)
    putOldCopy(folder)
    #expect(heard.waitFor("changed", "added"))
    #expect(!heard.changes.contains { $0.name == "same" })
    #expect(try missing { try store.synchronize() } == ["added", "changed"], "which observing has not used up")
  }

  // MARK: Transactions

  /// A store that has committed every transaction, until it is told to forget.
  private final class Decisions: Sendable {
    private let isForgotten = Mutex(false)
    var lookup: DecisionLookup {
      DecisionLookup(
        outcome: { (_, _) throws(StoreError) in self.outcome }, settle: { (_, _) throws(StoreError) in self.outcome },
        forget: { (_, _) throws(StoreError) in self.isForgotten.withLock { $0 = true } })
    }
    private var outcome: TransactionOutcome { isForgotten.withLock { $0 } ? .dropped : .committed }
  }

  @Test func `what is prepared in an older copy is settled before anything is missed`() throws {
    let folder = try TemporaryFolder(), decisions = Decisions()
    let store = try folder.open(decisions: decisions.lookup, isShared: false)
    try folder.open(isShared: false).leavePending(.string("after"), for: "a")
    try files.copyItem(atPath: journal(folder), toPath: folder.file("old").string)
    putOldCopy(folder)
    #expect(try missing { try store.save(.integer(1), for: "b") } == nil)
    #expect(try folder.open(isShared: false).load("a") == .string("after"))
  }

  @Test(arguments: [true, false])
  func `a transaction whose plain half went with the file that was in use is missed`(_ isUnreadableAtFirst: Bool) throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false)
    try store.save(.integer(1), for: "b")
    try files.copyItem(atPath: journal(folder), toPath: folder.file("old").string)
    try store.leavePending(.string("after"), for: "a")
    if isUnreadableAtFirst { try folder.write("<plist", to: "d.plist") }
    putOldCopy(folder)
    if isUnreadableAtFirst {
      #expect(throws: StoreError.self) { try store.load("b") }
      try files.removeItem(atPath: folder.file("d.plist").string)
    }
    #expect(try missing { try store.save(.integer(2), for: "b") } == ["a"])
  }

  @Test func `a transaction whose file is replaced before the decision is made in the file that is there`() throws {
    let folder = try TemporaryFolder()
    let isDue = Mutex(false), decided = Mutex(0)
    var calls = SystemCalls()
    calls.reached = { step in
      guard step == .prepared, isDue.withLock({ $0.exchange(false) }) else { return }
      #expect(rename(folder.file("old").string, self.journal(folder)) == 0)
    }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "b")
    try files.copyItem(atPath: journal(folder), toPath: folder.file("old").string)
    isDue.withLock { $0 = true }
    var batch = Batch<Plain>()
    batch.writes["a"] = .set(.integer(2))
    try store.commit(batch, decision: Decision(place: "x") { (_) throws(StoreError) in decided.withLock { $0 += 1 } })
    #expect(decided.withLock { $0 } == 1)
    #expect(try folder.open(isShared: false).contents() == ["a": .integer(2), "b": .integer(1)])
  }

  @Test func `a fold whose journal is replaced in its midst does not undo the fold of who goes on in its place`() throws {
    let folder = try TemporaryFolder()
    let next = Mutex<DefaultsStore?>(nil)
    var calls = SystemCalls()
    let moved = folder.file("moved").string
    calls.reached = { step in
      guard step == .listWritten, rename(self.journal(folder), moved) == 0 else { return }
      next.withLock { store in
        _ = kind {
          store = try folder.open(isShared: false)
          try store?.save(.integer(2), for: "b")
          try store?.synchronize()
        }
      }
    }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "a")
    #expect(try missing { try store.synchronize() }?.contains("a") == true)
    #expect(try folder.open(isShared: false).contents() == ["b": .integer(2)])
  }
}

extension Bool {
  fileprivate mutating func exchange(_ new: Bool) -> Bool {
    defer { self = new }
    return self
  }
}
