import CofferTestSupport
import Coffer
import CofferStorage
import Foundation
import Testing

@Suite(.tags(.campaign, .process), .wholeRun)
struct SessionRefreshTests {
  /// Another process renews the credential of ada, who is logged in here, until `home.release()`.
  private func renewing() async throws -> (home: SessionHome, session: Session<String>, refresh: (process: Process, pipe: Pipe)) {
    let (home, _, session) = try SessionHome.loggedIn()
    try home.hold()
    let refresh = try home.start("refresh", home.path, "ada-token")
    try await poll("renewing") { home.renewals == 1 }
    return (home, session, refresh)
  }

  @Test(arguments: [true, false])
  func `of fifty tasks that ask at once, one renews and all get what it got`(withFiles: Bool) async throws {
    let home = try SessionHome(), keys = home.keys
    let app = withFiles ? try home.open().app : try StorageRouter.inMemory(keys: keys)
    let session = try home.session(app)
    try home.login(session, "ada")
    let stale = try #require(try await app.value(for: keys.token))
    let (asked, renewals) = (Counter(), Counter())
    let tokens = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 {
        group.addTask {
          asked.next()
          return try await session.refresh(keys.token, replacing: stale, within: .seconds(600)) { old in
            #expect(old == stale)
            let number = renewals.next()
            try await poll("all have asked") { asked.value == 50 }
            return try Sealed("ada-renewed-\(number)")
          }.reveal()
        }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(tokens == ["ada-renewed-1"] && renewals.value == 1)
    if withFiles { #expect(try home.agreement()?.token == "ada-renewed-1") }
  }

  @Test
  func `of six processes that ask at once, one renews and all get what it got`() async throws {
    let home = try SessionHome()
    try home.run("login", home.path, "ada")
    try home.hold()
    let started = try (0..<6).map { _ in try home.start("refresh", home.path, "ada-token") }
    try await poll("one renews and all have asked") { home.renewals == 1 && home.asked == 6 }
    try home.release()
    let answers = try started.map { try home.finish($0) }
    #expect(answers.allSatisfy { $0.status == 0 }, "\(answers)")
    #expect(Set(answers.map(\.output)).count == 1 && home.renewals == 1)
  }

  @Test
  func `of sixteen processes that all found the credential expired, some long before they ask, one renews`() async throws {
    let home = try SessionHome()
    try home.run("login-until", home.path, "0.2")
    try await Task.sleep(for: .milliseconds(300))  // No event: the credential ends.
    let started = try (0..<16).map { try home.start("renew", home.path, $0 < 8 ? "go" : "go later") }
    try await poll("all have found it expired") { home.asked == 16 }
    try Data().write(to: URL(filePath: home.path + "/go"))
    var answers = try started[..<8].map { try home.finish($0) }
    try Data().write(to: URL(filePath: home.path + "/go later"))
    answers += try started[8...].map { try home.finish($0) }
    #expect(answers.allSatisfy { $0.status == 0 }, "\(answers)")
    #expect(Set(answers.map(\.output)).count == 1 && home.renewals == 1, "\(home.renewals) renewals")
  }

  @Test
  func `of processes with and without a run folder in their environment, one renews and all get what it got`() async throws {
    let home = try SessionHome(inStandardPlaces: true)
    try home.run("login", home.path, "ada")
    try home.hold()
    let runFolder = home.path + "/run-of-the-login"
    try FileManager.default.createDirectory(
      atPath: runFolder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let environments = [[:], ["XDG_RUNTIME_DIR": runFolder], ["XDG_STATE_HOME": home.path + "/other-state"]]
    let started = try (environments + environments).map {
      try home.start("refresh", home.path, "ada-token", environment: $0)
    }
    try await poll("one renews and all have asked") { home.renewals >= 1 && home.asked == 6 }
    try home.release()
    let answers = try started.map { try home.finish($0) }
    #expect(answers.allSatisfy { $0.status == 0 }, "\(answers)")
    // A machine's note on its first look at the vault comes before.
    let tokens = Set(answers.map { $0.output.split(separator: "\n").suffix(2) })
    #expect(tokens.count == 1 && home.renewals == 1, "\(home.renewals) renewals, \(answers)")
  }

  @Test
  func `a process that dies as it renews leaves the way free, and the credential as it was`() throws {
    let home = try SessionHome()
    try home.run("login", home.path, "ada")
    #expect(try home.run("refresh", home.path, "ada-token", "renewing").status == SIGKILL)
    #expect(try home.agreement()?.token == "ada-token")
    #expect(try home.run("refresh", home.path, "ada-token").status == 0)
    #expect(home.renewals == 2)
  }

  @Test
  func `a logout while another process renews stands: the renewed credential is dropped`() async throws {
    let (home, session, refresh) = try await renewing()
    try await session.logout()
    try home.release()
    let answer = try home.finish(refresh)
    #expect(answer.status == 3 && answer.output.contains("error notFound"), "\(answer.output)")
    #expect(try home.agreement() == nil)
  }

  @Test
  func `another login while a process renews stands, too`() async throws {
    let (home, session, refresh) = try await renewing()
    try home.login(session, "bob")
    try home.release()
    let answer = try home.finish(refresh)
    #expect(answer.status == 3 && answer.output.contains("error conflict"), "\(answer.output)")
    #expect(try home.agreement()?.token == "bob-token")
  }

  @Test
  func `whenever a logout and a refresh race in two processes, nobody is logged in afterwards`() async throws {
    let home = try SessionHome()
    let rounds = Campaign.isLong ? 100 : 15
    var stored = 0
    for round in 0..<rounds {
      try home.run("login", home.path, "ada")
      let renewals = home.renewals
      // In every third round both begin together; in the others the logout begins as the renewal is about to end. Nothing
      // depends on which is faster.
      if !round.isMultiple(of: 3) { try home.hold() }
      let refresh = try home.start("refresh", home.path, "ada-token")
      if !round.isMultiple(of: 3) { try await poll("renewing") { home.renewals > renewals } }
      let logout = try home.start("logout", home.path)
      if !round.isMultiple(of: 3) {
        usleep(UInt32(round * 7 % 40) * 1000)  // No event: any moment.
        try home.release()
      }
      #expect(try home.finish(logout).status == 0)
      if try home.finish(refresh).status == 0 { stored += 1 }
      #expect(try home.agreement() == nil)
    }
    print("logout racing with refresh: \(rounds) rounds, the refresh came first in \(stored)")
  }

  @Test
  func `a renewal that takes too long is given up, what it returns is dropped, and the next may begin`() async throws {
    let (home, app, session) = try SessionHome.loggedIn()
    let keys = home.keys
    let stale = try await app.value(for: keys.token)
    let (gate, isOver) = (Gate(), Counter())
    let error = await #expect(throws: StoreError.self) {
      try await session.refresh(keys.token, replacing: stale, within: .milliseconds(50)) { _ in
        // Ignores cancellation.
        await gate.pass()
        isOver.next()
        return try Sealed("late")
      }
    }
    #expect(error?.kind == .busy && error?.what == "the renewal took longer than 50 ms" && isOver.value == 0)
    let token = try await session.refresh(keys.token, replacing: stale) { _ in try Sealed("ada-next") }
    #expect(try token.reveal() == "ada-next")
    gate.open()
    try await poll("the late one is over") { isOver.value == 1 }
    #expect(try home.agreement()?.token == "ada-next")
  }

  @Test
  func `whoever waits longer than the limit for another's renewal is told so`() async throws {
    let (home, session, refresh) = try await renewing()
    let keys = home.keys
    let error = await #expect(throws: StoreError.self) {
      try await session.refresh(keys.token, within: .milliseconds(100)) { _ in try Sealed("mine") }
    }
    #expect(error?.kind == .busy && error?.what == "another refresh has taken 100 ms")
    try home.release()
    #expect(try home.finish(refresh).status == 0)
    #expect(try home.agreement()?.token.hasPrefix("ada-renewed") == true)
  }

  @Test
  func `what the renewal throws comes out, and nobody logged in means nobody asks`() async throws {
    let home = try SessionHome()
    let (app, vault) = try home.open()
    let session = try home.session(app)
    let keys = home.keys
    struct Refused: Error {}
    let nobody = await #expect(throws: StoreError.self) {
      try await session.refresh(keys.token) { _ in
        Issue.record("nobody is logged in")
        return try Sealed("x")
      }
    }
    #expect(nobody?.kind == .notFound)
    try home.login(session, "ada")
    let stale = try await app.value(for: keys.token)
    await #expect(throws: Refused.self) { try await session.refresh(keys.token, replacing: stale) { _ in throw Refused() } }
    #expect(try home.agreement()?.token == "ada-token")
    try await vault.lock()
    let locked = await #expect(throws: StoreError.self) { try await session.refresh(keys.token) { _ in try Sealed("x") } }
    #expect(locked?.kind == .locked)
  }

  @Test
  func `without a credential to replace, one that has not expired is taken as it is`() async throws {
    let (home, _, session) = try SessionHome.loggedIn()
    let token = try await session.refresh(home.keys.token) { _ in
      Issue.record("it is fresh")
      return try Sealed("x")
    }
    #expect(try token.reveal() == "ada-token")
  }

  @Test
  func `where the lock beside the vault cannot be had, no server is asked`() async throws {
    let (home, app, session) = try SessionHome.loggedIn()
    let keys = home.keys, stale = try await app.value(for: keys.token)
    _ = try await session.refresh(keys.token, replacing: stale) { _ in try Sealed("ada-next") }
    let folder = try home.places.vault.file().removingLastComponent().string
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("refresh-") }
    #expect(names.count == 1)
    let lock = folder + "/" + (names.first ?? "")
    // This works for every user, also root: a folder cannot be locked as a file.
    try FileManager.default.removeItem(atPath: lock)
    try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
    let error = await #expect(throws: StoreError.self) {
      try await session.refresh(keys.token, replacing: app.value(for: keys.token)) { _ in
        Issue.record("its answer could not be kept")
        return try Sealed("x")
      }
    }
    #expect(error?.place?.hasSuffix(names.first ?? "none") == true, "\(String(describing: error))")
    #expect(try home.agreement()?.token == "ada-next")
  }

  @Test
  func `a cancelled task stops waiting, and leaves the way free`() async throws {
    let (home, app, session) = try SessionHome.loggedIn()
    let keys = home.keys
    let stale = try await app.value(for: keys.token)
    let began = Counter()
    let task = Task {
      try await session.refresh(keys.token, replacing: stale) { _ in
        began.next()
        try await Task.sleep(for: .seconds(600))  // No event: it is cancelled.
        return try Sealed("never")
      }
    }
    try await poll("begun") { began.value == 1 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await session.refresh(keys.token, replacing: stale) { _ in try Sealed("ada-next") }.reveal() == "ada-next")
    #expect(try home.agreement()?.token == "ada-next")
  }

  @Test(arguments: [true, false])
  func `a renewal that must not be given up outlives its task and its limit, and keeps its turn until it is stored`(
    isCancelled: Bool
  ) async throws {
    let (home, app, session) = try SessionHome.loggedIn()
    let keys = home.keys
    let stale = try await app.value(for: keys.token)
    let (gate, began) = (Gate(), Counter())
    let task = Task {
      try await session.refreshToTheEnd(
        keys.token, replacing: stale, within: isCancelled ? .seconds(600) : .milliseconds(50)
      ) { _ in
        began.next()
        await gate.pass()
        try Task.checkCancellation()
        return try Sealed("ada-next")
      }
    }
    try await poll("begun") { began.value == 1 }
    if isCancelled {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    } else {
      let error = await #expect(throws: StoreError.self) { try await task.value }
      #expect(error?.kind == .busy && error?.cure == "try again; the renewal goes on")
    }
    let other = await #expect(throws: StoreError.self) {
      try await session.refresh(keys.token, replacing: stale, within: .milliseconds(100)) { _ in try Sealed("mine") }
    }
    #expect(other?.kind == .busy && other?.what == "another refresh has taken 100 ms")
    gate.open()
    try await poll("stored") { try home.agreement()?.token == "ada-next" }
    let token = try await session.refresh(keys.token, replacing: stale) { _ in try Sealed("mine") }
    #expect(try token.reveal() == "ada-next")
  }
}
