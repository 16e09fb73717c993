import Coffer
import CofferDefaults
import CofferMemory
import CofferObservation
import CofferStorage
import CofferValues
import CofferVault
import CofferTestSupport
import Foundation
import Observation
import Synchronization
import Testing

@MainActor @Suite struct ObservableValueTests {
  struct Keys: KeySpace {
    let theme = StorageKey("theme", default: "light")
    let count = StorageKey("count", default: 0)
  }
  let keys = Keys()

  @Test
  func `its value is there at once, and setting it stores it and tells who observes it`() throws {
    let app = try StorageRouter.inMemory(keys: keys)
    try app.set("dark", for: keys.theme)
    let theme = try app.observable(keys.theme)
    #expect(theme.value == "dark")
    let changes = ChangeCount()
    withObservationTracking {
      _ = theme.value
    } onChange: {
      changes.add()
    }
    theme.value = "dark"
    #expect(changes.count == 0)
    theme.value = "black"
    #expect(changes.count == 1)
    #expect(try app.value(for: keys.theme) == "black")
    try app.observable(keys.count).update { $0 += 2 }
    #expect(try app.value(for: keys.count) == 2)
  }

  @Test
  func `it follows what others set, in this process and another, and tells who observes it`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    let places = Places(home: FilePath(folder.path))
    let app = try StorageRouter.open("com.example.app", keys: keys, places: places)
    let theme = try app.observable(keys.theme), changes = ChangeCount()
    withObservationTracking {
      _ = theme.value
    } onChange: {
      changes.add()
    }
    try await app.set("dark", for: keys.theme)
    try await poll("this process's") { theme.value == "dark" && changes.count == 1 }
    try await app.synchronize()
    // Another program writes the list, as Foundation does: a new file in its place.
    let list = places.propertyList(of: "com.example.app").string
    let text = try String(contentsOfFile: list, encoding: .utf8).replacing("dark", with: "sepia")
    try Data(text.utf8).write(to: URL(filePath: list), options: .atomic)
    try await poll("another program's") { theme.value == "sepia" }
    try await app.close()
  }

  @Test
  func `what was set is what it has, also where it is equal to what was`() throws {
    let app = try StorageRouter.inMemory(keys: keys)
    let theme = try app.observable(keys.theme)
    for spelling in ["e\u{301}", "\u{E9}"] {
      theme.value = spelling
      #expect(try Array(app.value(for: keys.theme).utf8) == Array(spelling.utf8))
      #expect(Array(theme.value.utf8) == Array(spelling.utf8))
    }
  }

  @Test
  func `after the router was closed there is nothing to observe, and the call says so`() throws {
    let home = try TestFolder("observable")
    try withExtendedLifetime(home) {
      let app = try StorageRouter.open("app", keys: keys, places: Places(home: $0.path), overrides: .none)
      try app.close()
      #expect(kind { _ = try app.observable(keys.theme) } == .closed)
      #expect(kind { try app.observe(keys.theme, owner: ChangeCount()) { _ in } } == .closed)
    }
  }

  @Test
  func `a value that cannot be read leaves what was seen last, and a released model follows nothing`() async throws {
    let app = try StorageRouter(
      plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(), keys: keys)
    weak var gone: ObservableValue<String>?
    do {
      let theme = try app.observable(keys.theme)
      gone = theme
      try app.plain.save(.integer(1), for: "theme")
      #expect(theme.value == "light")
      theme.value = "dark"
      #expect(theme.value == "dark")
    }
    #expect(gone == nil)
    try await app.set("light", for: keys.theme)
    await Task.yield()
  }
}

private final class ChangeCount: Sendable {
  private let number = Mutex(0)
  func add() { number.withLock { $0 += 1 } }
  var count: Int { number.withLock { $0 } }
}
