import CofferTestSupport
import CofferFoundation
import CofferPlatform
import CofferStorage
import CofferTesting
import Foundation
import Testing

private final class TemporarySuite: Sendable {
  let name = "coffer-test-\(UUID().uuidString)"

  deinit {
    UserDefaults.standard.removePersistentDomain(forName: name)
    let environment = ProcessInfo.processInfo.environment
    let folder = environment["XDG_CONFIG_HOME"] ?? NSHomeDirectory() + "/.config"
    try? FileManager.default.removeItem(atPath: "\(folder)/\(name).plist")
  }
}

@Suite(.serialized) struct UserDefaultsStoreTests {
  static let suite = StoreConformance<Plain>("UserDefaultsStore", abilities: .foundation) {
    let suite = TemporarySuite()
    return .init(try UserDefaultsStore(suiteName: suite.name), reopen: { try UserDefaultsStore(suiteName: suite.name) })
  }

  @Test(arguments: ConformanceCheck.allCases) func `UserDefaults conform as far as they can`(check: ConformanceCheck) async throws
  {
    try await Self.suite.run(check)
  }

  @Test func `what UserDefaults code stores is read as its types, and the other way round`() throws {
    let suite = TemporarySuite()
    let store = try UserDefaultsStore(suiteName: suite.name)
    let defaults = try #require(UserDefaults(suiteName: suite.name))
    defaults.set(true, forKey: "flag")
    defaults.set(7, forKey: "number")
    #expect(try store.load("flag") == .bool(true) && store.load("number") == .integer(7))
    try store.save(.string("dark"), for: "theme")
    try store.save(.real(0.5), for: "ratio")
    #expect(defaults.string(forKey: "theme") == "dark" && defaults.double(forKey: "ratio") == 0.5)
  }

  @Test func `it takes no part in a transaction with a vault, and says so before anything is written`() throws {
    struct Keys: KeySpace {
      let theme = StorageKey("theme", default: "light")
      let token = StorageKey("token", secret: String.self)
    }
    let suite = TemporarySuite()
    let keys = Keys()
    let app = try StorageRouter(plain: UserDefaultsStore(suiteName: suite.name), vault: MemoryStore<Vault>(), keys: keys)
    let error = #expect(throws: StoreError.self) {
      try app.transaction { transaction in
        try transaction.set("dark", for: keys.theme)
        try transaction.set(Sealed("t"), for: keys.token)
      }
    }
    #expect(error?.kind == .unsupported)
    #expect(try app.value(for: keys.theme) == "light" && app.value(for: keys.token) == nil)
    try app.transaction { try $0.set("dark", for: keys.theme) }
    #expect(try app.value(for: keys.theme) == "dark")
  }

  @Test func `text that XML cannot hold is refused`() throws {
    let suite = TemporarySuite()
    let store = try UserDefaultsStore(suiteName: suite.name)
    for bad in [PlainForm.string("\u{1}"), .array([.string("\u{FFFE}")]), .dictionary(["\u{2}": .bool(true)])] {
      let error = #expect(throws: StoreError.self) { try store.save(bad, for: "a") }
      #expect(error?.kind == .unencodable)
    }
    #expect(try store.names().isEmpty)
  }
}

extension UserDefaultsStoreTests {
  @Test func `dates that would make the file unreadable, or come back as others, are refused`() throws {
    let suite = TemporarySuite()
    let store = try UserDefaultsStore(suiteName: suite.name)
    for seconds in [Double.infinity, -.infinity, .nan, 1e17, -1e17, 1e300] {
      let date = PlainForm.date(Date(timeIntervalSince1970: seconds))
      for bad in [date, .array([date]), .dictionary(["a": date])] {
        let error = #expect(throws: StoreError.self) { try store.save(bad, for: "a") }
        #expect(error?.kind == .unencodable && error?.key == "a")
      }
    }
    for seconds in [1e16, -1e16] { try store.save(.date(Date(timeIntervalSince1970: seconds)), for: "b") }
    #expect(try store.names() == ["b"])
  }

  @Test func `stores of several suites, and several of one, are used by threads at the same time`() throws {
    let suites = (0..<3).map { _ in TemporarySuite() }
    let stores = try (0..<6).map { try UserDefaultsStore(suiteName: suites[$0 % 3].name) }
    DispatchQueue.concurrentPerform(iterations: 6) { number in
      #expect(throws: Never.self) {
        for _ in 0..<50 {
          try stores[number].update("n") { (form) throws(StoreError) in
            if case .integer(let count)? = form { .integer(count + 1) } else { .integer(1) }
          }
        }
        try stores[number].synchronize()
      }
    }
    for store in stores { #expect(try store.load("n") == .integer(100)) }
  }
}

extension StoreConformance.Abilities {
  static var foundation: Self {
    var abilities = Self()
    abilities.prepares = false
    abilities.decides = false
    return abilities
  }
}
