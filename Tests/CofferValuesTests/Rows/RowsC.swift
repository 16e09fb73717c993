internal import CofferTestSupport
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferValues
internal import Foundation
internal import Testing

// PersistedValue.

private struct Token: Codable, Equatable { var access = "hush", refresh: String? }
private struct Model: Codable, PlainValue, Equatable { var name = "Ada", nickname: String?, age = 36 }
private enum Locked: Error { case mustNotHappen }

/// A view model's dependencies: it knows names and types, but not the stores.
private protocol PersistedValuesServiceProtocol: Sendable {
  var userToggle: AnyPersistedValue<Bool> { get }
  var userId: AnyPersistedValue<String?> { get }
  var token: PersistedValues.Subject<Token?> { get }
}

private struct PersistedValuesService: PersistedValuesServiceProtocol {
  let userToggle: AnyPersistedValue<Bool>
  let userId: AnyPersistedValue<String?>
  let token: PersistedValues.Subject<Token?>

  init(keychain: any DecidingStore, userDefaults: any LayeredStore, onFailure: @escaping @Sendable (StoreError) -> Void) {
    userToggle = userDefaults.persistedValue(forKey: "user_toogle").bool().default(false).eraseToAnyPersistedValue()
    userId = keychain.persistedValue(forKey: "user_id").string().onFailure(use: nil, onFailure).eraseToAnyPersistedValue()
    token = keychain.persistedValue(forKey: "token").codable(Token.self).onFailure(use: nil, onFailure).subject()
  }
}

private struct SettingsViewModel {
  let service: any PersistedValuesServiceProtocol
  func logOut() { service.userId.wrappedValue = nil }
}

@Suite struct RowsC {
  private func service(_ bench: Bench, _ failures: Collected<StoreError> = Collected()) throws -> PersistedValuesService {
    try PersistedValuesService(keychain: bench.vault, userDefaults: bench.defaults()) { failures.add($0) }
  }

  @Test func `C1 one handle API over the plain store, a cache and the vault`() throws {
    let bench = try Bench()
    let values: [AnyPersistedValue<String?>] = [
      try bench.defaults().persistedValue(forKey: "name").string().eraseToAnyPersistedValue(),
      CacheStore<Plain>(limit: 4).persistedValue(forKey: "name").string().eraseToAnyPersistedValue(),
      bench.vault.persistedValue(forKey: "name").string().onFailure(use: nil) { Issue.record($0) }.eraseToAnyPersistedValue(),
    ]
    for value in values {
      #expect(value.wrappedValue == nil)
      value.wrappedValue = "Ada"
      #expect(value.wrappedValue == "Ada")
    }
    #expect(try bench.vault.names() == ["name"])
  }

  @Test func `C2 a handle reads and writes through wrappedValue`() throws {
    let bench = try Bench()
    let handle = try bench.defaults().persistedValue(forKey: "model").codable(Model.self)
    #expect(handle.wrappedValue == nil)
    handle.wrappedValue = Model()
    #expect(handle.wrappedValue == Model())
    #expect(try handle.load() == Model())
  }

  @Test func `C3 operators chain`() throws {
    let bench = try Bench()
    let lines = Lines()
    let defaults = try bench.defaults()
    let model = defaults.persistedValue(forKey: "model").codable(Model.self).default(Model()).print(to: lines)
      .eraseToAnyPersistedValue()
    model.wrappedValue.age += 1
    #expect(model.wrappedValue.age == 37)
    #expect(lines.all.count == 3)
    #expect(defaults.persistedValue(forKey: "flag").bool().subject().wrappedValue == nil)
  }

  @Test func `C4 a default takes the optional away`() throws {
    let bench = try Bench()
    let count: PersistedValues.Default = try bench.defaults().persistedValue(forKey: "n").integer().default(3)
    let value: Int = count.wrappedValue
    #expect(value == 3)
    count.wrappedValue = 4
    #expect(try bench.defaults().load("n") == .integer(4))
  }

  @Test func `C5 keys are written out as the store's names`() throws {
    let bench = try Bench()
    let service = try service(bench)
    service.userToggle.wrappedValue = true
    service.userId.wrappedValue = "u1"
    service.token.wrappedValue = Token()
    #expect(try bench.defaults().names() == ["user_toogle"])
    #expect(try bench.vault.names() == ["token", "user_id"])
  }

  @Test func `C6 a service decides once which store has what`() throws {
    let bench = try Bench()
    let failures = Collected<StoreError>()
    let service = try service(bench, failures)
    service.userToggle.wrappedValue = true
    service.token.wrappedValue = Token()
    let again = try self.service(bench)
    #expect(again.userToggle.wrappedValue && again.token.wrappedValue == Token())
    #expect(try !bench.plainBytes().contains(Data("hush".utf8)))
    #expect(failures.all.isEmpty)
  }

  @Test func `C7 a subject is a value that tells of its changes, by whichever handle`() throws {
    let bench = try Bench()
    let token = try service(bench).token
    let owner = Owner(), seen = Collected<String?>()
    try token.observe(owner) { seen.add($0?.access) }
    try service(bench).token.save(Token(access: "new"))
    eventually { seen.all.last == "new" }
    #expect(seen.all.first == .some(nil))
  }

  @Test func `C8 logging out sets nil, which removes`() throws {
    let bench = try Bench()
    let service = try service(bench)
    service.userId.wrappedValue = "u1"
    SettingsViewModel(service: service).logOut()
    #expect(service.userId.wrappedValue == nil)
    #expect(try bench.vault.names() == [])
  }

  @Test func `C8 on a locked vault a logout is reported and changes nothing, and nobody is taken for logged out`() throws {
    let bench = try Bench()
    let failures = Collected<StoreError>()
    let userId = bench.vault.persistedValue(forKey: "user_id").string().onFailure(use: "unknown") { failures.add($0) }
      .eraseToAnyPersistedValue()
    userId.wrappedValue = "u1"
    try bench.vault.lock()
    userId.wrappedValue = nil
    #expect(failures.all.map(\.kind) == [.locked])
    // A locked vault's substitute value is declared with the handle: otherwise it does not compile (ForbiddenProgramTests).
    #expect(userId.wrappedValue == "unknown" && failures.all.count == 2)
    try expect(.locked) { _ = try userId.load() }
    try expect(.locked) { try userId.save(nil) }
    try bench.unlock()
    #expect(userId.wrappedValue == "u1")
    userId.wrappedValue = nil
    #expect(try userId.load() == nil && failures.all.count == 2)
  }

  @Test func `C9 an initializer takes any handle and erases it`() throws {
    struct ViewModel {
      let userId: AnyPersistedValue<String?>
      init<PV: PersistedValue>(userId: PV) where PV.Value == String? { self.userId = userId.eraseToAnyPersistedValue() }
    }
    let bench = try Bench()
    let plain = ViewModel(userId: try bench.defaults().persistedValue(forKey: "a").string())
    let memory = ViewModel(userId: MemoryStore<Plain>().persistedValue(forKey: "a").string())
    for model in [plain, memory] {
      model.userId.wrappedValue = "u1"
      #expect(model.userId.wrappedValue == "u1")
    }
  }

  @Test func `C12 optional, integer, text in an encoding, and own coders`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    let wrapped = defaults.persistedValue(forKey: "n").integer().default(1).optional()
    wrapped.wrappedValue = nil
    #expect(wrapped.wrappedValue == .some(1))
    wrapped.wrappedValue = 2
    #expect(try defaults.load("n") == .integer(2))
    // An older program's decimal text is read.
    try defaults.save(.string("41"), for: "text")
    #expect(defaults.persistedValue(forKey: "text").integer(Int.self).wrappedValue == 41)
    let count = bench.vault.persistedValue(forKey: "count").integer(UInt8.self)
    try count.save(200)
    #expect(try bench.vault.load("count")?.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } == "200")
    let utf16 = defaults.persistedValue(forKey: "utf16").string(using: .utf16)
    utf16.wrappedValue = "é"
    #expect(utf16.wrappedValue == "é")
    #expect(try defaults.load("utf16")?.kindName == "data")
    let json = defaults.persistedValue(forKey: "json").codable(Model.self, encoder: JSONEncoder(), decoder: JSONDecoder())
    json.wrappedValue = Model()
    #expect(json.wrappedValue == Model())
    #expect(try defaults.load("json")?.kindName == "data")
  }

  @Test func `C13 map, compactMap, merge, atomic and print`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    let number = defaults.persistedValue(forKey: "n").integer().default(0)
    let text = number.map(transform: { "\($0)" }, untransform: { Int($0) ?? -1 })
    text.wrappedValue = "7"
    #expect(number.wrappedValue == 7 && text.wrappedValue == "7")
    let digits = number.compactMap(transform: { "\($0)" }, untransform: { Int($0) })
    digits.wrappedValue = "many"
    #expect(number.wrappedValue == 7)

    let local = defaults.persistedValue(forKey: "local").string()
    let shared = try bench.defaults("shared").persistedValue(forKey: "local").string()
    let merged = local.merge(with: shared) { $0 ?? $1 }
    shared.wrappedValue = "theirs"
    #expect(merged.wrappedValue == "theirs")
    merged.wrappedValue = "both"
    #expect(local.wrappedValue == "both" && shared.wrappedValue == "both")
    let alone = local.merge(with: PersistedValues.Stored<String?, Plain>?.none) { $0 ?? $1 }
    #expect(alone.wrappedValue == "both")

    let lines = Lines()
    let printed = number.print("n", to: lines)
    printed.wrappedValue = 8
    _ = printed.wrappedValue
    #expect(lines.all == ["n: set value: (8)", "n: get value: (8)"])
    #expect(number.atomic().wrappedValue == 8)
  }

  @Test func `C14 mutate reads, changes and writes`() throws {
    let bench = try Bench()
    let number = try bench.defaults().persistedValue(forKey: "n").integer().default(40)
    try number.mutate { $0 += 1 }
    try number.map(transform: { $0 * 10 }, untransform: { $0 / 10 }).mutate { $0 += 10 }
    #expect(number.wrappedValue == 42)
    #expect(throws: Locked.mustNotHappen) {
      try number.mutate { _ in throw Locked.mustNotHappen }
    }
    #expect(number.wrappedValue == 42)
  }

  @Test func `C15 a member of a value is a value`() throws {
    let bench = try Bench()
    let model = try bench.defaults().persistedValue(forKey: "model").codable(Model.self)
    let name: AnyPersistedValue<String?> = model.name
    name.wrappedValue = "ignored"
    #expect(model.wrappedValue == nil && name.wrappedValue == nil)
    model.wrappedValue = Model()
    name.wrappedValue = "Bob"
    #expect(model.wrappedValue?.name == "Bob")
    name.wrappedValue = nil
    #expect(model.wrappedValue?.name == "Bob")
    let nickname: AnyPersistedValue<String?> = model.nickname
    nickname.wrappedValue = "B"
    #expect(model.wrappedValue?.nickname == "B")
    nickname.wrappedValue = nil
    #expect(model.wrappedValue != nil && model.wrappedValue?.nickname == nil)
    let whole = model.default(Model())
    whole.age.wrappedValue = 37
    try whole.age.mutate { $0 += 1 }
    #expect(model.wrappedValue?.age == 38)
  }

  @Test func `C16 a bounded store evicts, and reports that as a change`() throws {
    let cache = CacheStore<Plain>(limit: 2)
    let owner = Owner(), seen = Collected<String?>()
    let first = cache.persistedValue(forKey: "first").string().subject()
    try first.observe(owner) { seen.add($0) }
    first.wrappedValue = "1"
    eventually { seen.all.contains("1") }
    cache.persistedValue(forKey: "second").string().wrappedValue = "2"
    #expect(first.wrappedValue == "1")  // used last, so the second goes first
    cache.persistedValue(forKey: "third").string().wrappedValue = "3"
    #expect(try cache.names() == ["first", "third"])
    cache.persistedValue(forKey: "fourth").string().wrappedValue = "4"
    eventually { seen.all.last == .some(nil) && seen.all.contains("1") }
    #expect(try cache.names() == ["fourth", "third"])
  }

  @Test func `C17 a subject emits the present value first, and then as its source says`() throws {
    let bench = try Bench()
    let owner = Owner()
    let external = Handler<Void>(), box = try bench.defaults().persistedValue(forKey: "n").integer()
    box.wrappedValue = 1
    let driven = Collected<Int?>()
    let subject = box.subject(didChange: external)
    try subject.observe(owner) { driven.add($0) }
    subject.wrappedValue = 2
    #expect(driven.all == [1])
    external.trigger()
    #expect(driven.all == [1, 2])

    let stored = Collected<Int>()
    let memory = AnyPersistedValue(get: { stored.all.last ?? 0 }, set: { stored.add($0) })
    let own = memory.subject(), seen = Collected<Int>()
    try own.observe(owner) { seen.add($0) }
    own.wrappedValue = 5
    own.wrappedValue = 6
    #expect(seen.all == [0, 5, 6])

    let made = try bench.defaults().persistedSubject(forKey: "n") { $0.integer() }
    #expect(made.wrappedValue == 2)
  }

  @Test func `C17 a stored subject follows each handle and process, and a driven one its source alone`() throws {
    let bench = try Bench()
    let owner = Owner(), stored = Collected<Int>(), driven = Collected<Int>(), external = Handler<Void>()
    let number = try bench.defaults().persistedValue(forKey: "n").integer().default(0)
    try number.subject().observe(owner) { stored.add($0) }
    try number.subject(didChange: external).observe(owner) { driven.add($0) }
    for step in 1...100 { try bench.defaults().persistedValue(forKey: "n").integer().save(step) }
    eventually { stored.all.last == 100 }
    // The store's changes are conflated; the owner gets them in order, and no value twice.
    #expect(stored.all.first == 0 && stored.all == stored.all.sorted() && Set(stored.all).count == stored.all.count)
    #expect(driven.all == [0])
    external.trigger()
    external.trigger()
    #expect(driven.all == [0, 100])
  }

  @Test func `C17 without a source beside it a subject emits on each set of another value`() throws {
    let stored = Collected<Int>(), owner = Owner(), seen = Collected<Int>()
    let own = AnyPersistedValue(get: { stored.all.last ?? 0 }, set: { stored.add($0) }).subject()
    try own.observe(owner) { seen.add($0) }
    for step in [1, 1, 2, 3, 3, 1] { own.wrappedValue = step }
    #expect(seen.all == [0, 1, 2, 3, 1] && stored.all.count == 6)
  }

  @Test func `C17 a subject's sequence begins with the present value`() async throws {
    let bench = try Bench()
    let number = try bench.defaults().persistedValue(forKey: "n").integer().default(0).subject()
    var values = try number.changes().makeAsyncIterator()
    #expect(try await values.next()?.get() == 0)
    number.wrappedValue = 1
    #expect(try await values.next()?.get() == 1)
  }

  @Test func `C18 a value of which nobody tells gives the present value and ends`() async throws {
    struct Silent: LayeredStore {
      let memory = MemoryStore<Plain>()
      var place: String { "silent" }
      func load(_ name: String) throws(StoreError) -> PlainForm? { try memory.load(name) }
      func load(_ names: [String]) throws(StoreError) -> [Reading<Plain>] { try memory.load(names) }
      func names() throws(StoreError) -> [String] { try memory.names() }
      func update(_ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?) throws(StoreError) {
        try memory.update(name, body)
      }
      func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) { try memory.commit(batch, decision: decision) }
    }
    var seen: [Int] = []
    for await value in try Silent().persistedValue(forKey: "n").integer().default(7).subject().changes() {
      seen.append(try value.get())
    }
    #expect(seen == [7])
  }

  @Test func `C20 a value is made of two closures`() throws {
    let written = Collected<Int>()
    let value = AnyPersistedValue(get: { written.all.last ?? 0 }, set: { written.add($0) })
    value.wrappedValue = 5
    try value.atomic().mutate { $0 += 1 }
    #expect(written.all == [5, 6] && value.wrappedValue == 6)
  }

  // MARK: The pitfalls

  @Test func `C pitfall: print shows no secret`() throws {
    let bench = try Bench()
    let lines = Lines()
    let token = bench.vault.persistedValue(forKey: "token").codable(Token.self).print("token", to: lines)
    try token.save(Token())
    _ = try token.load()
    let erased = token.onFailure(use: nil) { Issue.record($0) }.eraseToAnyPersistedValue().access.print(to: lines)
    #expect(erased.wrappedValue == "hush")
    #expect(lines.all == ["token: set value: (•••)", "token: get value: (•••)", "token: get value: (•••)", "get value: (•••)"])
  }

  @Test func `C pitfall: what does not decode is no default, and what does not encode deletes nothing`() throws {
    struct Stubborn: Codable, PlainValue {
      var fails = false
      func encode(to encoder: any Encoder) throws {
        if fails { throw Locked.mustNotHappen }
        var container = encoder.singleValueContainer()
        try container.encode("fine")
      }
      init(fails: Bool = false) { self.fails = fails }
      init(from decoder: any Decoder) throws { _ = try decoder.singleValueContainer().decode(String.self) }
    }
    let bench = try Bench()
    let defaults = try bench.defaults()
    try defaults.save(.string("many"), for: "n")
    try expect(.undecodable(stored: "string")) {
      _ = try defaults.persistedValue(forKey: "n").codable(Int.self).default(3).load()
    }
    #expect(try defaults.load("n") == .string("many"))
    let stubborn = defaults.persistedValue(forKey: "s").codable(Stubborn.self)
    try stubborn.save(Stubborn())
    try expect(.unencodable) { try stubborn.save(Stubborn(fails: true)) }
    #expect(try defaults.load("s") == .string("fine"))
  }

  @Test func `C pitfall: a boolean is a boolean`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    defaults.persistedValue(forKey: "flag").bool().wrappedValue = true
    #expect(try defaults.load("flag") == .bool(true))
  }

  @Test func `C pitfall: names of two services do not meet in one vault`() throws {
    let bench = try Bench()
    try bench.vault.persistedValue(forKey: "token").string().save("ours")
    try bench.vault.lock()
    let other = try VaultStore(
      service: "com.example.other", vault: bench.places.openVault().unlock(with: Bench.credentials()))
    #expect(try other.persistedValue(forKey: "token").string().load() == nil)
  }

  @Test func `C pitfall: no event follows a write that failed`() throws {
    let store = MemoryStore<Plain>()
    let text = store.persistedValue(for: StorageKey("t", of: String.self).limited(toBytes: 3)).subject()
    let owner = Owner(), seen = Collected<String?>()
    try text.observe(owner) { seen.add($0) }
    try expect(.tooLarge(limit: 3)) { try text.save("too long") }
    try text.save("ok")
    eventually { seen.all.last == "ok" }
    #expect(seen.all == [nil, "ok"])
  }

  @Test func `C pitfall: subjects of one key are each their own`() throws {
    let store = MemoryStore<Plain>()
    let (one, two) = (store.persistedValue(forKey: "a").string().subject(), store.persistedValue(forKey: "b").string().subject())
    let owner = Owner(), seen = Collected<String?>()
    try one.observe(owner) { seen.add($0) }
    try two.save("two")
    try one.save("one")
    eventually { seen.all.last == "one" }
    #expect(!seen.all.contains("two"))
  }

  @Test func `C pitfall: a default is worked out at the read`() throws {
    let current = Collected<Int>()
    current.add(1)
    let value = MemoryStore<Plain>().persistedValue(forKey: "n").integer().default(current.all.last ?? 0)
    let merged = value.merge(with: MemoryStore<Plain>().persistedValue(forKey: "n").integer().default(0)) { max($0, $1) }
    #expect(merged.wrappedValue == 1)
    current.add(2)
    #expect(merged.wrappedValue == 2)
  }

  @Test func `C pitfall: two handles on one key do not race`() async throws {
    let bench = try Bench()
    let stores = [try bench.defaults(), try bench.defaults()]
    await withTaskGroup(of: Void.self) { group in
      for store in stores {
        group.addTask {
          let handle = store.persistedValue(forKey: "n").integer().default(0)
          for _ in 0..<200 {
            do { try handle.mutate { $0 += 1 } } catch { Issue.record(error) }
          }
        }
      }
    }
    #expect(try bench.defaults().load("n") == .integer(400))
  }

  @Test func `C pitfall: values can be listed and removed`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    defaults.persistedValue(forKey: "a").string().wrappedValue = "1"
    #expect(try defaults.names() == ["a"])
    try defaults.removeAll()
    #expect(try defaults.names() == [])
  }
}
