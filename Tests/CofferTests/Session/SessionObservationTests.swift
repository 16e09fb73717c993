import CofferTestSupport
import Coffer
import CofferDefaults
import CofferMemory
import CofferObservation
import CofferValues
import CofferVault
import CofferStorage
import Dispatch
import Foundation
import Testing

@Suite struct SessionObservationTests {
  @Test(.tags(.process), .defaultRun)
  func `D2: every observer hears the present state and then what follows, of this process and of another, and none twice`()
    async throws
  {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    let (main, settings) = (StateLog(), StateLog())
    try session.observe(main) { main.add($0) }
    try session.observe(settings) { settings.add($0) }
    var expected = ["loggedOut"]
    try await poll("hears the present state") { main.texts == expected && settings.texts == expected }
    try home.login(session, "ada")
    expected.append("loggedIn ada")
    try await poll("hears the login") { main.texts == expected && settings.texts == expected }
    try home.run("login", home.path, "bob")
    expected.append("loggedIn bob")
    try await poll("hears another process's login: \(main.texts)") { main.texts == expected && settings.texts == expected }
    try home.run("logout", home.path)
    expected.append("loggedOut")
    try await poll("hears another process's logout") { main.texts == expected && settings.texts == expected }
    try await Task.sleep(for: .milliseconds(100))  // No event: nothing more is told.
    #expect(main.texts == expected && settings.texts == expected)
  }

  private class Screen { var states: [String] = [] }

  @MainActor @Test
  func `a screen of the main actor, which is not Sendable, gets the present state at once and then what follows`() async throws {
    let home = try SessionHome(), screen = Screen()
    let (app, _) = try home.open()
    let session = try home.session(app)
    try session.observe(screen, on: .shared) { screen, state in screen.states.append("\(state)") }
    #expect(screen.states.count == 1 && screen.states.last?.contains("loggedOut") == true)
    try home.login(session, "ada")
    try await poll("it comes to be") { screen.states.count >= 2 }
    #expect(screen.states.count == 2 && screen.states.last?.contains("ada") == true)
  }

  @Test
  func `nobody hears of a login that was not committed`() async throws {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    let states = StateLog()
    try session.observe(states) { states.add($0) }
    #expect(throws: StoreError.self) { try session.login(as: "ada") { _ in } }
    try home.login(session, "bob")
    try await poll("hears the login") { states.texts.last == "loggedIn bob" }
    #expect(!states.texts.contains("loggedIn ada"))
  }

  @Test
  func `observers hear while other work holds every thread of the task pool`() throws {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    let (states, released) = (StateLog(), DispatchSemaphore(value: 0))
    let count = 2 * ProcessInfo.processInfo.activeProcessorCount
    for _ in 0..<count { Task.detached { Self.block(on: released) } }
    defer { for _ in 0..<count { released.signal() } }
    try session.observe(states) { states.add($0) }
    try home.login(session, "ada")
    let deadline = Date() + 60
    while states.texts.last != "loggedIn ada", Date() < deadline { usleep(1_000) }
    #expect(states.texts.last == "loggedIn ada")
  }

  private static func block(on semaphore: DispatchSemaphore) { semaphore.wait() }

  @Test
  func `locking the vault is heard, and unlocking it`() async throws {
    let home = try SessionHome()
    let (app, vault) = try home.open()
    let session = try home.session(app)
    try home.login(session, "ada")
    let states = StateLog()
    try session.observe(states) { states.add($0) }
    try await poll("logged in") { states.texts == ["loggedIn ada"] }
    try await vault.lock()
    try await poll("locked") { states.texts == ["loggedIn ada", "locked"] }
    try await vault.unlock(with: home.credentials())
    try await poll("logged in again") { states.texts == ["loggedIn ada", "locked", "loggedIn ada"] }
  }

  @Test
  func `D9, D10: an observer that is gone or has cancelled hears nothing more, and one may use the session in its closure`()
    async throws
  {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    let (kept, cancelled) = (StateLog(), StateLog())
    var gone: StateLog? = StateLog()
    let calls = Counter()
    if let owner = gone { try session.observe(owner) { _ in calls.next() } }
    let cancel = try session.observe(cancelled) { cancelled.add($0) }
    try session.observe(kept) { [weak session] state in
      kept.add(state)
      if case .success(.loggedIn("ada")) = state { #expect(throws: Never.self) { try session?.logout() } }
    }
    try await poll("begun") {
      kept.texts == ["loggedOut"] && cancelled.texts == ["loggedOut"] && calls.value == 1
    }
    gone = nil
    cancel()
    try home.login(session, "ada")
    try await poll("logged out from inside") { kept.texts == ["loggedOut", "loggedIn ada", "loggedOut"] }
    #expect(cancelled.texts == ["loggedOut"] && calls.value == 1)
  }

  @Test
  func `a sequence begins with the present state, follows, and ends with the router`() async throws {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    var states = try session.changes().makeAsyncIterator()
    #expect(try await states.next()?.get() == .loggedOut)
    try home.login(session, "ada")
    #expect(try await states.next()?.get() == .loggedIn("ada"))
    try await app.close()
    while let state = await states.next() { _ = state }
  }

  @Test
  func `a session that nobody keeps goes with the last of its observers`() async throws {
    let home = try SessionHome()
    let (app, _) = try home.open()
    var session: Session<String>? = try home.session(app)
    let (states, others) = (StateLog(), StateLog())
    var owner: Counter? = Counter()
    if let owner { try session?.observe(owner) { states.add($0) } }
    let cancel = try session?.observe(others) { others.add($0) }
    weak let released = session
    session = nil
    try home.login(home.session(app), "ada")
    let expected = ["loggedOut", "loggedIn ada"]
    try await poll("told without a variable of its own") { states.texts == expected && others.texts == expected }
    #expect(released != nil)
    cancel?()
    owner = nil
    try await poll("released") { released == nil }
  }

  private struct Pass: Codable, Sendable { var expiry: Date? }
  private struct NumberedKeys: KeySpace {
    let user = StorageKey("user", of: Int.self).endsWithSession()
    let pass = StorageKey("pass", secret: Pass.self).expires { $0.expiry }.endsWithSession()
  }

  @Test
  func `each state is told, whatever number the user is`() async throws {
    let keys = NumberedKeys()
    let app = try StorageRouter.inMemory(keys: keys)
    let session = try app.session(user: keys.user, credential: keys.pass)
    let states = Collected<Session<Int>.State?>()
    try session.observe(states) { states.add(try? $0.get()) }
    var expected: [Session<Int>.State?] = [.loggedOut]
    try await poll("hears the present state") { states.all == expected }
    try await session.login(as: 0) { try $0.set(Sealed(Pass()), for: keys.pass) }
    expected.append(.loggedIn(0))
    try await poll("hears of the login: \(states.all)") { states.all == expected }
    try await session.logout()
    expected.append(.loggedOut)
    try await poll("hears of the logout: \(states.all)") { states.all == expected }
    try await session.login(as: 1) { try $0.set(Sealed(Pass()), for: keys.pass) }
    expected.append(.loggedIn(1))
    try await poll("hears of the other login: \(states.all)") { states.all == expected }
    try await app.set(Sealed(Pass(expiry: .distantPast)), for: keys.pass)
    expected.append(.expired)
    try await poll("hears of the expiry: \(states.all)") { states.all == expected }
  }
}
