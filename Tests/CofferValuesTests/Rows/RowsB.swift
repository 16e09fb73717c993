internal import CofferTestSupport
internal import Coffer
internal import CofferDefaults
internal import CofferStorage
internal import CofferValues
internal import Foundation
internal import Testing

// Value containers.

private struct Profile: Codable, PlainValue, Equatable { var name = "Ada", tags = ["x"] }
private enum Theme: String, Codable, PlainValue { case light, dark }

extension PersistentStorage {
  fileprivate var foobar: KeyValueContainer<Int> { makeContainer() }
  fileprivate var profile: KeyValueContainer<Profile> { makeContainer(defaultValue: Profile()) }
  fileprivate var hidden: KeyValueContainer<Int> { makeContainer() }
  fileprivate var renamed: KeyValueContainer<Int> { makeContainer(key: "foobar") }
}

@Suite struct RowsB {
  private func storage(_ bench: Bench, prefix: String = "") throws -> PersistentStorage {
    try PersistentStorage(suiteName: Bench.domain, keyPrefix: prefix, in: bench.places.defaults)
  }

  @Test func `B1 a misspelled key, a wrong type and a collision are errors before anything is stored`() throws {
    // The first two do not compile, nor does a second declaration in one space: ForbiddenProgramTests. Two spaces with one
    // name are refused at open, and both places are named.
    let (one, two) = (Space(StorageKey("theme", default: 1)), Space(StorageKey("theme", default: "x")))
    let error = try expect(.duplicateKey) { _ = try StorageRouter.inMemory(keys: one, two) }
    #expect(error.what.contains(one.key.site.description) && error.what.contains(two.key.site.description))
  }

  @Test func `B1 a name that two routers over one domain declare with two types is refused`() throws {
    let bench = try Bench()
    let (number, text) = (StorageKey("theme", default: 1), StorageKey("theme", default: "x"))
    let (token, pass) = (StorageKey("token", secret: String.self), StorageKey("token", secret: Profile.self))
    let app = try bench.app(Space(number), Space(token))
    let error = try expect(.duplicateKey) { _ = try bench.app(Space(text)) }
    #expect(error.what.contains("\(number.site) as Int") && error.what.contains("\(text.site) as String"))
    #expect(error.key == "theme" && error.place == app.plain.place)
    try expect(.duplicateKey) { _ = try bench.app(Space(pass)) }
    // The same type from elsewhere, a newer version of the key, and another domain are not.
    _ = try bench.app(Space(StorageKey("theme", of: Int.self)), Space(StorageKey("token", vaulted: String.self)))
    _ = try bench.app(Space(text.upgraded(from: Int.self) { "\($0)" }))
    _ = try StorageRouter(plain: bench.defaults("other"), vault: bench.vault, keys: Space(text))
    withExtendedLifetime(app) {}
  }

  @Test func `B2 one interface serves every store`() throws {
    let bench = try Bench()
    func roundTrip(_ storage: some KeyValueStorage<Plain>) throws {
      try storage.setValue(42, forKey: "n")
      #expect(try storage.value(of: Int.self, forKey: "n") == 42)
      let inferred: Int? = try storage.value(forKey: "n")
      #expect(inferred == 42)
    }
    try roundTrip(storage(bench))
    try roundTrip(bench.defaults("other"))
    try roundTrip(MemoryStore<Plain>())
    struct Keychain: KeyValueStorage { let store: any Store<Vault> }
    let keychain = Keychain(store: bench.vault)
    try keychain.setValue("u1", forKey: "user_id")
    #expect(try keychain.value(of: String.self, forKey: "user_id") == "u1")
  }

  @Test func `B3 primitives and structures go through the same two methods, and nil removes`() throws {
    let bench = try Bench()
    let storage = try storage(bench)
    try storage.setValue(Profile(name: "Bob"), forKey: "profile")
    try storage.setValue(1.5, forKey: "ratio")
    #expect(try storage.value(of: Profile.self, forKey: "profile")?.name == "Bob")
    try storage.setValue(nil as Profile?, forKey: "profile")
    #expect(try storage.store.names() == ["ratio"])
    #expect(try storage.value(of: Profile.self, forKey: "profile") == nil)
  }

  @Test func `B4 a store adopts the interface itself, or is wrapped`() throws {
    let bench = try Bench()
    let direct: any KeyValueStorage<Plain> = try bench.defaults()
    let wrapped: any KeyValueStorage<Plain> = try storage(bench)
    try direct.setValue(5, forKey: "n")
    #expect(try wrapped.value(of: Int.self, forKey: "n") == 5)
  }

  @Test func `B5 a storage is opened with a suite and a prefix, and throws where it cannot be`() throws {
    let bench = try Bench()
    let opened = try storage(bench, prefix: "a.")
    #expect(opened.suiteName == Bench.domain && opened.keyPrefix == "a.")
    try expect(.invalidName) { _ = try PersistentStorage(suiteName: "../evil", in: bench.places.defaults) }
    // Without a suite it is the program's domain, as with UserDefaults.
    #expect(try PersistentStorage(in: bench.places.defaults).suiteName == DefaultsDomain.standardName)
  }

  @Test func `B6 instances with prefixes do not collide on one suite`() throws {
    let bench = try Bench()
    let (a, b) = (try storage(bench, prefix: "a."), try storage(bench, prefix: "b."))
    a.foobar.value = 1
    b.foobar.value = 2
    #expect(a.foobar.value == 1 && b.foobar.value == 2)
    #expect(try bench.defaults().names() == ["a.foobar", "b.foobar"])
  }

  @Test func `B7 what Foundation writes reads back typed, and the other way round`() throws {
    let bench = try Bench()
    try OtherProcess.run("foundation-set", bench, "count", "41")
    let defaults = try bench.defaults()
    #expect(try defaults.value(of: Int.self, forKey: "count") == 41)
    try defaults.setValue(Profile(), forKey: "profile")
    try defaults.setValue(Theme.dark, forKey: "theme")
    // Native structure, not opaque data, also for top-level scalars.
    #expect(try defaults.load("profile") == .dictionary(["name": .string("Ada"), "tags": .array([.string("x")])]))
    #expect(try defaults.load("theme") == .string("dark"))
    try defaults.synchronize()
    let list = try PropertyListSerialization.propertyList(
      from: Data(contentsOf: URL(filePath: defaults.place)), format: nil)
    let values = try #require(list as? [String: Any])
    #expect((values["profile"] as? [String: Any])?["name"] as? String == "Ada")
    #expect(values["count"] as? Int == 41)
  }

  @Test func `B8 clear removes what has the instance's prefix, and nothing else`() throws {
    let bench = try Bench()
    let (a, b) = (try storage(bench, prefix: "a."), try storage(bench, prefix: "b."))
    a.foobar.value = 1
    b.foobar.value = 2
    try bench.defaults().setValue(3, forKey: "plain")
    try a.clear()
    #expect(a.foobar.value == nil && b.foobar.value == 2)
    #expect(try bench.defaults().names() == ["b.foobar", "plain"])
  }

  @Test func `B9 a container is one value, handed around apart from its storage`() throws {
    func increment(_ container: KeyValueContainer<Int>) { container.value = (container.value ?? 0) + 1 }
    let bench = try Bench()
    let container = KeyValueContainer<Int>(storage: try storage(bench), key: "n")
    increment(container)
    increment(container)
    #expect(container.value == 2 && container.key == "n")
    try container.mutate { $0 = ($0 ?? 0) + 40 }
    #expect(try bench.defaults().load("n") == .integer(42))
  }

  @Test func `B10 a container's default is read while nothing is stored`() throws {
    let bench = try Bench()
    let storage = try storage(bench)
    #expect(storage.profile.value == Profile())
    #expect(try storage.store.names() == [])
    storage.profile.value = Profile(name: "Bob")
    #expect(storage.profile.value?.name == "Bob")
    storage.profile.value = nil
    #expect(storage.profile.value == Profile())
  }

  @Test func `B11 a container's type is fixed`() throws {
    // `container.value = "Text"` does not compile: ForbiddenProgramTests. A stored value of another type is not an absent
    // one.
    let bench = try Bench()
    let storage = try storage(bench)
    try storage.setValue("Text", forKey: "foobar")
    try expect(.undecodable(stored: "string")) { _ = try storage.foobar.load() }
    #expect(try storage.value(of: String.self, forKey: "foobar") == "Text")
  }

  @Test func `B12 a container takes the name of its computed property`() throws {
    let bench = try Bench()
    let storage = try storage(bench)
    #expect(storage.foobar.key == "foobar" && storage.profile.key == "profile")
  }

  @Test func `B13 a container is declared in an extension, where a second of the name does not compile`() throws {
    let bench = try Bench()
    let storage = try storage(bench)
    storage.foobar.value = 5
    #expect(storage.foobar.value == 5)
    #expect(try bench.defaults().load("foobar") == .integer(5))
  }

  @Test func `B14 a key may be written out`() throws {
    let bench = try Bench()
    let storage = try storage(bench)
    storage.renamed.value = 6
    #expect(storage.foobar.value == 6)
  }

  @Test func `B15 a renamed key takes its value along`() throws {
    let bench = try Bench()
    try storage(bench).setValue(7, forKey: "user_toogle")
    let key = StorageKey("user_toggle", default: 0).renamed(from: "user_toogle")
    let app = try bench.app(Space(key))
    #expect(try app.value(for: key) == 7)
    #expect(app.migrations.done == [Migration(key: "user_toggle", .renamed(from: "user_toogle"))])
    #expect(try bench.defaults().names() == ["user_toggle"])
  }

  @Test func `B16 of two properties of one name in two files the second is refused`() throws {
    let bench = try Bench()
    let storage = try storage(bench)
    storage.hidden.value = 3
    for _ in 0..<2 {
      let error = try expect(.duplicateKey) { try OtherFile.hidden(of: storage).save(9) }
      #expect(error.what.contains("RowsB.swift:") && error.what.contains("HiddenContainer.swift:"))
    }
    #expect(try storage.hidden.load() == 3)
    // Another instance on the same suite is the same storage; another prefix, another suite and memory are not.
    let again = try self.storage(bench)
    try expect(.duplicateKey) { _ = try OtherFile.hidden(of: again).load() }
    let other = try PersistentStorage(suiteName: storage.suiteName, keyPrefix: "other.", in: bench.places.defaults)
    OtherFile.hidden(of: other).value = 4
    #expect(try OtherFile.hidden(of: other).load() == 4)
    // A property may make its container in two places.
    let places: [KeyValueContainer<Int>] = [5, 7].map { storage.makeContainer(property: "both", fileID: "A/A.swift", line: $0) }
    try places[0].save(5)
    #expect(try places[1].load() == 5)
    let text: KeyValueContainer<String> = storage.makeContainer(property: "both", fileID: "A/A.swift", line: 9)
    try expect(.duplicateKey) { try text.save("x") }
    for _ in 0..<3 {
      let (one, two) = (MemoryStore<Plain>(), MemoryStore<Plain>())
      let containers: [KeyValueContainer<Int>] = [
        one.makeContainer(property: "n", fileID: "A/A.swift", line: 1),
        two.makeContainer(property: "n", fileID: "B/B.swift", line: 1),
      ]
      for container in containers { try container.save(1) }
    }
  }

  @Test func `B16 a derived name that is none is refused instead of shared`() throws {
    struct Stored {
      let first: KeyValueContainer<Int>
      init(_ storage: PersistentStorage) { first = storage.makeContainer() }
    }
    func inFunction(_ storage: PersistentStorage) -> KeyValueContainer<Int> { storage.makeContainer() }
    let bench = try Bench()
    let storage = try storage(bench)
    for container in [Stored(storage).first, inFunction(storage), storage.makeContainer(property: "Settings")] {
      let error = try expect(.invalidName) { try container.save(1) }
      #expect(error.what.contains("RowsB.swift:"))
      try expect(.invalidName) { _ = try container.load() }
    }
    #expect(try storage.store.names() == [])
  }
}
