import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Synchronization
import Testing

@testable import CofferPostgres

/// A writer that finds another one at work queues its sealed commit, and the next writer makes all queued ones.
@Suite(.tags(.process), .defaultRun) final class CombiningTests {
  private let shared: SharedVault
  private let vault: UnlockedVault

  init() throws {
    shared = try SharedVault()
    vault = try shared.create(shared.pins)
    try vault.set(form("0"), for: name("first"))
  }

  /// Runs `body` while another writer has its turn.
  private func during(_ body: () throws -> Void) throws {
    let turn = try ForeignTurn(shared)
    defer { turn.end() }
    try body()
  }

  private func queue() throws -> Int { Int(try shared.server.sql("SELECT count(*) FROM \(shared.schema).intents")) ?? -1 }

  /// Kills a process once its commit of the item `writer` with the value 1 is in the queue.
  private func queueOfDead() throws {
    let key = try shared.keyPath()
    try during {
      let tool = try PostgresTool("shared-write", shared.url, key, "0", "1")
      try eventually("it is queued") { try queue() == 1 }
      #expect(try tool.stop().isEmpty)
    }
  }

  private var writer: ItemName { get throws { try ItemName(service: "writer", account: "0") } }

  @Test func `commits that wait are made in one, and each writer gets its own listing`() throws {
    let before = try vault.generation()
    let listings = Mutex<[String: VaultItem]>([:])
    let group = DispatchGroup()
    try during {
      for number in 0..<8 {
        let other = try shared.unlock(number % 2 == 0 ? shared.pins : .withoutPins)
        group.enter()
        Thread.detachNewThread {
          do {
            let item = try other.set(form("\(number)"), for: name("\(number)"), keeping: 1)
            listings.withLock { $0["\(number)"] = item }
          } catch { Issue.record(error) }
          group.leave()
        }
      }
      try eventually("all are queued") { try queue() == 8 }
    }
    group.wait()
    #expect(try vault.generation() == before + 1)
    #expect(try queue() == 0)
    for (account, item) in listings.withLock(\.self) {
      #expect(try vault.item(name(account)) == item && text(vault.get(name(account))) == account)
    }
    #expect(listings.withLock { $0.count } == 8)
    #expect(try vault.verify().items == 9 && shared.unlock(shared.pins).status().generation == before + 1)
  }

  @Test func `of two that wait to make one item, one makes it, and the other learns that it is there`() throws {
    let outcomes = Mutex<[StoreError.Kind?]>([])
    let group = DispatchGroup()
    try during {
      for number in 0..<2 {
        let other = try shared.unlock()
        group.enter()
        Thread.detachNewThread {
          let found = kind { try other.set(form("\(number)"), for: name("new"), if: .absent) }
          outcomes.withLock { $0.append(found) }
          group.leave()
        }
      }
      try eventually("both are queued") { try queue() == 2 }
    }
    group.wait()
    let found = outcomes.withLock(\.self)
    #expect(found.count == 2 && found.contains(nil) && found.contains(.alreadyExists))
    #expect(try vault.item(name("new"))?.revision == 1 && vault.verify().items == 2)
  }

  /// Runs `body` while `vault`, which began to write before, is about to change the item `new`.
  private func whileNewIsMade(_ body: () throws -> Void) throws {
    let (hasBegun, mayEnd, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let store = try VaultStore(service: "s", vault: shared.unlock())
    Thread.detachNewThread {
      do {
        try store.update("new") { (_) throws(StoreError) in
          hasBegun.signal()
          mayEnd.wait()
          do { return try form("theirs") } catch { throw StoreError(.memory, "no secret memory", cure: "free some") }
        }
      } catch { Issue.record(error) }
      isOver.signal()
    }
    hasBegun.wait()
    defer {
      mayEnd.signal()
      isOver.wait()
    }
    try body()
  }

  @Test func `a change of several items that conflicts with a commit made since it was queued changes none of them`() throws {
    let isOver = DispatchSemaphore(value: 0), before = try vault.verify()
    let author = Held(try shared.unlock(shared.pins))
    try whileNewIsMade {
      let changes = try [ItemChange.set(form("1"), for: name("first")), .set(form("2"), for: name("new"), if: .absent)]
      Thread.detachNewThread {
        #expect(kind { try author.vault.apply(changes) } == .alreadyExists)
        isOver.signal()
      }
      try eventually("it is queued") { try queue() == 1 }
    }
    isOver.wait()
    #expect(try text(author.vault.get(name("first"))) == "0" && author.vault.verify().records == before.records + 1)
    try author.vault.set(form("0"), for: name("first"))
    #expect(try text(vault.get(name("first"))) == "0" && text(vault.get(name("new"))) == "theirs" && queue() == 0)
    #expect(try vault.verify().records == before.records + 1 && shared.unlock(shared.pins).verify() == vault.verify())
  }

  @Test func `a queued change that fails with no conflict may still be made, and the error says so`() throws {
    let end = CofferTestSupport.Collected<StoreError.Kind?>(), isOver = DispatchSemaphore(value: 0)
    try during {
      let other = try shared.unlock()
      Thread.detachNewThread {
        end.add(kind { try other.set(form("late"), for: name("new")) })
        isOver.signal()
      }
      try eventually("it is queued") { try queue() == 1 }
      try shared.server.sql(
        "CREATE FUNCTION \(shared.schema)_none() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
      try shared.server.sql(
        "CREATE TRIGGER t BEFORE INSERT ON \(shared.schema).rec FOR EACH ROW EXECUTE FUNCTION \(shared.schema)_none()")
    }
    isOver.wait()
    #expect(end.all == [.outcomeUnknown])
    try shared.server.sql("DROP TRIGGER t ON \(shared.schema).rec")
    try vault.set(form("1"), for: name("first"))
    #expect(try text(vault.get(name("new"))) == "late" && vault.verify().items == 2)
  }

  @Test(arguments: [true, false])
  func `a writer that has no place in the queue, or lost it, makes its change itself`(isFull: Bool) throws {
    let isOver = DispatchSemaphore(value: 0), place = "\(shared.schema).intents", tries = "public.\(shared.schema)_tries"
    if isFull {
      let rows = "SELECT decode(lpad(to_hex(n), 32, '0'), 'hex'), '\\x00' FROM generate_series(1, 1000) n"
      try shared.server.sql("INSERT INTO \(place) \(rows)")
      // A statement that finds no room fires it, too.
      try shared.server.sql(
        """
        CREATE TABLE \(tries)(n int); CREATE FUNCTION \(tries)() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN INSERT INTO \(tries) VALUES (1); RETURN NULL; END';
        CREATE TRIGGER tries BEFORE INSERT ON \(place) FOR EACH STATEMENT EXECUTE FUNCTION \(tries)()
        """)
    }
    try during {
      let other = try shared.unlock()
      Thread.detachNewThread {
        #expect(kind { try other.set(form("1"), for: name("new")) } == nil)
        isOver.signal()
      }
      try eventually("it tried to queue") {
        try isFull ? shared.server.sql("SELECT count(*) FROM \(tries)") != "0" : queue() == 1
      }
      if !isFull { try shared.server.sql("DELETE FROM \(place)") }
    }
    isOver.wait()
    #expect(try text(vault.get(name("new"))) == "1")
  }

  @Test func `the commit of a dead writer is made once, by the next writer`() throws {
    try queueOfDead()
    #expect(try vault.get(writer) == nil)
    try shared.server.sql("CREATE TABLE \(shared.schema)_kept AS SELECT * FROM \(shared.schema).intents")
    let again = "INSERT INTO \(shared.schema).intents SELECT * FROM \(shared.schema)_kept"
    try vault.set(form("1"), for: name("first"))
    #expect(try text(vault.get(writer)) == "1" && queue() == 0)
    // The same bucket has the same digest as when the commit was queued.
    try vault.remove(writer)
    for step in 2..<4 {
      try shared.server.sql(again)
      try vault.set(form("\(step)"), for: name("first"))
      #expect(try vault.get(writer) == nil && queue() == 0)
    }
    #expect(try vault.verify().items == 1)
  }

  @Test func `the commit of a dead writer does not replace what was written since`() throws {
    try queueOfDead()
    try vault.set(form("newer"), for: writer)
    #expect(try text(vault.get(writer)) == "newer" && queue() == 0)
  }

  @Test func `a commit that was queued under an earlier key is not made`() throws {
    try queueOfDead()
    try vault.rotate()
    try vault.set(form("1"), for: name("first"))
    #expect(try vault.get(writer) == nil && queue() == 0 && vault.verify().items == 1)
  }

  @Test func `more commits wait than a writer takes, and the rest is made by the next`() throws {
    try queueOfDead()
    try shared.server.sql(
      "INSERT INTO \(shared.schema).intents SELECT decode(lpad(to_hex(n), 32, '0'), 'hex'), '\\x00' FROM generate_series(0, 80) n"
    )
    try vault.set(form("1"), for: name("first"))
    #expect(try queue() == 82 - 64)
    try vault.set(form("2"), for: name("first"))
    #expect(try queue() == 0 && text(vault.get(writer)) == "1")
  }

  @Test(.tags(.process), .wholeRun, arguments: [(1_024, "1"), (1_025, nil)])
  func `a queued commit is made if at most 1024 rows of the log came since`(rows: Int, made: String?) throws {
    try queueOfDead()
    try shared.server.sql("CREATE TABLE \(shared.schema)_kept AS SELECT * FROM \(shared.schema).intents")
    try shared.server.sql("DELETE FROM \(shared.schema).intents")
    for row in 0..<rows { try vault.set(form("\(row)"), for: name("first")) }
    try shared.server.sql("INSERT INTO \(shared.schema).intents SELECT * FROM \(shared.schema)_kept")
    try vault.set(form("1"), for: name("first"))
    #expect(try text(vault.get(writer)) == made)
    #expect(try queue() == 0)
  }

  @Test func `a change of more than 64 KiB waits for its turn and is not queued`() throws {
    let isOver = DispatchSemaphore(value: 0)
    try during {
      let other = try shared.unlock()
      Thread.detachNewThread {
        do { try other.set(form(String(repeating: "x", count: 65_536)), for: name("long")) } catch { Issue.record(error) }
        isOver.signal()
      }
      try eventually("it waits for the lock") {
        try shared.server.sql("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0"
      }
      #expect(try queue() == 0 && vault.get(name("long")) == nil)
    }
    isOver.wait()
    #expect(try text(vault.get(name("long")))?.count == 65_536)
  }

  @Test func `rows that no writer made do not keep others out of the queue`() throws {
    try queueOfDead()
    try shared.server.sql(
      """
      INSERT INTO \(shared.schema).intents SELECT decode(lpad(to_hex(n), 32, '0'), 'hex'), decode(repeat('ab', 70000), 'hex')
        FROM generate_series(0, 80) n; INSERT INTO \(shared.schema).intents VALUES ('\\x00', '\\x00'), ('', '')
      """)
    for step in 1..<3 { try vault.set(form("\(step)"), for: name("first")) }
    #expect(try queue() == 0 && text(vault.get(writer)) == "1")
  }

  @Test func `a vault from before the queue is refused, and the error has the statement that makes it`() throws {
    try shared.server.sql("DROP TABLE \(shared.schema).intents")
    let error = #expect(throws: StoreError.self) { _ = try shared.unlock() }
    #expect(error?.kind == .notAVault)
    try shared.server.sql(String(try #require(error?.cure.split(separator: "make the table: ").last)))
    let other = try shared.unlock()
    try other.set(form("1"), for: name("first"))
    #expect(try text(vault.get(name("first"))) == "1")
  }

  @Test func `a role that may not use the queue is no writer`() throws {
    let role = shared.schema + "_partial"
    try shared.server.sql("CREATE ROLE \(role) LOGIN")
    try shared.grant(role, .writer)
    try shared.server.sql("REVOKE INSERT ON \(shared.schema).intents FROM \(role)")
    let place = VaultPlace(shared.url.replacingOccurrences(of: "coffer@", with: "\(role)@"))
    let other = try LockedVault.open(place, options: .withoutPins).unlock(with: shared.credentials())
    #expect(kind { try other.set(form("x"), for: name("first")) } == .readOnly)
    #expect(try text(other.get(name("first"))) == "0")
  }
}

/// Rows of the queue from a server, or from a writer of its tables without the key.
@Suite(.tags(.campaign, .process), .wholeRun) struct QueueForgeryCampaign {
  @Test func `no changed, doubled, moved or foreign commit is made`() throws {
    let shared = try SharedVault(), other = try SharedVault()
    let boxes = try [shared, other].map { try Self.box($0) }
    let vault = try shared.unlock()
    var random = Random(campaign: "forged commits in a queue")
    let count = Campaign.size(short: 300, long: 10_000)
    let whole = try vault.verify().items
    for step in 0..<count {
      var rows: [(id: [UInt8], box: [UInt8])] = []
      for _ in 0...Int.random(in: 0..<3, using: &random) {
        var (id, box) = boxes[step % 5 == 0 ? 1 : 0]
        if step % 5 != 0 { Self.change(&box, &random) }
        if Bool.random(using: &random) { id = (0..<16).map { _ in .random(in: .min ... .max, using: &random) } }
        if !rows.contains(where: { $0.id == id }) { rows.append((id, box)) }
      }
      let values = rows.map { "('\\x\(Self.hex($0.id))', '\\x\(Self.hex($0.box))')" }.joined(separator: ", ")
      try shared.server.sql("INSERT INTO \(shared.schema).intents (id, box) VALUES \(values)")
      try vault.set(form("\(step)"), for: name("own"))
      #expect(try vault.get(ItemName(service: "writer", account: "0")) == nil)
    }
    #expect(try shared.server.sql("SELECT count(*) FROM \(shared.schema).intents") == "0")
    #expect(try vault.verify().items == whole + 1 && text(vault.get(name("own"))) == "\(count - 1)")
    print("forged commits in a queue: \(count)")
  }

  /// A commit that another process queued, and that is gone from the queue.
  private static func box(_ shared: SharedVault) throws -> (id: [UInt8], box: [UInt8]) {
    let vault = try shared.create()
    try vault.set(form("0"), for: name("a"))
    let key = try shared.keyPath()
    let turn = try ForeignTurn(shared)
    let tool = try PostgresTool("shared-write", shared.url, key, "0", "1")
    try eventually("it is queued") { try shared.server.sql("SELECT count(*) FROM \(shared.schema).intents") == "1" }
    _ = try tool.stop()
    let row = try shared.server.sql(
      "DELETE FROM \(shared.schema).intents RETURNING encode(id, 'hex') || ' ' || encode(box, 'hex')")
    turn.end()
    let words = row.split(whereSeparator: \.isWhitespace).prefix(2).map { bytes(String($0)) }
    return (try #require(words.first), try #require(words.last))
  }

  private static func change(_ box: inout [UInt8], _ random: inout Random) {
    let place = Int.random(in: box.indices, using: &random)
    switch Int.random(in: 0..<4, using: &random) {
    case 0, 1: box[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 2: box.removeSubrange(place...)
    default: box.insert(0, at: place)
    }
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
