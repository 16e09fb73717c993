import Coffer
import CofferDefaults
import CofferMemory
import CofferObservation
import CofferStorage
import CofferValues
import CofferVault
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@Suite(.serialized) struct SubscriptTests {
  struct Keys: KeySpace {
    let theme = StorageKey("theme", default: "light")
    let name = StorageKey("name", of: String.self)
    let count = StorageKey("count", default: 0)
  }
  let keys = Keys()
  private final class Listener: Sendable {}

  @Test
  func `a plain key is read and set like an element, and nil removes`() throws {
    let app = try StorageRouter.inMemory(keys: keys)
    #expect(app[keys.theme] == "light" && app[keys.name] == nil)
    app[keys.theme] = "dark"
    app[keys.name] = "Ada"
    #expect(app[keys.theme] == "dark" && app[keys.name] == "Ada")
    app[keys.name] = nil
    #expect(try app[keys.name] == nil && app.plain.names() == ["theme"])
  }

  @Test
  func `the plain keys of a space are read and set like properties`() throws {
    let app = try StorageRouter.inMemory(keys: keys), settings = app[keys]
    #expect(settings.theme == "light" && settings.name == nil)
    settings.theme = "dark"
    settings.name = "Ada"
    #expect(app[keys.theme] == "dark" && settings.theme == "dark" && settings.name?.count == 3)
    settings.name = nil
    #expect(try app.plain.names() == ["theme"])
  }

  @Test
  func `a failure is told to ValueFailures, and a read gives the default then; what is stored stays`() throws {
    let app = try StorageRouter.inMemory(keys: keys)
    try app.plain.save(.string("many"), for: "count")
    let listener = Listener()
    let seen = Mutex<[StoreError]>([])
    let cancel = ValueFailures.handler.add(listener) { error in
      if error.key == "count" || error.key == "elsewhere" { seen.withLock { $0.append(error) } }
    }
    defer { cancel() }
    #expect(app[keys.count] == 0)
    app[StorageKey("elsewhere", default: 1)] = 2
    #expect(seen.withLock { $0.map(\.kind) } == [.undecodable(stored: "string"), .undeclared])
    #expect(try app.plain.load("count") == .string("many"))
    withExtendedLifetime(listener) {}
  }

  @Test(.tags(.process), .defaultRun)
  func `a failure goes to standard error once the only listener, of the main actor, is gone`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try await MainActor.run {
        final class Screen {}
        ValueFailures.handler.add(Screen(), on: .shared) { _, _ in }
        let app = try StorageRouter.inMemory(keys: Keys())
        try app.plain.save(.string("many"), for: "count")
        #expect(app[Keys().count] == 0)
      }
    }
    let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(errors.contains("coffer: "))
  }

  @Test
  func `eight tasks that add 500 each through update lose none; += does not compile`() async throws {
    let app = try StorageRouter.inMemory(keys: keys), count = keys.count
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { for _ in 0..<500 { try app.update(count) { $0 += 1 } } } }
      try await group.waitForAll()
    }
    #expect(app[count] == 4000)
  }
}
