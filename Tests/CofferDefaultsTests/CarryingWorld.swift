import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage

@testable import CofferDefaults

/// One domain, the processes that use it, and somebody who takes its journal away: a random history of them, and what has to be there after it.
///
/// A process is a store with an engine of its own. All run on one thread: one acts in the midst of another's call, as if that one were
/// stopped there. A process that dies makes no call any more. Each life writes names of its own, so that whoever wrote last is known.
final class CarryingWorld: @unchecked Sendable {
  // Sendable: the calls of its processes use it, on the thread that makes them.
  private let folder: TemporaryFolder
  private var random: Random
  private var lives: [Life] = []
  private var lifeCount = 0
  /// The journals that there have been, open so that none gets the number of another: by their numbers.
  private var journals: [UInt64: Int32] = [:]
  /// Their numbers, in the order of their first names.
  private var order: [UInt64] = []
  /// Where those are that were moved away.
  private var moved: [String] = []
  private var expected: [String: Expected] = [:]
  private var decided = Decided()
  /// Calls in whose midst others act.
  private var depth = 0
  private(set) var trace: [String] = []
  private(set) var counts: [String: Int] = [:]
  private(set) var failures: [String] = []

  /// What a name may have: what was acknowledged last, or what was tried since.
  private struct Expected {
    var acknowledged: Int64?
    var tried: [Int64?] = []
    func allows(_ value: Int64?) -> Bool { value == acknowledged || tried.contains(value) }
  }

  /// What another store has decided of transactions.
  private struct Decided {
    var outcomes: [TransactionID: TransactionOutcome] = [:]
    var committed: Set<TransactionID> = []
  }

  init(seed: UInt64) throws {
    folder = try TemporaryFolder()
    random = Random(seed: seed)
  }

  deinit { for fd in journals.values { close(fd) } }

  private var journal: String { folder.file(".d.plist.coffer").string }

  private func note(_ line: String) { trace.append(String(repeating: "  ", count: depth) + line) }
  private func count(_ word: String) { counts[word, default: 0] += 1 }
  private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  // MARK: The history

  func run(_ steps: Int) throws {
    for _ in 0..<steps { act() }
    try settle()
  }

  /// One step of somebody who is not in the midst of one.
  private func act() {
    let idle = lives.filter { !$0.isAtWork }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<18: meddle()
    case 18..<22 where depth == 0: rewrite()
    case 22..<34 where lives.count < 4: open()
    default: if let life = idle.randomElement(using: &random) { use(life) } else if lives.count < 4 { open() }
    }
  }

  private func use(_ life: Life) {
    guard let store = life.store else { return }
    if chance(40) { life.look() }
    let choice = Int.random(in: 0..<100, using: &random)
    switch choice {
    case 0..<15: perform(life, "reads") { _ = try store.load("none") }
    case 15..<30: perform(life, "folds") { try store.synchronize() }
    case 30..<45: transact(life, store)
    case 45..<50 where !isAlone(life):
      note("\(life.number) ends")
      count("ends")
      end(life)
    default: write(life, store)
    }
  }

  private func write(_ life: Life, _ store: DefaultsStore) {
    let name = "n\(life.number)"
    life.written += 1
    let value = chance(85) ? life.written : nil
    expected[name, default: Expected()].tried.append(value)
    let isDone = perform(life, "writes \(value.map(String.init) ?? "nothing")") {
      try store.save(value.map { .integer($0) }, for: name)
    }
    if isDone { expected[name] = Expected(acknowledged: value) }
  }

  /// A value that is there if another store says so, under a name of its own.
  private func transact(_ life: Life, _ store: DefaultsStore) {
    life.written += 1
    let name = "t\(life.number)-\(life.written)"
    let answer = Int.random(in: 0..<5, using: &random)
    var batch = Batch<Plain>()
    batch.writes[name] = .set(.integer(1))
    var made: TransactionID?
    let decision = Decision(place: "x") { [self] (id) throws(StoreError) in
      made = id
      if answer == 0 { throw StoreError(.busy, "refused", cure: "none") }
      if answer != 1, let id {
        guard decided.outcomes[id] == nil else { throw StoreError(.busy, "given up", cure: "none") }
        decided.outcomes[id] = .committed
        decided.committed.insert(id)
      }
      if answer <= 2 { throw StoreError(.outcomeUnknown, "no answer", cure: "none") }
    }
    let isDone = perform(life, "commits \(name) (\(answer))", isDecided: true) { try store.commit(batch, decision: decision) }
    let isCommitted = made.map { decided.committed.contains($0) } ?? false
    if isDone, !isCommitted { failures.append("\(name) was acknowledged and not decided") }
    expected[name] = Expected(acknowledged: isCommitted ? 1 : nil)
  }

  /// Whether what only `life` has would be gone with it.
  private func isAlone(_ life: Life) -> Bool {
    guard let held = life.held, !isAtName(held), !isCarried(held) else { return false }
    return !lives.contains { $0 !== life && !$0.isDead && $0.held == held }
  }

  // MARK: Processes

  /// Those of a process without faults.
  private var options: EngineOptions {
    var options = EngineOptions.unshared
    options.decisions = DecisionLookup(
      outcome: { [self] (id, _) throws(StoreError) in decided.outcomes[id] },
      settle: { [self] (id, _) throws(StoreError) in
        if decided.outcomes[id] == nil { decided.outcomes[id] = .dropped }
        return decided.outcomes[id] ?? .dropped
      },
      forget: { [self] (ids, _) throws(StoreError) in
        if chance(10) { throw StoreError(.busy, "not now", cure: "none") }
        for id in ids { decided.outcomes[id] = nil }
      })
    return options
  }

  private func open() {
    lifeCount += 1
    let life = Life(lifeCount)
    lives.append(life)
    var options = options
    options.calls = calls(of: life)
    if !perform(life, "opens", { life.store = try DefaultsStore.open(domain: "d", in: folder.path, options: options) }) {
      end(life)
    }
  }

  private func end(_ life: Life) {
    life.store = nil
    life.held = nil
    lives.removeAll { $0 === life }
  }

  /// Makes `body` the call of a process, with faults in its midst; whether it was acknowledged.
  ///
  /// - Parameter isDecided: whether another store has a say in it.
  @discardableResult
  private func perform(_ life: Life, _ what: String, isDecided: Bool = false, _ body: () throws -> Void) -> Bool {
    life.calls = 0
    life.faults = faults()
    life.isAtWork = true
    note("\(life.number) \(what)")
    var isDone = false
    do {
      try body()
      isDone = !life.isDead
    } catch let error as StoreError {
      note("\(life.number): \(error.kind)\(life.isDead ? ", dead" : "") \(error.what)")
      // A decision that was not made is an error too.
      if life.faults.isEmpty, depth == 0, !isDecided { failures.append("\(life.number) \(what), without a fault: \(error)") }
    } catch { failures.append("\(error)") }
    life.isAtWork = false
    life.faults = []
    if life.isDead {
      end(life)
    } else {
      learn(life)
    }
    return isDone
  }

  /// Notes which journal `life` has open now.
  private func learn(_ life: Life) {
    guard let engine = life.store?.engine else { return }
    engine.state.withLock { state in
      state.nextLook = .max  // Nobody looks but who is told to: histories do not depend on the machine's pace.
      life.held = state.journal.flatMap { $0.isWritable ? $0.file.inode : nil }
    }
    keep()
    guard let held = life.held, let index = order.firstIndex(of: held) else {
      return note("\(life.number) has no journal to write")
    }
    if !isAtName(held) { note("\(life.number) has journal \(index)\(isCarried(held) ? ", carried over" : "")") }
    do {
      try engine.writing.withLock { (writer) throws(StoreError) in if writer.nextLinkCheck != 0 { writer.nextLinkCheck = .max } }
    } catch {
      failures.append("\(error)")
    }
  }

  private func faults() -> [Life.Fault] {
    guard chance(55) else { return [] }
    return (0..<(chance(30) ? 2 : 1)).map { _ in
      let kind: Life.Fault.Kind =
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4: .others
        case 4..<7: .failure([EIO, ENOSPC, EROFS, EMFILE].randomElement(using: &random) ?? EIO)
        default: .death
        }
      return Life.Fault(call: Int.random(in: 1...(chance(50) ? 8 : 40), using: &random), kind: kind)
    }
  }

  // MARK: Calls

  /// What happens at a call of `life`: nil where it is made, and else its answer.
  private func meet(_ life: Life, _ call: String, isStep: Bool = false) -> Int32? {
    life.isAtFault = false
    if life.isDead { return -EIO }
    life.calls += 1
    for fault in life.faults where fault.call == life.calls {
      switch fault.kind {
      case .others:
        guard depth < 2 else { continue }
        note("\(life.number) stands before \(call)")
        count("stops")
        depth += 1
        for _ in 0..<Int.random(in: 1...4, using: &random) { act() }
        depth -= 1
        note("\(life.number) goes on")
      case .failure(let code):
        if isStep { continue }
        note("\(life.number) fails at \(call): \(code)")
        count("failures")
        life.isAtFault = true
        return -code
      case .death:
        guard !isAlone(life) else { continue }
        note("\(life.number) dies at \(call)")
        count("deaths")
        life.isDead = true
        life.isAtFault = true
        return -EIO
      }
    }
    return nil
  }

  private func calls(of life: Life) -> SystemCalls {
    var calls = SystemCalls()
    let real = calls
    @Sendable func short(_ path: String) -> String { FilePath(path).lastComponent?.string ?? path }
    // btrfs, where stores are system calls.
    calls.fileSystem = { _ in 0x9123_683E }
    calls.open = { [self] in meet(life, "open \(short($0))") ?? real.open($0, $1, $2) }
    calls.openUnnamed = { [self] in meet(life, "open unnamed") ?? real.openUnnamed($0, $1) }
    calls.name = { [self] in meet(life, "name \(short($1))") ?? real.name($0, $1) }
    calls.allocate = { [self] in meet(life, "allocate") ?? real.allocate($0, $1, $2) }
    calls.synchronize = { [self] _ in meet(life, "sync") ?? 0 }
    calls.rename = { [self] in meet(life, "rename to \(short($1))") ?? real.rename($0, $1) }
    calls.renameAnew = { [self] in meet(life, "rename to \(short($1)), replacing nothing") ?? real.renameAnew($0, $1) }
    calls.exchange = { [self] in meet(life, "exchange with \(short($1))") ?? real.exchange($0, $1) }
    calls.unlink = { [self] in meet(life, "unlink \(short($0))") ?? real.unlink($0) }
    calls.write = { [self] fd, bytes, offset in
      guard let answer = meet(life, "write \(bytes.count) at \(offset)") else { return real.write(fd, bytes, offset) }
      // A part of what is no number of the header may be there.
      if bytes.count > 8, life.isAtFault {
        life.isAtFault = false
        _ = real.write(fd, UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), offset)
      }
      return Int(answer)
    }
    calls.lock = { [self] fd, operation in
      if operation & LOCK_UN != 0 { return real.lock(fd, operation) }
      if let answer = meet(life, "lock") { return answer }
      let result = real.lock(fd, operation)
      guard result == -EWOULDBLOCK else {
        life.waits = 0
        return result
      }
      // Who has it goes on only when this one has given up.
      life.waits += 1
      return life.waits > 1 ? -EDEADLK : result
    }
    calls.reached = { [self] in
      if [.carrying, .carried, .listReplaced].contains($0) {
        note("\(life.number): \($0)")
        count("\($0)")
      }
      _ = meet(life, $0.rawValue, isStep: true)
    }
    return calls
  }

  // MARK: Who takes journals away

  private func isAtName(_ journal: UInt64) -> Bool { number(of: self.journal) == journal }

  private func number(of path: String) -> UInt64? {
    do { return try FileStatus(ofLinkAt: FilePath(path))?.inode } catch {
      failures.append("\(error)")
      return nil
    }
  }

  /// Opens the journal at the name, so that its number stays its own.
  private func keep() {
    let fd = Foundation.open(journal, O_RDONLY | O_CLOEXEC)
    guard fd >= 0 else { return }
    do {
      let number = try FileStatus(of: fd, place: FilePath(journal)).inode
      if journals[number] == nil {
        order.append(number)
        return journals[number] = fd
      }
    } catch { failures.append("\(error)") }
    close(fd)
  }

  private func use(of journal: UInt64) -> JournalUse? {
    guard let fd = journals[journal] else { return nil }
    var field: UInt64 = 0
    guard pread(fd, &field, 8, off_t(JournalLayout.Field.use.rawValue)) == 8 else { return nil }
    return CheckedNumber(rawValue: UInt64(littleEndian: field), in: .use).flatMap { JournalUse(rawValue: $0.number) }
  }

  private func isCarried(_ journal: UInt64) -> Bool { use(of: journal) == .carried }

  /// Takes the journal's name away, or gives it to one that was moved. Somebody has the journal open that loses it.
  private func meddle() {
    keep()
    let number = number(of: journal)
    if let number { guard lives.contains(where: { !$0.isDead && $0.held == number }) else { return } }
    if chance(50), let other = moved.filter({ self.number(of: $0) != nil }).randomElement(using: &random) {
      // Where one that was carried over goes to the place of another, all are to know the other: see below.
      let isCarried = self.number(of: other).map(isCarried) ?? false
      guard !isCarried || allFollow(number), rename(other, journal) == 0 else { return }
      note("\(other.suffix(8)) is put back")
      return count(isCarried ? "put back after it was carried over" : "put back")
    }
    // Before all have noticed that one is gone the next one goes only where the page says so: PlainStore.md, under limits.
    guard allFollow(number) else { return }
    let place = folder.file("moved-\(moved.count)").string
    switch Int.random(in: 0..<3, using: &random) {
    case 0:
      guard rename(journal, place) == 0 else { return }
      moved.append(place)
      note("the journal is moved to \(place.suffix(8))")
    case 1:
      guard unlink(journal) == 0 else { return }
      note("the journal is deleted")
    default:
      guard link(journal, place) == 0, unlink(journal) == 0 else { return }
      moved.append(place)
      note("the journal has another name alone: \(place.suffix(8))")
    }
    count("meddled")
  }

  /// Lets all look who may, and says whether each has the journal `number`.
  private func allFollow(_ number: UInt64?) -> Bool {
    for life in lives where !life.isAtWork && life.held != number {
      life.look()
      check(life.store, "\(life.number)", isSettled: false)
      learn(life)
    }
    return lives.allSatisfy { $0.held == number }
  }

  /// Adds a value to the list as Foundation does, while nobody folds: in the midst of that nobody can tell it.
  private func rewrite() {
    let list = folder.file("d.plist").string
    guard let bytes = FileManager.default.contents(atPath: list) else { return }
    let name = "f\(counts["rewritten", default: 0])"
    do {
      let content = try PropertyList.decode(bytes)
      let data = PropertyList.encode(content.values.merging([name: .integer(1)]) { $1 }, as: content.encoding)
      let file = try FileHandle(forWritingTo: URL(filePath: list))
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: data)
      try file.close()
    } catch { failures.append("\(error)") }
    expected[name] = Expected(acknowledged: 1)
    note("another program writes \(name)")
    count("rewritten")
  }

  // MARK: What has to be there

  /// Lets everybody look, and compares.
  private func settle() throws {
    note("all is well again")
    for _ in 0..<3 {
      for life in lives {
        life.look()
        check(life.store, "\(life.number)", isSettled: false)
        learn(life)
      }
    }
    let fresh = try DefaultsStore.open(domain: "d", in: folder.path, options: options)
    for (store, who) in lives.map({ ($0.store, "\($0.number)") }) + [(fresh, "a new process")] {
      check(store, who, isSettled: true)
    }
    for life in lives {
      life.look()
      try life.store?.save(.integer(1), for: "last \(life.number)")
    }
    try fresh.synchronize()
    lives = []
    check(try DefaultsStore.open(domain: "d", in: folder.path, options: options), "who came after all", isSettled: true)
  }

  private func check(_ store: DefaultsStore?, _ who: String, isSettled: Bool) {
    guard let store else { return }
    let found: [String: PlainForm]
    do { found = try store.contents() } catch {
      if isSettled { failures.append("\(who): \(error)") }
      return
    }
    guard isSettled else { return }
    for (name, expected) in expected {
      var value: Int64?
      if case .integer(let number) = found[name] { value = number }
      if expected.allows(value) {
        self.expected[name] = Expected(acknowledged: value)
      } else {
        failures.append("\(who): \(name) is \(value.map(String.init) ?? "missing"), and not \(expected)")
      }
    }
  }
}

/// A process of a ``CarryingWorld``.
final class Life: @unchecked Sendable {
  // Sendable: as the world that it lives in.
  let number: Int
  var store: DefaultsStore?
  /// The journal that it had open to write after its last call.
  var held: UInt64?
  var isAtWork = false, isDead = false
  /// Whether the call that is being made is the one that does not succeed.
  var isAtFault = false
  var written: Int64 = 0
  /// Calls to the system since the call to the store began.
  var calls = 0
  var waits = 0
  var faults: [Fault] = []

  struct Fault {
    enum Kind { case others, failure(Int32), death }
    /// At which call to the system.
    let call: Int
    let kind: Kind
  }

  init(_ number: Int) { self.number = number }

  /// The next call looks at the files.
  func look() {
    guard let engine = store?.engine else { return }
    engine.state.withLock { $0.nextLook = 0 }
    do { try engine.writing.withLock { (writer) throws(StoreError) in writer.nextLinkCheck = 0 } } catch {}
  }
}
