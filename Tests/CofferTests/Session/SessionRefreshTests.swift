import Coffer
import CofferStorage
import Foundation
import Testing

@Suite(.serialized) struct SessionRefreshTests {
  /// Another process renews the credential of ada, who is logged in here, until `home.release()`.
  private func renewing() async throws -> (home: SessionHome, session: Session<String>, refresh: (process: Process, pipe: Pipe)) {
    let (home, _, session) = try SessionHome.loggedIn()
    try home.hold()
    let refresh = try home.start("refresh", home.path, "ada-token")
    try await eventually("renewing") { home.renewals == 1 }
    return (home, session, refresh)
  }

  @Test("of fifty tasks that ask at once, one renews and all get what it got", arguments: [true, false])
  func once(withFiles: Bool) async throws {
    let (home, app, ofFiles) = try SessionHome.loggedIn()
    let keys = home.keys
    let session = withFiles ? ofFiles : try Session(app, user: keys.user, credential: keys.token)
    let stale = try #require(try app.value(for: keys.token))
    let (asked, renewals) = (Counter(), Counter())
    let tokens = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 {
        group.addTask {
          asked.next()
          return try await session.refresh(keys.token, replacing: stale, within: .seconds(600)) { old in
            #expect(old == stale)
            let number = renewals.next()
            try await eventually("all have asked") { asked.value == 50 }
            return try Sealed("ada-renewed-\(number)")
          }.reveal()
        }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(tokens == ["ada-renewed-1"] && renewals.value == 1)
    #expect(try home.agreement()?.token == "ada-renewed-1")
  }

  @Test("of six processes that ask at once, one renews and all get what it got")
  func onceAcrossProcesses() async throws {
    let home = try SessionHome()
    try home.run("login", home.path, "ada")
    try home.hold()
    let started = try (0..<6).map { _ in try home.start("refresh", home.path, "ada-token") }
    try await eventually("one renews and all have asked") { home.renewals == 1 && home.asked == 6 }
    try home.release()
    let answers = try started.map { try home.finish($0) }
    #expect(answers.allSatisfy { $0.status == 0 }, "\(answers)")
    #expect(Set(answers.map(\.output)).count == 1 && home.renewals == 1)
  }

  @Test("a process that dies as it renews leaves the way free, and the credential as it was")
  func holderDies() throws {
    let home = try SessionHome()
    try home.run("login", home.path, "ada")
    #expect(try home.run("refresh", home.path, "ada-token", "renewing").status == SIGKILL)
    #expect(try home.agreement()?.token == "ada-token")
    #expect(try home.run("refresh", home.path, "ada-token").status == 0)
    #expect(home.renewals == 2)
  }

  @Test("a logout while another process renews stands: the renewed credential is dropped")
  func logoutWins() async throws {
    let (home, session, refresh) = try await renewing()
    try session.logout()
    try home.release()
    let answer = try home.finish(refresh)
    #expect(answer.status == 3 && answer.output.contains("error notFound"), "\(answer.output)")
    #expect(try home.agreement() == nil)
  }

  @Test("another login while a process renews stands, too")
  func loginWins() async throws {
    let (home, session, refresh) = try await renewing()
    try home.login(session, "bob")
    try home.release()
    let answer = try home.finish(refresh)
    #expect(answer.status == 3 && answer.output.contains("error conflict"), "\(answer.output)")
    #expect(try home.agreement()?.token == "bob-token")
  }

  @Test("whenever a logout and a refresh race in two processes, nobody is logged in afterwards")
  func race() async throws {
    let home = try SessionHome()
    let rounds = ProcessInfo.processInfo.environment["COFFER_LONG_TESTS"] != nil ? 100 : 15
    var stored = 0
    for round in 0..<rounds {
      try home.run("login", home.path, "ada")
      let renewals = home.renewals
      // In every third round the two begin together; in the others the logout begins as the renewal is about to end, so that it
      // comes upon the refresh's last steps. Nothing rests on which of them is the faster.
      if !round.isMultiple(of: 3) { try home.hold() }
      let refresh = try home.start("refresh", home.path, "ada-token")
      if !round.isMultiple(of: 3) { try await eventually("renewing") { home.renewals > renewals } }
      let logout = try home.start("logout", home.path)
      if !round.isMultiple(of: 3) {
        usleep(UInt32(round * 7 % 40) * 1000)
        try home.release()
      }
      #expect(try home.finish(logout).status == 0)
      if try home.finish(refresh).status == 0 { stored += 1 }
      #expect(try home.agreement() == nil)
    }
    print("logout racing with refresh: \(rounds) rounds, the refresh came first in \(stored)")
  }

  @Test("a renewal that takes too long is given up, what it returns is dropped, and the next may begin")
  func limit() async throws {
    let (home, _, session) = try SessionHome.loggedIn()
    let keys = home.keys
    let (gate, isOver) = (Gate(), Counter())
    let error = await #expect(throws: StoreError.self) {
      try await session.refresh(keys.token, within: .milliseconds(50)) { _ in
        // Heeds no cancellation.
        await gate.pass()
        isOver.next()
        return try Sealed("late")
      }
    }
    #expect(error?.kind == .busy && isOver.value == 0)
    let token = try await session.refresh(keys.token) { _ in try Sealed("ada-next") }
    #expect(try token.reveal() == "ada-next")
    gate.open()
    try await eventually("the late one is over") { isOver.value == 1 }
    #expect(try home.agreement()?.token == "ada-next")
  }

  @Test("whoever waits longer than the limit for another's renewal is told so")
  func waiting() async throws {
    let (home, session, refresh) = try await renewing()
    let keys = home.keys
    let error = await #expect(throws: StoreError.self) {
      try await session.refresh(keys.token, within: .milliseconds(100)) { _ in try Sealed("mine") }
    }
    #expect(error?.kind == .busy)
    try home.release()
    #expect(try home.finish(refresh).status == 0)
    #expect(try home.agreement()?.token.hasPrefix("ada-renewed") == true)
  }

  @Test("what the renewal throws comes out, and nobody logged in means nobody asks")
  func failures() async throws {
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
    await #expect(throws: Refused.self) { try await session.refresh(keys.token) { _ in throw Refused() } }
    #expect(try home.agreement()?.token == "ada-token")
    try vault.lock()
    let locked = await #expect(throws: StoreError.self) { try await session.refresh(keys.token) { _ in try Sealed("x") } }
    #expect(locked?.kind == .locked)
  }

  @Test("a cancelled task stops waiting, and leaves the way free")
  func cancelled() async throws {
    let (home, _, session) = try SessionHome.loggedIn()
    let keys = home.keys
    let began = Counter()
    let task = Task {
      try await session.refresh(keys.token) { _ in
        began.next()
        try await Task.sleep(for: .seconds(600))
        return try Sealed("never")
      }
    }
    try await eventually("begun") { began.value == 1 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await session.refresh(keys.token) { _ in try Sealed("ada-next") }.reveal() == "ada-next")
    #expect(try home.agreement()?.token == "ada-next")
  }
}
