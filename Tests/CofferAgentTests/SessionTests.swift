import CofferTestSupport
import Coffer
import CofferStorage
import Foundation
import Synchronization
import Testing

@testable import CofferAgent

private struct Token: Codable, Sendable, Equatable {
  var text: String
  var expiry: Date
}

private struct Keys: KeySpace {
  let user = StorageKey("user", of: String.self).endsWithSession()
  let token = StorageKey("token", secret: Token.self).expires { $0.expiry }.endsWithSession()
}

@Suite struct SessionTests {
  private let keys = Keys()

  private func expired(_ agent: TestAgent) throws -> (app: StorageRouter, session: Session<String>) {
    let app = try StorageRouter(plain: MemoryStore<Plain>(), vault: agent.store(), keys: keys)
    let session = try app.session(user: keys.user, credential: keys.token)
    try login(session, "old", until: Date(timeIntervalSinceNow: -3600))
    #expect(kind { _ = try app.value(for: keys.token) } == .expired)
    #expect(try session.state() == .expired)
    return (app, session)
  }

  private func login(_ session: Session<String>, _ text: String, until moment: Date) throws {
    try session.login(as: "ada") { try $0.set(Sealed(Token(text: text, expiry: moment)), for: keys.token) }
  }

  @Test func `an expired credential in the agent is renewed`() async throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let (app, session) = try expired(agent)
    let later = Date(timeIntervalSinceNow: 3600)
    let new = try await session.refresh(keys.token) { old in
      #expect(old == nil)
      return try Sealed(Token(text: "new", expiry: later))
    }
    #expect(try new.reveal().text == "new")
    #expect(try await session.state() == .loggedIn("ada"))
    #expect(try await app.value(for: keys.token)?.reveal().text == "new")
  }

  @Test func `an expired credential in the agent stands in the way of no logout and of no login`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let (_, session) = try expired(agent)
    try login(session, "again", until: Date(timeIntervalSinceNow: -60))
    #expect(try session.state() == .expired)
    // Of another program, whose sealed description says that it ends with the session.
    var metadata = ItemMetadata(expires: Date(timeIntervalSinceNow: -60))
    metadata.attributes[ItemMetadata.endsWithSession] = "true"
    let store = try agent.store()
    try store.save(form("v", metadata), for: "of another program")
    #expect(try store.sessionItems().keys.sorted() == ["of another program", "token"])
    #expect(try store.version(of: "absent") == .absent)
    try session.logout()
    #expect(try session.state() == .loggedOut && store.names() == [])
  }
}
