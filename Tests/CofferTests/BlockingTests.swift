import Coffer
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferValues
import Foundation
import Synchronization
import Testing

@Suite struct BlockingTests {
  private static func article(_ name: String) throws -> String {
    let path = #filePath.replacing("Tests/CofferTests/BlockingTests.swift", with: "Sources/Coffer/Coffer.docc/\(name).md")
    return try String(contentsOfFile: path, encoding: .utf8)
  }

  /// The article's code. It compiles.
  private func shown(_ app: StorageRouter, _ keys: SessionKeySpace, _ token: Sealed<String>) async throws {
    try await app.set("dark", for: keys.theme)
    try await app.set(token, for: keys.token, within: .seconds(1))
    let theme = try app.value(for: keys.theme)
    #expect(theme == "dark")
    func remember(_ theme: String) throws { try app.set(theme, for: keys.theme) }
    try remember("light")
  }

  @Test func `the article's code is this file's, and works`() async throws {
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    let blocks = try Self.article("Blocking").components(separatedBy: "```swift\n").dropFirst()
    #expect(blocks.count == 2)
    for line in blocks.flatMap({ $0.components(separatedBy: "```")[0].split(separator: "\n") }) {
      #expect(source.contains(line), "\(line)")
    }
    #expect(try Self.article("Coffer").contains("<doc:Blocking>"))
    let home = try SessionHome()
    try await shown(home.open().app, home.keys, Sealed("secret"))
  }

  /// The writers' lock of the domain of `home`, as another process would hold it.
  private struct Held: ~Copyable {
    let descriptor: Int32
    let journal: String

    init(_ home: SessionHome) {
      journal = home.places.defaults.appending(".app.plist.coffer").string
      descriptor = open(journal, O_RDWR | O_CLOEXEC)
      #expect(descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    }

    deinit { close(descriptor) }
    func release() { flock(descriptor, LOCK_UN) }
  }

  private static func kind(_ body: () async throws -> Void) async -> StoreError.Kind? {
    do { try await body() } catch { return (error as? StoreError)?.kind }
    return nil
  }

  @Test func `while the writers' lock is held elsewhere, reads, secrets and observers go on, and a write waits for it`()
    async throws
  {
    let home = try SessionHome(), keys = home.keys
    let (app, _) = try home.open()
    try await app.set("dark", for: keys.theme)
    let held = Held(home)
    #expect(try app.value(for: keys.theme) == "dark")
    try await app.set(Sealed("secret"), for: keys.device)
    #expect(try await app.value(for: keys.device)?.reveal() == "secret")
    let owner = Counter(), seen = Counter()
    try app.observe(keys.theme, owner: owner) { _ in seen.next() }
    #expect(seen.value == 1)
    async let write: Void = app.set("light", for: keys.theme)
    try await poll("it waits") { CallQueues.threads > 0 }
    #expect(try app.value(for: keys.theme) == "dark")
    held.release()
    try await write
    #expect(try app.value(for: keys.theme) == "light")
  }

  @MainActor @Test func `a call that need not wait runs where its caller is`() async throws {
    let home = try SessionHome(), keys = home.keys
    let (app, _) = try home.open()
    let seen = Mutex<[Bool]>([])
    let here = pthread_self()
    try await app.update(keys.theme) { theme in
      seen.withLock { $0.append(pthread_self() == here) }
      theme = "dark"
    }
    let theme = try await app.transaction { transaction in
      seen.withLock { $0.append(pthread_self() == here) }
      try transaction.set("light", for: keys.theme)
      return try transaction.value(for: keys.theme)
    }
    #expect(theme == "light")
    #expect(seen.withLock { $0 } == [true, true])
  }

  @Test func `more waiting writes than processors leave Swift's threads to others`() async throws {
    let home = try SessionHome(), keys = home.keys
    let (app, _) = try home.open()
    try await app.set("dark", for: keys.theme)
    let held = Held(home)
    let count = 8 * ProcessInfo.processInfo.activeProcessorCount
    try await withThrowingTaskGroup { group in
      for number in 0..<count { group.addTask { try await app.set("\(number)", for: keys.theme, within: .seconds(120)) } }
      try await poll("all but one wait") { CallQueues.waiting(at: held.journal) == count - 1 }
      await withTaskGroup { others in
        for _ in 0..<1000 { others.addTask { await Task.yield() } }
      }
      #expect(try app.value(for: keys.theme) == "dark")
      held.release()
      try await group.waitForAll()
    }
  }

  @Test func `cancellation, closing and a limit end a wait, and nothing has changed`() async throws {
    let home = try SessionHome(), keys = home.keys
    let (app, _) = try home.open()
    try await app.set("dark", for: keys.theme)
    let held = Held(home)
    #expect(await Self.kind { try await app.set("late", for: keys.theme, within: .milliseconds(1)) } == .busy)
    // The first runs, and waits for the lock; the second waits for the first.
    for _ in 0..<2 {
      let tasks = (0..<2).map { _ in
        Task { await Self.kind { try await app.set("cancelled", for: keys.theme, within: .seconds(120)) } }
      }
      try await poll("one waits") { CallQueues.waiting(at: held.journal) == 1 }
      for task in tasks { task.cancel() }
      for task in tasks { #expect(await task.value == .cancelled) }
    }
    let tasks = (0..<2).map { _ in
      Task { await Self.kind { try await app.set("closed", for: keys.theme, within: .seconds(120)) } }
    }
    try await poll("one waits") { CallQueues.waiting(at: held.journal) == 1 }
    let closing = Task { await Self.kind { try await app.close() } }
    for task in tasks { #expect(await task.value == .closed) }
    held.release()
    #expect(await closing.value == nil)
    #expect(try home.open().app.value(for: keys.theme) == "dark")
  }

  @Test func `a transaction over both stores waits for a lock as a whole, and its end leaves neither changed`() async throws {
    let home = try SessionHome(), keys = home.keys
    let (app, _) = try home.open()
    try await app.set("dark", for: keys.theme)
    let held = Held(home)
    let body: @Sendable (Transaction) throws -> Void = { transaction in
      try transaction.set("light", for: keys.theme)
      try transaction.set(Sealed("secret"), for: keys.device)
    }
    let cancelled = Task { await Self.kind { try await app.transaction(body) } }
    try await poll("it waits") { CallQueues.threads > 0 }
    cancelled.cancel()
    #expect(await cancelled.value == .cancelled)
    #expect(try await !app.contains(keys.device))
    async let made: Void = app.transaction(body)
    held.release()
    try await made
    let (theme, device) = try await app.values(keys.theme, keys.device)
    #expect(theme == "light")
    #expect(try device?.reveal() == "secret")
  }

  @Test func `a refused wait runs the call again, even if a closure has dropped the error`() async throws {
    let home = try SessionHome(), keys = home.keys
    let (app, _) = try home.open()
    let value = AnyPersistedValue<Sealed<String>?>(
      get: { nil }, set: { value in do { try app.set(value, for: keys.device) } catch {} }, isSecret: true)
    try await value.save(Sealed("saved"))
    #expect(try await app.value(for: keys.device)?.reveal() == "saved")
    let changed = try Sealed("changed")
    try await value.atomic().mutate { $0 = changed }
    #expect(try await app.value(for: keys.device)?.reveal() == "changed")
    let vault = try await LockedVault.open(home.places.vault, options: home.places.vaultOptions).unlock(with: home.credentials())
    let name = try ItemName(service: "other", account: "a")
    try await vault.perform { (vault) throws(StoreError) in
      do { try vault.set(SecretBytes(zeros: 3), for: name) } catch {}
    }
    #expect(try await vault.item(name) != nil)
  }

  @Test func `the closure of a transaction complains of no values that never were together`() async throws {
    let home = try SessionHome(), keys = home.keys
    let (app, _) = try home.open()
    try await app.set("dark", for: keys.theme)
    let runs = Counter(), held = Mutex<Held?>(nil)
    let complaint = Task {
      try await app.transaction { transaction in
        let theme = try transaction.value(for: keys.theme)
        // The check of this read has to wait.
        if runs.next() == 1 { held.withLock { $0 = Held(home) } }
        throw StoreError(.notFound, "the theme is \(theme)", cure: "none")
      }
    }
    try await poll("it waits") { held.withLock { $0 != nil } && CallQueues.threads > 0 }
    held.withLock { $0 = nil }
    await #expect(throws: StoreError.self) { try await complaint.value }
    #expect(runs.value > 1)
  }

  /// 1: it wrote, 2: another error, 4: another error of closing.
  private static func wrongInChild(_ app: StorageRouter, _ keys: SessionKeySpace) -> Int32 {
    var wrong: Int32 = 0
    do {
      try app.set("child", for: keys.theme)
      wrong |= 1
    } catch { if error.kind != .afterFork { wrong |= 2 } }
    do { try app.close() } catch { if error.kind != .afterFork { wrong |= 4 } }
    return wrong
  }

  @Test func `a forked child's calls say that they are its parent's, whose waiting calls go on`() async {
    await #expect(processExitsWith: .success) {
      let home = try SessionHome(), keys = home.keys
      let (app, _) = try home.open()
      try await app.set("dark", for: keys.theme)
      let held = Held(home)
      let writes = (0..<4).map { number in
        Task { try await app.set("\(number)", for: keys.theme, within: .seconds(120)) }
      }
      try await poll("one runs and the others wait") { CallQueues.waiting(at: held.journal) == 3 }
      typealias Fork = @convention(c) () -> pid_t
      let child = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)()
      if child == 0 {
        alarm(120)
        _exit(Self.wrongInChild(app, keys))
      }
      var status: Int32 = 0
      #expect(child > 0 && waitpid(child, &status, 0) == child)
      #expect(status == 0, "what is wrong, times 256: \(status)")
      held.release()
      for write in writes { try await write.value }
      #expect(try ["0", "1", "2", "3"].contains(app.value(for: keys.theme)))
    }
  }

  @Test func `any limit is taken`() async throws {
    let home = try SessionHome(), keys = home.keys
    let (app, _) = try home.open()
    try await app.set(Sealed("secret"), for: keys.device, within: .seconds(Int64.max))
    let held = Held(home)
    #expect(await Self.kind { try await app.set("late", for: keys.theme, within: .seconds(-5)) } == .busy)
    held.release()
    #expect(await Self.kind { try await app.set("dark", for: keys.theme, within: .zero) } == nil)
  }

  @Test func `a router and a vault close in a cancelled task too`() async throws {
    let home = try SessionHome(), keys = home.keys
    let (app, vault) = try home.open()
    try await app.set("dark", for: keys.theme)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await vault.lock()
      try await app.close()
    }
    try await task.value
    #expect(await Self.kind { _ = try await app.value(for: keys.device) } == .locked)
    #expect(await Self.kind { try await app.set("light", for: keys.theme) } == .closed)
  }

  @Test func `an open vault, its handles and a session have asynchronous forms`() async throws {
    let home = try SessionHome(), keys = home.keys
    var vault = try await LockedVault.open(home.places.vault, options: home.places.vaultOptions).unlock(with: home.credentials())
    let name = try ItemName(service: "other", account: "a")
    let bytes: [UInt8] = [1, 2, 3]
    let secret = try bytes.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    try await vault.set(secret, for: name)
    #expect(try await vault.get(name) != nil)
    #expect(try await vault.list(service: "other").count == 1)
    #expect(try await vault.perform { (vault) throws(StoreError) in try vault.logLength() } > 0)
    #expect(try await vault.remove(name))
    vault = try await vault.lock().unlock(with: home.credentials())
    #expect(try await vault.item(name) == nil)
    let app = try StorageRouter.open("app", keys: keys, vault: vault, places: home.places)
    let session = try home.session(app)
    try await session.login(as: "ada") { try $0.set(Sealed("token"), for: keys.token) }
    #expect(try await session.state() == .loggedIn("ada"))
    try await session.logout()
    #expect(try await session.state() == .loggedOut)
    try await app.synchronize()
    try await app.close()
    #expect(await Self.kind { try await app.set("late", for: keys.theme) } == .closed)
  }
}
