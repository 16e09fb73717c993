import Coffer
import Foundation
import Hummingbird
import Service
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct ServiceTests {
  private func ask(_ port: Int, _ path: String, _ token: String? = nil) async throws -> (status: Int?, body: String) {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    let (body, answer) = try await URLSession(configuration: .ephemeral).data(for: request)
    return ((answer as? HTTPURLResponse)?.statusCode, String(decoding: body, as: UTF8.self))
  }

  @Test func `a service reads its configuration and its token at each request, and a locked vault lets nobody in`() async throws {
    let home = try ServiceHome()
    defer { try? home.remove() }
    try await home.app.set(Sealed("first"), for: home.keys.token)
    let (ports, port) = AsyncStream<Int>.makeStream()
    let app = home.app
    let running = Task { try await service(over: app) { port.yield($0) }.run() }
    defer { running.cancel() }
    let place = try #require(await ports.first { _ in true })
    #expect(try await ask(place, "/") == (200, "Hello"))
    try await home.app.set("Good day", for: home.keys.greeting)
    #expect(try await ask(place, "/").body == "Good day")
    #expect(try await ask(place, "/admin").status == 401)
    #expect(try await ask(place, "/admin", "first") == (200, "Welcome"))
    try await home.app.set(Sealed("second"), for: home.keys.token)
    #expect(try await ask(place, "/admin", "first").status == 401)
    #expect(try await ask(place, "/admin", "second").status == 200)
    try await home.vault.lock()
    #expect(try await ask(place, "/admin", "second").status == 503)
    #expect(try await ask(place, "/").body == "Good day")
  }
}
