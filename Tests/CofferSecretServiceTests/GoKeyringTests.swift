import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSecretService

/// The calls of go-keyring in its order, as Go programs make them. Debian's gh is built without it.
///
/// Source: github.com/zalando/go-keyring, keyring_unix.go and secret_service/secret_service.go.
@Suite(.tags(.process), .wholeRun) struct GoKeyringTests {
  private struct Keyring {
    let client: BusClient

    /// The login collection, if it is listed under this exact path; its alias otherwise.
    func collection() throws -> String {
      try client.collections().contains(BusClient.login) ? BusClient.login : BusClient.defaultAlias
    }

    /// Continues only if exactly the given path is unlocked.
    func unlock(_ path: String) throws {
      var (unlocked, prompt) = try client.unlock([path])
      if prompt != "/" {
        while try client.bus.next() != nil {}  // Nobody listens yet.
        try client.call(prompt, .prompt, "Prompt") { (message) throws(Refusal) in try message.put("") }
        // It takes the first later signal on its connection for the prompt's.
        usleep(1_000)
        var first: BusMessage?
        eventually("a signal comes") {
          while first == nil, let next = try? client.bus.next() { if next.kind == .signal { first = next } }
          return first != nil
        }
        let signal = try #require(first)
        #expect(signal.member == "Completed" && signal.path == prompt)
        #expect(try signal.flag() == false)
        unlocked += try signal.variant("ao") { () throws(Refusal) in try signal.paths() }
      }
      #expect(unlocked == [path])
    }

    func set(_ service: String, _ user: String, _ password: String) throws {
      let session = try client.openPlain()
      let collection = try collection()
      try unlock(collection)
      _ = try client.create(
        "Password for '\(user)' on '\(service)'", ["username": user, "service": service], password, in: collection,
        session: session,
        type: "text/plain; charset=utf8")
      try client.call(session, .session, "Close")
    }

    func find(_ service: String, _ user: String) throws -> String? {
      let collection = try collection()
      try unlock(collection)
      return try client.search(["username": user, "service": service], in: collection).first
    }

    func get(_ service: String, _ user: String) throws -> String? {
      guard let item = try find(service, user) else { return nil }
      let session = try client.openPlain()
      try unlock(item)
      let secret = try client.secret(item, session: session)
      try client.call(session, .session, "Close")
      #expect(secret.type == "text/plain; charset=utf8")
      return secret.text
    }

    func delete(_ service: String, _ user: String) throws {
      let item = try #require(try find(service, user))
      #expect(try client.call(item, .item, "Delete").objectPath() == "/")
    }
  }

  @Test(arguments: [true, false]) func `gh keeps its token, on a machine without a screen`(isUnlocked: Bool) throws {
    let service = try TestService(unlocked: isUnlocked, ownKey: true)
    let keyring = Keyring(client: try BusClient(service.bus.address))
    #expect(try keyring.get("gh:github.com", "ada") == nil)
    try keyring.set("gh:github.com", "ada", "gho_first")
    try keyring.set("gh:github.com", "ada", "gho_second")
    #expect(try keyring.get("gh:github.com", "ada") == "gho_second")
    try keyring.set("gh:github.com", "", "gho_second")
    #expect(try keyring.get("gh:github.com", "") == "gho_second")
    try keyring.delete("gh:github.com", "ada")
    #expect(try keyring.get("gh:github.com", "ada") == nil)
  }

  @Test func `a locked collection is unlocked by a prompt`() throws {
    let service = try TestService(unlocked: false, prompt: true)
    let keyring = Keyring(client: try BusClient(service.bus.address))
    try keyring.set("gh:github.com", "ada", "gho_first")
    #expect(try keyring.get("gh:github.com", "ada") == "gho_first")
  }

  @Test func `a prompt for what was unlocked meanwhile ends too`() throws {
    let service = try TestService(unlocked: false, prompt: true)
    let client = try BusClient(service.bus.address)
    try client.listen()
    let (_, prompt) = try client.unlock([BusClient.login])
    try service.unlock()
    eventually("the service hears of the unlocking") { (try? client.isLocked()) == false }
    try client.call(prompt, .prompt, "Prompt") { (message) throws(Refusal) in try message.put("") }
    #expect(try client.await("Completed")?.argument == "false")
    #expect(service.attempts == [])
  }
}
