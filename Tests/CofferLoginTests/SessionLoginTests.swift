import Coffer
import CofferStorage
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferLogin

@Suite(.tags(.process), .wholeRun) struct SessionLoginTests {
  private struct Keys: KeySpace {
    let user = StorageKey("user", of: String.self).endsWithSession()
    let token = StorageKey("token", secret: OAuthToken.self).expires { $0.expires }.endsWithSession()
    let renewal = StorageKey("renewal", secret: String.self).endsWithSession()
  }

  @Test(arguments: OAuthServer.Kind.present)
  func `tokens are stored in one step, renewed once for all who ask, and gone after a logout`(kind: OAuthServer.Kind) async throws
  {
    let server = try OAuthServer(kind)
    let keys = Keys()
    let router = try StorageRouter(
      plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(), keys: keys)
    let session = try Session(router, user: keys.user, credential: keys.token)
    let client = OAuthClient(
      id: kind.client, secret: kind.secret.map(secret), at: try await .discover(issuer: server.issuer), scopes: ["read"])
    try server.control("life", ["seconds": "1"])
    let login = try client.loginByBrowser()
    async let waited = login.wait()
    try await server.visit(login.url)
    let oauth = Session<String>.OAuthKeys(credential: keys.token, renewal: keys.renewal)
    try await session.login(as: "ada", with: try await waited, oauth)
    try server.control("life", ["seconds": "3600"])
    try await poll("the token ends") { try session.state() == .expired }

    let tokens = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<8 { group.addTask { try await session.token(oauth, using: client).reveal().access } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(tokens).count == 1 && tokens.count == 8)
    #expect(try server.takes(tokens[0]))
    #expect(try server.control("counts")["refresh"] == 1)
    // A token that the server refused early.
    let stale = try await session.token(oauth, using: client)
    let next = try await session.token(oauth, using: client, replacing: stale).reveal()
    #expect(next.access != tokens[0] && next.type.lowercased() == "bearer" && next.scope == "read")
    #expect(try await session.state() == .loggedIn("ada"))

    try await session.logout()
    #expect(try await router.value(for: keys.renewal) == nil)
    await #expect(throws: StoreError.self) { try await session.token(oauth, using: client) }
  }

  @Test(arguments: OAuthServer.Kind.present)
  func `of tasks that wait for a renewal that is refused, one asks the server`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let keys = Keys()
    let router = try StorageRouter(plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(), keys: keys)
    let session = try Session(router, user: keys.user, credential: keys.token)
    let client = OAuthClient(
      id: kind.client, secret: kind.secret.map(secret), at: try await .discover(issuer: server.issuer), scopes: ["read"])
    let login = try client.loginByBrowser()
    async let waited = login.wait()
    try await server.visit(login.url)
    let oauth = Session<String>.OAuthKeys(credential: keys.token, renewal: keys.renewal)
    try await session.login(as: "ada", with: try await waited, oauth)
    let first = try await session.token(oauth, using: client)
    try await router.set(Sealed("spent"), for: keys.renewal)
    try server.hold(at: "/token")
    let begun = Atomic(0)
    let asking = { @Sendable () async -> StoreError.Kind? in
      begun.add(1, ordering: .relaxed)
      do { _ = try await session.token(oauth, using: client, replacing: first) } catch { return (error as? StoreError)?.kind }
      return nil
    }
    async let asked = asking()
    try await poll("the server is asked") { try server.control("counts")["refresh"] == 1 }
    let others = await withTaskGroup(of: StoreError.Kind?.self) { group in
      for _ in 0..<7 { group.addTask { await asking() } }
      try? await poll("all have asked") { begun.load(ordering: .relaxed) == 8 }
      try? server.letGo()
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(await asked == .loginRefused && others.allSatisfy { $0 == .loginRefused } && others.count == 7)
    #expect(try server.control("counts")["refresh"] == 1)
  }

  @Test(arguments: OAuthServer.Kind.present)
  func `a task that is cancelled while the server is asked stops waiting, and what the server gives is stored`(
    kind: OAuthServer.Kind
  ) async throws {
    let server = try OAuthServer(kind)
    let keys = Keys()
    let router = try StorageRouter(plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(), keys: keys)
    let session = try Session(router, user: keys.user, credential: keys.token)
    let client = OAuthClient(
      id: kind.client, secret: kind.secret.map(secret), at: try await .discover(issuer: server.issuer), scopes: ["read"])
    let login = try client.loginByBrowser()
    async let waited = login.wait()
    try await server.visit(login.url)
    let oauth = Session<String>.OAuthKeys(credential: keys.token, renewal: keys.renewal)
    try await session.login(as: "ada", with: try await waited, oauth)
    let first = try await session.token(oauth, using: client)

    try server.hold(at: "/token")
    let task = Task { try await session.token(oauth, using: client, replacing: first) }
    try await poll("the server is asked") { try server.control("counts")["refresh"] == 1 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try server.letGo()
    // The next one waits for the answer in place of the departed one, and asks nothing.
    let second = try await session.token(oauth, using: client, replacing: first)
    #expect(second != first)
    #expect(try server.takes(second.reveal().access))
    #expect(try server.control("counts")["refresh"] == 1)
    let third = try await session.token(oauth, using: client, replacing: second)
    #expect(third != second)
    #expect(try server.control("counts")["refresh"] == 2)
  }
}
