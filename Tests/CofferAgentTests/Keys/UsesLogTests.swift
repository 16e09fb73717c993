import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferAgent

/// A vault, and the folder of its log of uses.
final class LoggedVault {
  let folder: TestFolder
  let vault: UnlockedVault
  let hand = HandClock()
  let uses: FilePath

  init() throws {
    folder = try TestFolder("uses")
    uses = folder.path.appending("uses")
    vault = try UnlockedVault.create(
      at: .file(folder.path.appending("v.sqlite")), with: TestAgent.credentials(), cost: .testing, options: .withoutPins)
  }

  func log() -> UsesLog { UsesLog(uses, now: hand.clock.sinceBoot) }
  var segments: FilePath { uses.appending(vault.id.description) }
  var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: segments.string))?.sorted() ?? [] }
  var item: ItemName { get throws { try ItemName(service: "coffer.uses", account: log().machine) } }
  /// Empty without the item.
  var attributes: [String: String] {
    get throws {
      do throws(StoreError) {
        return try vault.withKey(ItemName(service: "coffer.uses", account: log().machine)) { $1.metadata.attributes }
      } catch {
        guard error.kind == .notFound else { throw error }
        return [:]
      }
    }
  }
  var anchor: UInt64? { get throws { try attributes["coffer.uses.count"].flatMap(UInt64.init) } }

  func path(_ number: Int) -> String { segments.appending(String(format: "%010d", number)).string }
  func content(_ number: Int) throws -> [UInt8] { try [UInt8](Data(contentsOf: URL(filePath: path(number)))) }
  /// In place, as an editor with the file's mode does.
  func write(_ bytes: [UInt8], _ number: Int) throws {
    try Data(bytes).write(to: URL(filePath: path(number)))
    chmod(path(number), 0o600)
  }

  /// The head of a segment and its rows.
  func parts(_ number: Int) throws -> Segment { Self.parts(try content(number)) }

  typealias Segment = (head: [UInt8], rows: [[UInt8]])

  static func parts(_ bytes: [UInt8]) -> Segment {
    var rows: [[UInt8]] = [], at = 64
    while at < bytes.count {
      let count = 4 + (0..<4).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
      rows.append([UInt8](bytes[at..<at + count]))
      at += count
    }
    return ([UInt8](bytes[..<64]), rows)
  }

  /// The rows as an agent that has just started reads them.
  func read() throws -> [UseRow] { try log().read(most: nil, in: vault) }

  /// Runs `body` while another writer of the vault does not end its transaction.
  func whileAnotherWrites(_ body: () throws -> Void) throws {
    let place = VaultPlace.file(folder.path.appending("v.sqlite"))
    let store = try VaultStore(
      service: "other", vault: LockedVault.open(place, options: .withoutPins).unlock(with: TestAgent.credentials()))
    let (isInside, mayEnd, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    // A real thread: other tests may hold all threads of the task pool.
    Thread.detachNewThread {
      do {
        try store.update("a") { (_) throws(StoreError) in
          isInside.signal()
          mayEnd.wait()
          return nil
        }
      } catch { Issue.record(error) }
      isDone.signal()
    }
    isInside.wait()
    defer {
      mayEnd.signal()
      isDone.wait()
    }
    try body()
  }

  /// A log of `kinds`, closed or left as by a killed agent.
  func made(_ kinds: [UseRow.Kind], closed: Bool) throws {
    let log = log()
    for (place, kind) in kinds.enumerated() { try log.record(.made(kind, "row \(place)"), in: vault) }
    if closed { log.close(in: vault) }
  }
}

extension UseRow {
  static func made(_ kind: Kind, _ detail: String = "", host: String = "") -> UseRow {
    UseRow(time: Date(timeIntervalSince1970: 1_000), kind: kind, item: UUID(), name: "github", detail: detail, host: host)
  }
}

@Suite struct UsesLogTests {
  @Test func `rows of several unlocks come back in their order, each unlock with its end`() throws {
    let scene = try LoggedVault()
    #expect(try scene.read().isEmpty && scene.vault.list().isEmpty && scene.names.isEmpty)
    try scene.made([.login, .sign], closed: true)
    try scene.made([.unwrap], closed: true)
    let rows = try scene.read()
    #expect(rows.map(\.kind) == [.opened, .login, .sign, .closed, .opened, .unwrap, .closed])
    #expect(rows.map(\.number) == Array(1...7))
    #expect(rows[2].detail == "row 1" && rows[2].name == "github" && rows[2].time.timeIntervalSince1970 == 1_000)
    #expect(try scene.log().read(most: 2, in: scene.vault) == Array(rows.suffix(2)))
    var facts = stat()
    #expect(stat(scene.path(1), &facts) == 0 && facts.st_mode & 0o777 == 0o600)
    #expect(stat(scene.segments.string, &facts) == 0 && facts.st_mode & 0o777 == 0o700)
  }

  @Test func `the vault remembers the log before the first use, after an hour and at the lock, and not at each use`() throws {
    let scene = try LoggedVault(), log = scene.log()
    try log.prepare(in: scene.vault)
    for _ in 0..<5 { try log.record(.made(.sign), in: scene.vault) }
    #expect(try scene.anchor == 1)
    scene.hand.pass(.seconds(3599))
    log.keep(in: scene.vault)
    #expect(try scene.anchor == 1)
    scene.hand.pass(.seconds(1))
    log.keep(in: scene.vault)
    #expect(try scene.anchor == 6)
    log.close(in: scene.vault)
    #expect(try scene.anchor == 7 && log.note == nil)
    #expect(try scene.vault.withKey(scene.item) { $1.history } == 0)
    #expect(try scene.vault.log().count { $0.program == "agent (log of uses)" } == 4)
    // A lock without a use writes nothing.
    let generation = try scene.vault.status().generation
    scene.log().close(in: scene.vault)
    #expect(try scene.vault.status().generation == generation && scene.read().count == 7)
  }

  @Test func `a change of any bit of a byte is found, and no key is used then`() throws {
    let scene = try LoggedVault()
    try scene.made([.login, .refused], closed: true)
    let bytes = try scene.content(1)
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 1 << UInt8(place % 8)
      try scene.write(changed, 1)
      #expect(kind { _ = try scene.read() } == .tampered, "byte \(place)")
    }
    #expect(kind { try scene.log().record(.made(.sign), in: scene.vault) } == .tampered)
    try scene.write(bytes, 1)
    #expect(try scene.read().count == 4)
  }

  @Test func `rows that are removed, swapped, repeated, added or cut before the anchor are found`() throws {
    let scene = try LoggedVault()
    try scene.made([.login, .sign, .sign], closed: true)
    let (head, rows) = try scene.parts(1)
    #expect(rows.count == 5)
    var edits: [[[UInt8]]] = []
    for place in rows.indices {
      var edit = rows
      edit.remove(at: place)
      edits.append(edit)
      edit = rows
      edit.insert(rows[place], at: place)
      edits.append(edit)
      if place > 0 { edits.append(Array(rows[..<place])) }
      for other in rows.indices where other < place {
        edit = rows
        edit.swapAt(place, other)
        edits.append(edit)
      }
    }
    edits.append(rows + [rows[3]])
    for edit in edits {
      try scene.write(head + edit.joined(), 1)
      #expect(kind { _ = try scene.read() } == .tampered)
      #expect(kind { try scene.log().record(.made(.sign), in: scene.vault) } == .tampered)
    }
    // A log of another vault, under its own key.
    let other = try LoggedVault()
    try other.made([.login, .sign, .sign], closed: true)
    try scene.write(other.content(1), 1)
    #expect(kind { _ = try scene.read() } == .tampered)
    // A person moves it away: a new log begins, and says so.
    try FileManager.default.moveItem(atPath: scene.segments.string, toPath: scene.uses.appending("evidence").string)
    try scene.made([.sign], closed: true)
    let after = try scene.read()
    #expect(after.map(\.kind) == [.cut, .sign, .closed] && after.map(\.number) == [6, 7, 8])
  }

  @Test func `an end that is cut after the anchor is reported, before and after the next use`() throws {
    let scene = try LoggedVault()
    try scene.made([.login, .sign, .sign, .sign], closed: false)
    let (head, rows) = try scene.parts(1)
    for kept in 1...rows.count {
      try scene.write(head + rows[..<kept].joined(), 1)
      let found = try scene.read()
      #expect(found.count == kept + 1 && found.last?.kind == .cut)
      #expect(found.last?.detail == "ended without a lock: later rows may be missing")
    }
    try scene.made([.unwrap], closed: true)
    #expect(try scene.read().map(\.kind) == [.opened, .login, .sign, .sign, .sign, .cut, .unwrap, .closed])
  }

  @Test func `a row that a killed agent left in part, or zeros after a power failure, are cut and reported`() throws {
    let scene = try LoggedVault()
    try scene.made([.login, .sign], closed: false)
    let (head, rows) = try scene.parts(1)
    var ends = (1..<rows[1].count).map { Array(rows[1][..<$0]) }
    ends.append([UInt8](repeating: 0, count: 5_000))
    for end in ends {
      try scene.write(head + rows[0] + end, 1)
      #expect(try scene.read().map(\.kind) == [.opened, .cut], "\(end.count) bytes of a row")
    }
    try scene.made([.sign], closed: false)
    #expect(try scene.read().map(\.kind) == [.opened, .cut, .sign, .cut] && scene.parts(1).rows.count == 3)
  }

  @Test func `a log that was deleted begins anew and says so, and one without its key waits for a person`() throws {
    let scene = try LoggedVault()
    try scene.made([.login, .sign], closed: true)
    try FileManager.default.removeItem(atPath: scene.segments.string)
    #expect(try scene.read().map(\.kind) == [.cut])
    try scene.made([.sign], closed: true)
    #expect(try scene.read().map(\.number) == [5, 6, 7] && scene.read()[0].kind == .cut)
    // As in an older copy of the vault.
    try scene.vault.changeInternal(.remove(scene.item))
    #expect(try scene.read().isEmpty)
    #expect(kind { try scene.log().record(.made(.sign), in: scene.vault) } == .tampered)
  }

  @Test func `an older copy of the whole log is found`() throws {
    let scene = try LoggedVault()
    try scene.made([.login], closed: true)
    let old = try scene.content(1)
    try scene.made([.sign], closed: true)
    try scene.write(old, 1)
    #expect(kind { _ = try scene.read() } == .tampered)
  }

  @Test func `eight segments are kept, and each is needed`() throws {
    let scene = try LoggedVault(), log = scene.log()
    var row = UseRow.made(.sign, String(repeating: "d", count: 1_030), host: String(repeating: "é", count: 520))
    for text: WritableKeyPath<UseRow, String> in [\.hostKey, \.program, \.client, \.approval] {
      row[keyPath: text] = String(repeating: "p", count: 1_000)
    }
    var written = 0
    while scene.names.last.flatMap(Int.init) ?? 0 < 10 {
      for _ in 0..<50 { try log.record(row, in: scene.vault) }
      written += 50
    }
    log.close(in: scene.vault)
    #expect(scene.names.compactMap(Int.init) == Array(3...10))
    let rows = try scene.read()
    #expect(rows.last?.number == UInt64(written + 2) && rows.map(\.number) == Array(rows[0].number...UInt64(written + 2)))
    #expect(rows[0].number > 1 && rows[0].detail.utf8.count == 1_024 && rows[0].host.utf8.count == 1_024)
    for number in 3...10 {
      let bytes = try scene.content(number)
      #expect(bytes.count <= 1 << 20)
      unlink(scene.path(number))
      #expect(kind { _ = try scene.read() } == .tampered, "segment \(number)")
      try scene.write(number == 10 ? scene.content(9) : scene.content(10), number)
      #expect(kind { _ = try scene.read() } == .tampered, "segment \(number)")
      try scene.write(bytes, number)
    }
    // A killed writer left an older one, or a new one without a row.
    try scene.write([1], 2)
    try scene.write([], 11)
    _ = FileManager.default.createFile(atPath: scene.segments.string + "/+000000012", contents: nil)
    #expect(try scene.read().last?.kind == .cut)
    try scene.made([.sign], closed: true)
    #expect(try scene.read().suffix(3).map(\.kind) == [.cut, .sign, .closed])
  }

  @Test func `a second agent waits for the lock of the first, and goes on where that ended`() throws {
    let scene = try LoggedVault(), first = scene.log(), second = scene.log()
    try first.record(.made(.login), in: scene.vault)
    #expect(kind { try second.record(.made(.sign), in: scene.vault) } == .busy)
    first.close(in: scene.vault)
    try second.record(.made(.sign), in: scene.vault)
    second.close(in: scene.vault)
    #expect(try scene.read().map(\.kind) == [.opened, .login, .closed, .opened, .sign, .closed])
  }

  @Test func `equal refusals within a minute are two rows, and many different ones a few`() throws {
    let scene = try LoggedVault(), log = scene.log()
    for process in 1...1_000 {
      var row = UseRow.made(.refused, "build.example.com is not in --for")
      (row.item, row.process, row.start) = (nil, UInt32(process), UInt64(process))
      try log.record(row, in: scene.vault)
    }
    try log.record(.made(.sign), in: scene.vault)
    #expect(try log.read(most: nil, in: scene.vault).map(\.kind) == [.opened, .refused, .sign])
    scene.hand.pass(.seconds(60))
    try log.record(.made(.sign), in: scene.vault)
    let rows = try log.read(most: nil, in: scene.vault)
    #expect(rows.map(\.kind) == [.opened, .refused, .sign, .refused, .sign] && rows.map(\.count) == [1, 1, 1, 999, 1])
    for number in 1...500 { try log.record(.made(.refused, "host \(number)"), in: scene.vault) }
    log.close(in: scene.vault)
    let last = try scene.read().dropFirst(5)
    #expect(last.count == 18 && last.last?.kind == .closed)
    #expect(last.filter { $0.kind == .refused }.reduce(0) { $0 + $1.count } == 500)
  }

  @Test func `equal reads within a minute are two rows, and those of different items stay apart`() throws {
    let scene = try LoggedVault(), log = scene.log(), names = try ["bank", "mail"].map { try ItemName(service: $0) }
    try log.record(.made(.refused, "the misuse"), in: scene.vault)
    for _ in 0..<1_000 { log.noteReads(of: names, by: nil, in: scene.vault) }
    #expect(try log.read(most: nil, in: scene.vault).map(\.kind) == [.opened, .refused, .read, .read])
    scene.hand.pass(.seconds(60))
    log.keep(in: scene.vault)
    let rows = try log.read(most: nil, in: scene.vault).dropFirst(2)
    #expect(rows.map(\.name) == ["bank", "mail", "bank", "mail"] && rows.map(\.count) == [1, 1, 999, 999])
    // More than memory is kept for.
    log.noteReads(of: try (0..<3_000).map { try ItemName(service: "s\($0)") }, by: nil, in: scene.vault)
    log.close(in: scene.vault)
    #expect(try scene.read().count == 6 + 3_000 + 1)
  }

  @Test func `no key is used before the vault remembers the unlock, and reads are served meanwhile`() throws {
    let scene = try LoggedVault(), log = scene.log()
    try scene.made([.login], closed: true)
    let whole = try scene.content(1)
    try scene.whileAnotherWrites {
      log.begin(in: scene.vault)
      for _ in 0..<2 { #expect(kind { try log.record(.made(.sign), in: scene.vault) } == .busy) }
      let started = ContinuousClock.now
      for _ in 0..<100 { log.noteReads(of: [try ItemName(service: "bank")], by: nil, in: scene.vault) }
      // Less than SQLite's own wait: they wait for no other process.
      #expect(ContinuousClock.now - started < .seconds(30) && log.note != nil)
      #expect(try log.read(most: nil, in: scene.vault).map(\.kind) == [.opened, .login, .closed, .opened, .read])
    }
    try log.record(.made(.sign), in: scene.vault)
    #expect(log.note == nil)
    // An agent that is killed, and a log that ends with its last lock: what the vault remembers is missing.
    let rows = try scene.parts(1)
    try scene.write(whole, 1)
    #expect(kind { _ = try scene.read() } == .tampered)
    try scene.write(rows.head + rows.rows.dropLast().joined(), 1)
    #expect(try scene.read().map(\.kind).suffix(2) == [.read, .cut])
  }

  @Test func `an open log whose file is moved away or replaced takes no use, and goes on once it is back`() throws {
    let scene = try LoggedVault(), log = scene.log()
    try log.prepare(in: scene.vault)
    let (path, away) = (scene.path(1), scene.segments.appending("away").string)
    func isRefused() -> Bool {
      kind { try log.record(.made(.sign), in: scene.vault) } == .tampered
        && kind { _ = try log.read(most: nil, in: scene.vault) } == .tampered
    }
    #expect(rename(path, away) == 0 && isRefused())
    try FileManager.default.copyItem(atPath: away, toPath: path)
    #expect(kind { try log.record(.made(.sign), in: scene.vault) } == .tampered)
    #expect(rename(away, path) == 0)
    try log.record(.made(.sign), in: scene.vault)
    #expect(rename(scene.segments.string, scene.segments.string + ".away") == 0 && isRefused())
    log.noteReads(of: [try ItemName(service: "bank")], by: nil, in: scene.vault)
    #expect(log.note?.contains("1 reads") == true)
    log.close(in: scene.vault)
    #expect(log.note != nil)
    try scene.made([.sign], closed: true)
    #expect(try scene.read().map(\.kind) == [.cut, .sign, .closed])
  }

  @Test func `a full disk stops uses and no reads, and later rows follow without a gap`() throws {
    let scene = try LoggedVault()
    #expect(mkdir(scene.uses.string, 0o700) == 0)
    let disk = try SmallDisk.make(at: scene.uses.string, bytes: 1 << 20, owner: geteuid())
    let log = scene.log()
    try log.record(.made(.login), in: scene.vault)
    try disk.fill()
    var stored = 1
    // The last block of the file may still have room.
    while case .none = kind({ try log.record(.made(.sign), in: scene.vault) }) { stored += 1 }
    #expect(kind { try log.record(.made(.sign), in: scene.vault) } == .noSpace && stored < 100)
    log.noteReads(of: [try ItemName(service: "a"), try ItemName(service: "b")], by: nil, in: scene.vault)
    #expect(log.note?.contains("2 reads") == true)
    try disk.free()
    try log.record(.made(.unwrap), in: scene.vault)
    log.close(in: scene.vault)
    let rows = try scene.read()
    #expect(rows.count == stored + 4 && rows.suffix(3).map(\.kind) == [.cut, .unwrap, .closed] && log.note == nil)
    #expect(rows[stored + 1].count == 2 && rows[stored + 1].detail.hasPrefix("reads without rows"))
  }

  @Test func `a device without space takes no row`() throws {
    let full = try UsesSegment("/dev/full", isNew: false)
    #expect(kind { try full.append([1, 2, 3], after: 0) } == .noSpace)
  }

  @Test func `reads have rows once there is a log, and are served in any case`() throws {
    let scene = try LoggedVault(), log = scene.log(), name = try ItemName(service: "bank", account: "ann")
    log.noteReads(of: [name], by: nil, in: scene.vault)
    #expect(try scene.attributes.isEmpty && scene.names.isEmpty)
    try scene.made([.login], closed: true)
    let next = scene.log()
    next.noteReads(of: [name], by: ProcessFacts(of: getpid()), in: scene.vault)
    next.close(in: scene.vault)
    let row = try scene.read()[4]
    #expect(row.kind == .read && row.name == "bank/ann" && row.process == UInt32(getpid()) && !row.program.isEmpty)
    try scene.write([UInt8](repeating: 7, count: 300), 1)
    let last = scene.log()
    for _ in 0..<3 { last.noteReads(of: [name], by: nil, in: scene.vault) }
    #expect(last.note?.contains("3 reads") == true)
  }

  @Test func `an agent notes the reads of its clients, with their program, and keeps the log open from the unlock on`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client(), name = try ItemName(service: "bank"), store = try agent.store()
    try client.set(form("v"), for: name)
    _ = try client.get(name)
    let held = try agent.server.vaults.at("")
    try held.use { (vault) throws(StoreError) in try held.uses.prepare(in: vault) }
    _ = try client.get(name)
    _ = try client.get(ItemName(service: "missing"))
    _ = try client.list()
    _ = try store.load(["missing"])
    let rows = try held.use { (vault) throws(StoreError) in try held.uses.read(most: nil, in: vault) }
    #expect(rows.map(\.name) == ["", "bank"] && rows.map(\.kind) == [.opened, .read])
    #expect(rows[1].program == (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")))
    try client.lock()
    _ = try client.unlock(with: TestAgent.credentials())
    let closed = try held.use { (vault) throws(StoreError) in try held.uses.read(most: nil, in: vault) }
    #expect(closed.map(\.kind) == [.opened, .read, .closed, .opened])
    // Nobody can take the lock to keep later reads out, or cut them unnoticed.
    let folder = held.settings.uses
    let lock = try #require(FileManager.default.contentsOfDirectory(atPath: folder.string).first { $0.hasSuffix(".lock") })
    #expect(try DescriptorLock.take(folder.appending(lock)) == nil)
    let item = try ItemName(service: "coffer.uses", account: held.uses.machine)
    try agent.vault().withKey(item) { #expect($1.metadata.attributes["coffer.uses.count"] == "4") }
  }
}

@Suite struct ProcessFactsTests {
  @Test func `a process has a user, a start, a job and a program, and none of them once it has ended`() throws {
    let folder = try TestFolder("facts")
    // A name with all that separates the fields after it.
    let program = folder.path.appending("a) b (1 2").string
    try FileManager.default.copyItem(atPath: "/bin/sleep", toPath: program)
    let before = Duration.nanoseconds(coffer_time_since_boot())
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = ["1000"]
    try process.run()
    let number = process.processIdentifier
    eventually("the program runs") { ProcessFacts(of: number)?.program == program }
    let facts = try #require(ProcessFacts(of: number))
    #expect(facts.user == getuid() && facts.process == number && facts.job.group == getpgid(number))
    #expect(facts == ProcessFacts(of: number, before: .nanoseconds(coffer_time_since_boot())))
    #expect(try facts.start >= #require(ProcessFacts(of: getpid())).start)
    // Known by its number before it began: another process.
    #expect(ProcessFacts(of: number, before: before - .seconds(1)) == nil)
    // The tests hold some signals back, and so does a program that they start.
    kill(number, SIGKILL)
    process.waitUntilExit()
    #expect(ProcessFacts(of: number) == nil && ProcessFacts(of: 0) == nil && ProcessFacts(of: -1) == nil)
  }
}

/// The reader in Python, made from UsesLogFormat.md alone.
@Suite struct UsesWitnessTests {
  private struct Request: Encodable {
    let folder: String, vault: String, key: String, count: UInt64, head: String
  }
  private struct Answer: Decodable {
    struct Row: Decodable { let number: UInt64, kind: String, name: String, detail: String, count: UInt32 }
    let rows: [Row]?, gap: Bool?, refused: String?
  }

  private static func ask(about scene: LoggedVault) throws -> Answer {
    var key = ""
    try scene.vault.withKey(scene.item) { (secret, _) throws(StoreError) in
      key = secret.withUnsafeBytes { $0.map { String(format: "%02x", $0) }.joined() }
    }
    let attributes = try scene.attributes
    let request = Request(
      folder: scene.segments.string, vault: scene.vault.id.description, key: key,
      count: attributes["coffer.uses.count"].flatMap(UInt64.init) ?? 0,
      head: attributes["coffer.uses.head"] ?? String(repeating: "0", count: 64))
    let process = Process(), input = Pipe(), output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/python3")
    process.arguments = ["-B", "uses.py"]
    process.currentDirectoryURL =
      URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Witness")
      .standardizedFileURL
    (process.standardInput, process.standardOutput) = (input, output)
    do { try process.run() } catch { try Test.skip(without: "python3") }
    try input.fileHandleForWriting.write(contentsOf: JSONEncoder().encode(request))
    try input.fileHandleForWriting.close()
    let answer = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { try Test.skip(without: "libsodium's shared library, for python3") }
    return try JSONDecoder().decode(Answer.self, from: answer)
  }

  @Test(.tags(.process), .defaultRun)
  func `a reader in Python made from the text alone agrees on rows, ends and edits`() throws {
    let scene = try LoggedVault()
    try scene.made([.login, .sign, .refused], closed: true)
    try scene.made([.unwrap, .sign], closed: false)
    let agree = {
      let answer = try Self.ask(about: scene)
      var rows: [UseRow] = []
      if let refusal = kind({ rows = try scene.read() }) {
        #expect(refusal == .tampered && answer.refused == "tampered")
        return
      }
      let gap = rows.last?.kind == .cut && rows.last?.number == 0
      if gap { rows.removeLast() }
      #expect(answer.gap == gap && answer.rows?.map(\.number) == rows.map(\.number))
      #expect(answer.rows?.map(\.kind) == rows.map { "\($0.kind)" } && answer.rows?.map(\.detail) == rows.map(\.detail))
      #expect(answer.rows?.map(\.name) == rows.map(\.name) && answer.rows?.map(\.count) == rows.map(\.count))
    }
    try agree()
    let bytes = try scene.content(1)
    for place in stride(from: 3, to: bytes.count, by: 97) {
      var changed = bytes
      changed[place] ^= 0x10
      try scene.write(changed, 1)
      try agree()
      try scene.write(Array(bytes[..<place]), 1)
      try agree()
    }
    try FileManager.default.removeItem(atPath: scene.segments.string)
    try agree()
  }
}
