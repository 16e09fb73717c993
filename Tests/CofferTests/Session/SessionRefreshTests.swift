import Coffer
import CofferStorage
import Foundation
import Testing

@Suite(.serialized) struct SessionRefreshTests {
  @Test("of fifty tasks that ask at once, one renews and all get what it got", arguments: [true, false])
  func once(withFiles: Bool) async throws {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let keys = home.keys
    let session =
      withFiles ? try home.session(app) : try Session(app, user: keys.user, credential: keys.token)
    try home.login(session, "ada")
    let stale = try #require(try app.value(for: keys.token))
    let renewals = Counter()
    let tokens = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 {
        group.addTask {
          try await session.refresh(keys.token, replacing: stale) { old in
            #expect(old == stale)
            let number = renewals.next()
            try await Task.sleep(for: .milliseconds(50))
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
  func onceAcrossProcesses() throws {
    let home = try SessionHome()
    try home.run("login", home.path, "ada")
    let started = try (0..<6).map { _ in try home.start("refresh", home.path, "ada-token", "200") }
    let answers = try started.map { try home.finish($0) }
    #expect(answers.allSatisfy { $0.status == 0 }, "\(answers)")
    #expect(Set(answers.map(\.output)).count == 1 && home.renewals == 1)
  }

  @Test("a process that dies as it renews leaves the way free, and the credential as it was")
  func holderDies() throws {
    let home = try SessionHome()
    try home.run("login", home.path, "ada")
    #expect(try home.run("refresh", home.path, "ada-token", "0", "renewing").status == SIGKILL)
    #expect(try home.agreement()?.token == "ada-token")
    #expect(try home.run("refresh", home.path, "ada-token", "0").status == 0)
    #expect(home.renewals == 2)
  }

  @Test("a logout while another process renews stands: the renewed credential is dropped")
  func logoutWins() async throws {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    try home.login(session, "ada")
    let refresh = try home.start("refresh", home.path, "ada-token", "4000")
    try await eventually("renewing") { home.renewals == 1 }
    try session.logout()
    let answer = try home.finish(refresh)
    #expect(answer.status == 3 && answer.output.contains("error notFound"), "\(answer.output)")
    #expect(try home.agreement() == nil)
  }

  @Test("another login while a process renews stands, too")
  func loginWins() async throws {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    try home.login(session, "ada")
    let refresh = try home.start("refresh", home.path, "ada-token", "4000")
    try await eventually("renewing") { home.renewals == 1 }
    try home.login(session, "bob")
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
      // A process takes some tens of milliseconds to start: the logout comes before, during and after the renewal.
      let refresh = try home.start("refresh", home.path, "ada-token", "\(round * 7 % 60)")
      if round.isMultiple(of: 4) { try await Task.sleep(for: .milliseconds(round % 40)) }
      #expect(try home.run("logout", home.path).status == 0)
      if try home.finish(refresh).status == 0 { stored += 1 }
      #expect(try home.agreement() == nil)
    }
    print("logout racing with refresh: \(rounds) rounds, the refresh came first in \(stored)")
  }

  @Test("a renewal that takes too long is given up, what it returns is dropped, and the next may begin")
  func limit() async throws {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    try home.login(session, "ada")
    let keys = home.keys
    let isOver = Counter()
    let error = await #expect(throws: StoreError.self) {
      try await session.refresh(keys.token, within: .milliseconds(50)) { _ in
        // Heeds no cancellation.
        await withCheckedContinuation { continuation in
          DispatchQueue.global().asyncAfter(deadline: .now() + 0.4) { continuation.resume() }
        }
        isOver.next()
        return try Sealed("late")
      }
    }
    #expect(error?.kind == .busy && isOver.value == 0)
    let token = try await session.refresh(keys.token) { _ in try Sealed("ada-next") }
    #expect(try token.reveal() == "ada-next")
    try await eventually("the late one is over") { isOver.value == 1 }
    #expect(try home.agreement()?.token == "ada-next")
  }

  @Test("whoever waits longer than the limit for another's renewal is told so")
  func waiting() async throws {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    try home.login(session, "ada")
    let refresh = try home.start("refresh", home.path, "ada-token", "1500")
    try await eventually("renewing") { home.renewals == 1 }
    let keys = home.keys
    let error = await #expect(throws: StoreError.self) {
      try await session.refresh(keys.token, within: .milliseconds(100)) { _ in try Sealed("mine") }
    }
    #expect(error?.kind == .busy)
    #expect(try home.finish(refresh).status == 0)
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
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    try home.login(session, "ada")
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
  }
}
