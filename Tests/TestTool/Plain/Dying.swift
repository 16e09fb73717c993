internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import Synchronization
internal import SystemPackage

enum Dying {
  private static func calls(dyingAt step: String, from first: Int = 1) -> SystemCalls {
    var calls = SystemCalls()
    nonisolated(unsafe) var seen = 0
    calls.reached = { reached in
      guard reached.rawValue == step else { return }
      seen += 1
      if seen >= first { kill(getpid(), SIGKILL) }
    }
    return calls
  }

  private static func options(_ calls: SystemCalls, _ decisions: DecisionLookup? = nil) -> EngineOptions {
    var options = EngineOptions(decisions: decisions)
    options.calls = calls
    options.foldsWhenIdle = false
    return options
  }

  /// Sets `a` to `after` and folds, dying at a step.
  static func fold(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let store = try DefaultsStore.open(domain: domain, in: folder, options: options(calls(dyingAt: rest[0])))
    try store.save(.string("after"), for: "a")
    print("acknowledged")
    fflush(nil)
    try store.synchronize()
  }

  /// Opens a new domain, and is killed at the call of this number.
  static func open(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let calls = FaultPoint(at: Int(rest[0]) ?? 0, .death).wrapping(SystemCalls())
    _ = try DefaultsStore.open(domain: domain, in: folder, options: options(calls))
  }

  /// Moves the journal away, looks for it, and dies at a step of making the next one.
  static func delete(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    var calls = SystemCalls()
    let isMoved = Atomic<Bool>(false)
    calls.reached = { step in
      guard isMoved.load(ordering: .relaxed), step.rawValue == rest[0] else { return }
      kill(getpid(), SIGKILL)
    }
    let store = try DefaultsStore.open(domain: domain, in: folder, options: options(calls))
    let journal = folder.appending(".\(domain).plist.coffer").string
    try FileManager.default.moveItem(atPath: journal, toPath: folder.appending("moved").string)
    print("moved")
    fflush(nil)
    isMoved.store(true, ordering: .relaxed)
    Thread.sleep(forTimeInterval: 0.12)
    try store.save(.bool(true), for: "never")
  }

  /// Opens a domain with a mapped journal, and reads behind the end of another mapped file.
  static func bus(_ folder: FilePath, _ domain: String, _ rest: [String]) {
    if rest[0] == "handled" { signal(SIGBUS) { _ in _exit(7) } }
    do { try DefaultsStore.open(domain: domain, in: folder).save(.integer(1), for: "a") } catch { return print(error) }
    print("opened")
    fflush(nil)
    let fd = SystemCalls().open(folder.appending("short").string, O_RDWR | O_CREAT, 0o600)
    let bytes = mmap(nil, 4096, PROT_READ, MAP_SHARED, fd, 0)
    print(bytes?.load(as: UInt8.self) ?? 0)
  }

  /// Commits a batch that depends on a decision, dying at a step. The decision is a file named by the transaction.
  static func commit(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let step = rest[0], decisions = rest[1]
    let store = try DefaultsStore.open(domain: domain, in: folder, options: options(calls(dyingAt: step)))
    var batch = Batch<Plain>()
    batch.writes = ["a": .set(.string("after")), "b": .set(.string("after"))]
    try store.commit(
      batch,
      decision: Decision(place: decisions) { (id) throws(StoreError) in
        if step == "deciding" { kill(getpid(), SIGKILL) }
        guard let id else { return }
        _ = FileManager.default.createFile(atPath: decisions + "/\(id)", contents: nil)
      })
  }

  /// Opens with or without a lookup, writes another key, and prints `a` and `b`.
  static func outcome(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let lookup = lookup(rest[0])
    let store = try DefaultsStore.open(
      domain: domain, in: folder, options: options(SystemCalls(), rest[0] == "none" ? nil : lookup))
    try store.save(.string("written"), for: "other")
    if rest.count > 1, rest[1] == "fold" { try store.synchronize() }
    for key in ["a", "b", "other"] {
      do { print(key, try store.load(key).map { "\($0)" } ?? "nothing") } catch { print(key, Self.word(error.kind)) }
    }
  }

  /// Outcomes from a folder's files, named by the transactions; with `mode` `unreadable` none can be read.
  static func lookup(_ mode: String) -> DecisionLookup {
    DecisionLookup(
      outcome: { (id, place) throws(StoreError) in try Self.recorded(id, place, mode) },
      settle: { (id, place) throws(StoreError) in
        if let outcome = try Self.recorded(id, place, mode) { return outcome }
        _ = FileManager.default.createFile(atPath: place + "/\(id).dropped", contents: nil)
        return .dropped
      },
      forget: { (ids, place) throws(StoreError) in
        do { for id in ids { try FileManager.default.removeItem(atPath: place + "/\(id)") } } catch {
          throw StoreError(.io(5), "not removed", cure: "none")
        }
      })
  }

  private static func recorded(
    _ id: TransactionID, _ place: String, _ mode: String
  ) throws(StoreError) -> TransactionOutcome? {
    guard mode != "unreadable" else { throw StoreError(.io(5), "unreadable", cure: "none") }
    if FileManager.default.fileExists(atPath: place + "/\(id).dropped") { return .dropped }
    return FileManager.default.fileExists(atPath: place + "/\(id)") ? .committed : nil
  }

  private static func word(_ kind: StoreError.Kind) -> String { if case .pending = kind { "pending" } else { "\(kind)" } }
}
