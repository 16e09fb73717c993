import Coffer
import CofferConfiguration
import CofferVault
import Configuration
import Foundation
import Testing

@Suite struct ProviderTests {
  private func key(_ name: String) -> AbsoluteConfigKey { AbsoluteConfigKey(name.split(separator: ".").map(String.init)) }

  private func content(_ provider: CofferProvider, _ name: String, _ type: ConfigType) throws -> ConfigContent? {
    try provider.value(forKey: key(name), type: type).value?.content
  }

  private func kind(_ body: () throws -> Void) -> StoreError.Kind? {
    do { try body() } catch { return (error as? StoreError)?.kind }
    return nil
  }

  @Test func `each type of swift-configuration is read as it was stored`() throws {
    let home = try ServiceHome()
    defer { try? home.remove() }
    let (app, keys) = (home.app, home.keys)
    try app.set("Hi", for: keys.greeting)
    try app.set(8080, for: keys.port)
    try app.set(0.25, for: keys.ratio)
    try app.set(true, for: keys.on)
    try app.set(Data([1, 2]), for: keys.data)
    try app.set(["a", "b"], for: keys.names)
    try app.set([1, 2], for: keys.numbers)
    try app.set([0.5], for: keys.ratios)
    try app.set([true, false], for: keys.flags)
    try app.set([Data([3])], for: keys.parts)
    try app.set("one.example", for: keys.hosts["one"])
    let provider = CofferProvider(app)
    let expected: [(String, ConfigType, ConfigContent)] = [
      ("service.greeting", .string, .string("Hi")), ("service.port", .int, .int(8080)), ("ratio", .double, .double(0.25)),
      ("on", .bool, .bool(true)), ("data", .bytes, .bytes([1, 2])), ("names", .stringArray, .stringArray(["a", "b"])),
      ("numbers", .intArray, .intArray([1, 2])), ("ratios", .doubleArray, .doubleArray([0.5])),
      ("flags", .boolArray, .boolArray([true, false])), ("parts", .byteChunkArray, .byteChunkArray([[3]])),
      ("hosts/one", .string, .string("one.example")),
    ]
    let snapshot = provider.snapshot()
    for (name, type, value) in expected {
      let found = try provider.value(forKey: key(name), type: type)
      #expect(found.value == ConfigValue(value, isSecret: false) && found.encodedKey == name, "\(name)")
      #expect(try snapshot.value(forKey: key(name), type: type) == found, "\(name)")
    }
    try app.set("Hello again", for: keys.greeting)
    #expect(try snapshot.value(forKey: key("service.greeting"), type: .string).value?.content == .string("Hi"))
  }

  @Test func `a secret is marked as one, and what prints it shows nothing`() throws {
    let home = try ServiceHome()
    defer { try? home.remove() }
    try home.app.set(Sealed("s3cret"), for: home.keys.token)
    try home.app.set(Sealed([1, 2]), for: home.keys.pins)
    let provider = CofferProvider(home.app)
    let value = try #require(try provider.value(forKey: key("service.token"), type: .string).value)
    #expect(value == ConfigValue(.string("s3cret"), isSecret: true))
    #expect(!"\(value)".contains("s3cret") && !"\(provider)".contains("s3cret") && !"\(provider.snapshot())".contains("s3cret"))
    #expect(try content(provider, "pins", .intArray) == .intArray([1, 2]))
    #expect(try provider.snapshot().value(forKey: key("service.token"), type: .string).value == value)
  }

  @Test func `what no key declares, and what is not stored, is left to the next provider`() throws {
    let home = try ServiceHome()
    defer { try? home.remove() }
    let provider = CofferProvider(home.app)
    for name in ["nobody", "service.greeting", "service.token", "hosts/none"] {
      #expect(try content(provider, name, .string) == nil, "\(name)")
      #expect(try provider.snapshot().value(forKey: key(name), type: .string).value == nil, "\(name)")
    }
  }

  @Test func `a locked vault, an expired value and one of another type are errors, and never absent`() throws {
    let home = try ServiceHome()
    defer { try? home.remove() }
    try home.app.set("eight", for: home.keys.greeting)
    try home.app.set(Sealed("s3cret"), for: home.keys.token)
    try home.app.set(Sealed("past"), for: home.keys.brief)
    let provider = CofferProvider(home.app)
    func kinds(_ name: String, _ type: ConfigType) -> [StoreError.Kind?] {
      let snapshot = provider.snapshot()
      return [
        kind { _ = try provider.value(forKey: key(name), type: type) },
        kind { _ = try snapshot.value(forKey: key(name), type: type) },
      ]
    }
    #expect(kinds("service.greeting", .int) == Array(repeating: .undecodable(stored: "string"), count: 2))
    #expect(kinds("service.token", .intArray).allSatisfy { if case .undecodable = $0 { true } else { false } })
    #expect(kinds("brief", .string) == [.expired, .expired])
    try home.vault.lock()
    #expect(kinds("service.token", .string) == [.locked, .locked])
    #expect(kind { _ = try ConfigReader(provider: provider).requiredString(forKey: "service.token") } == .locked)
    #expect(try content(provider, "service.greeting", .string) == .string("eight"))
  }

  @Test func `whoever watches hears the value, its changes, and that the vault was locked and unlocked`() async throws {
    let home = try ServiceHome()
    defer { try? home.remove() }
    try await home.app.set(Sealed("one"), for: home.keys.token)
    let provider = CofferProvider(home.app)
    try await provider.watchValue(forKey: key("service.token"), type: .string) { updates in
      var iterator = updates.makeAsyncIterator()
      func next() async -> Result<LookupResult, any Error>? { await iterator.next(isolation: nil) }
      #expect(try await next()?.get().value?.content == .string("one"))
      try await home.app.set(Sealed("two"), for: home.keys.token)
      #expect(try await next()?.get().value?.content == .string("two"))
      try await home.vault.lock()
      var locked = await next()
      while case .success? = locked { locked = await next() }
      #expect(kind { _ = try locked?.get() } == .locked)
      try await home.vault.unlock(with: home.credentials())
      #expect(try await next()?.get().value?.content == .string("two"))
    }
    try await provider.watchSnapshot { updates in
      var iterator = updates.makeAsyncIterator()
      #expect(try await iterator.next(isolation: nil)?.value(forKey: key("service.greeting"), type: .string).value == nil)
      try await home.app.set("Hi", for: home.keys.greeting)
      #expect(
        try await iterator.next(isolation: nil)?.value(forKey: key("service.greeting"), type: .string).value?.content
          == .string("Hi"))
    }
  }

  @Test func `what an older program stored under another name is read and moved, and an error while the vault is locked`() throws
  {
    let home = try ServiceHome()
    defer { try? home.remove() }
    try home.app.set(Sealed("s3cret"), for: home.keys.token)
    try home.app.set("Hi", for: home.keys.greeting)
    struct Renamed: KeySpace {
      let token = StorageKey("token", secret: String.self).renamed(from: "service.token")
      let greeting = StorageKey("greeting", default: "").renamed(from: "service.greeting")
    }
    let places = Places(home: FilePath(home.folder.path())), keys = Renamed()
    try home.vault.lock()
    let unwritable = try places.openDefaults("service", access: .readOnly)
    let reader = try CofferProvider(StorageRouter(plain: unwritable, vault: home.vault, keys: keys))
    #expect(try content(reader, "greeting", .string) == .string("Hi"))
    #expect(try reader.snapshot().value(forKey: key("greeting"), type: .string).value?.content == .string("Hi"))
    let app = try StorageRouter.open("service", keys: keys, vault: home.vault, places: places, overrides: .none)
    let provider = CofferProvider(app)
    #expect(kind { _ = try provider.value(forKey: key("token"), type: .string) } == .locked)
    #expect(kind { _ = try provider.snapshot().value(forKey: key("token"), type: .string) } == .locked)
    try home.vault.unlock(with: home.credentials())
    #expect(try provider.snapshot().value(forKey: key("token"), type: .string).value?.content == .string("s3cret"))
    #expect(try content(provider, "token", .string) == .string("s3cret"))
    #expect(try content(provider, "greeting", .string) == .string("Hi"))
    try app.close()
  }
}
