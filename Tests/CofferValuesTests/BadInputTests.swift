internal import CofferTestSupport
internal import Coffer
internal import CofferStorage
internal import CofferValues
internal import Foundation
internal import Testing

@Suite struct BadInputTests {
  private struct Failed: Error {}

  @Test func `a plain handle reports a stored value of the wrong type, and reads what it read before`() throws {
    let store = MemoryStore<Plain>()
    let failures = Collected<StoreError>()
    let number = store.persistedValue(forKey: "n").integer().default(7).onFailure { failures.add($0) }
    try store.save(.string("many"), for: "n")
    #expect(number.wrappedValue == 7)
    number.wrappedValue = 5
    #expect(number.wrappedValue == 5)
    try store.save(.array([]), for: "n")
    #expect(number.wrappedValue == 5)
    #expect(failures.all.map(\.kind) == [.undecodable(stored: "string"), .undecodable(stored: "array")])
    #expect(try store.load("n") == .array([]))
  }

  @Test func `a failure that nobody takes is handed to the common handler`() throws {
    let store = MemoryStore<Plain>()
    try store.save(.array([]), for: "unhandled")
    let owner = Owner(), failures = Collected<StoreError>()
    ValueFailures.handler.add(owner) { failures.add($0) }
    #expect(store.persistedValue(forKey: "unhandled").string().wrappedValue == nil)
    #expect(failures.all.contains { $0.key == "unhandled" })
  }

  @Test func `a struct that does not decode names the field, not the value`() throws {
    struct Window: Codable, PlainValue { var width = 1 }
    let store = MemoryStore<Plain>()
    try store.save(.dictionary(["width": .string("the-value")]), for: "w")
    let error = try #require(throws: StoreError.self) { try store.persistedValue(forKey: "w").codable(Window.self).load() }
    #expect("\(error)".contains("width") && !"\(error)".contains("the-value"))
  }

  @Test func `a locked vault is no nil behind wrappedValue`() throws {
    let bench = try Bench()
    let failures = Collected<StoreError>()
    let strict = bench.vault.persistedValue(forKey: "token").string()
    let token = strict.onFailure(use: nil) { failures.add($0) }
    token.wrappedValue = "hush"
    #expect(token.wrappedValue == "hush")
    try bench.vault.lock()
    try expect(.locked) { _ = try strict.load() }
    #expect(failures.all.isEmpty)
    // Nothing of the secret outlives the lock, and the program has been told why it gets nil.
    #expect(token.wrappedValue == nil)
    token.wrappedValue = "lost"
    #expect(failures.all.map(\.kind) == [.locked, .locked])
    let named = strict.onFailure(use: "locked") { failures.add($0) }
    #expect(named.wrappedValue == "locked")
    try bench.unlock()
    #expect(token.wrappedValue == "hush")
  }

  @Test func `an encoder that fails leaves the stored value alone behind every operator`() throws {
    struct Fragile: Codable, PlainValue, Equatable {
      var text = "fine"
      func encode(to encoder: any Encoder) throws {
        if text == "broken" { throw Failed() }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(text, forKey: .text)
      }
    }
    let store = MemoryStore<Plain>()
    let failures = Collected<StoreError>()
    let value = store.persistedValue(forKey: "f").codable(Fragile.self).default(Fragile()).onFailure { failures.add($0) }
    value.wrappedValue = Fragile(text: "kept")
    value.wrappedValue = Fragile(text: "broken")
    value.text.wrappedValue = "broken"
    try expect(.unencodable) { try value.mutate { $0.text = "broken" } }
    #expect(value.wrappedValue.text == "kept")
    #expect(failures.all.map(\.kind) == [.unencodable, .unencodable])
  }

  @Test func `an observer that blocks delays no writer`() throws {
    let store = MemoryStore<Plain>()
    let number = store.persistedValue(forKey: "n").integer().default(0).subject()
    let owner = Owner(), gate = DispatchSemaphore(value: 0), seen = Collected<Int>()
    try number.observe(owner) { value in
      if value > 0 { gate.wait() }
      seen.add(value)
    }
    for value in 1...50 { try number.save(value) }
    #expect(try number.load() == 50 && seen.all == [0])
    for _ in 0..<100 { gate.signal() }
    eventually { seen.all.last == 50 }
  }

  @Test func `an observer may write, observe and cancel itself`() throws {
    let store = MemoryStore<Plain>()
    let number = store.persistedValue(forKey: "n").integer().default(0)
    let subject = number.subject()
    let (owner, other) = (Owner(), Owner()), seen = Collected<Int>(), cancellers = Collected<Handler<Void>.Canceller>()
    let cancel = try subject.observe(owner) { value in
      seen.add(value)
      guard value == 1 else { return }
      number.wrappedValue = 2
      do { try subject.observe(other) { _ in } } catch { Issue.record(error) }
      for cancel in cancellers.all { cancel() }
    }
    cancellers.add(cancel)
    try subject.save(1)
    try eventually { try number.load() == 2 }
    try subject.save(3)
    try eventually { try number.load() == 3 }
    #expect(seen.all.first == 0 && seen.all.filter { $0 == 3 }.isEmpty)
  }

  @Test func `an observer that is deallocated during a trigger is not called`() {
    final class Holder: Sendable {
      let lock = NSLock()
      nonisolated(unsafe) var owner: Owner? = Owner()
      func release() { lock.withLock { owner = nil } }
    }
    let handler = Handler<Int>()
    let holder = Holder(), first = Owner(), seen = Collected<String>()
    handler.add(first) { _ in
      seen.add("first")
      holder.release()
    }
    if let owner = holder.owner { handler.add(owner) { _ in seen.add("second") } }
    handler.trigger(1)
    #expect(seen.all == ["first"])
  }

  @Test func `what an observer throws is its own to catch, and ends no delivery`() throws {
    // By its type an observer's closure cannot throw. An error that it catches does not affect the next one.
    let handler = Handler<Int>()
    let (one, two) = (Owner(), Owner()), seen = Collected<Int>()
    handler.add(one) { _ in do { throw Failed() } catch { seen.add(-1) } }
    handler.add(two) { seen.add($0) }
    handler.trigger(5)
    #expect(seen.all == [-1, 5])
  }

  @Test func `two key spaces with one name are refused, with both places`() throws {
    struct First: KeySpace { let theme = StorageKey("theme", default: 1) }
    struct Second: KeySpace { let theme = StorageKey("theme", secret: String.self) }
    let error = try expect(.duplicateKey) { _ = try StorageRouter.inMemory(keys: First(), Second()) }
    #expect(error.what.contains("\(First().theme.site)") && error.what.contains("\(Second().theme.site)"))
    let router = try StorageRouter.inMemory(keys: First())
    try expect(.undeclared) { _ = try router.persistedValue(for: Second().theme).load() }
  }

  @Test func `a Coffer call inside mutate throws instead of waiting for itself`() throws {
    let bench = try Bench()
    let number = try bench.defaults().persistedValue(forKey: "n").integer().default(0)
    try expect(.reentrant) { try number.mutate { _ in _ = try number.load() } }
    let closures = AnyPersistedValue(get: { 1 }, set: { _ in }).atomic()
    try expect(.reentrant) { try closures.mutate { _ in try closures.mutate { _ in } } }
  }

  @Test(.tags(.process), .defaultRun)
  func `an atomic value that is written inside its own write throws, from mutate and from an observer`() async {
    await #expect(processExitsWith: .success) { try Self.writeInsideWrites() }
  }

  private static func writeInsideWrites() throws {
    let written = Collected<Int>(), refusals = Collected<StoreError>(), owner = Owner()
    let value = AnyPersistedValue(get: { written.all.last ?? 1 }, set: { written.add($0) })
    let alone = value.atomic()
    try expect(.reentrant) { try alone.mutate { _ in try alone.save(5) } }
    #expect(written.all.isEmpty)

    let told = value.subject(), outer = told.atomic()
    try told.observe(owner) { seen in
      guard seen == 7 else { return }
      do throws(StoreError) { try outer.save(0) } catch { refusals.add(error) }
    }
    try outer.save(7)
    #expect(refusals.all.map(\.kind) == [.reentrant] && written.all == [7])

    let inner = value.atomic(), late = inner.subject()
    try late.observe(owner) { seen in
      guard seen == 8 else { return }
      do throws(StoreError) { try inner.save(9) } catch { refusals.add(error) }
    }
    try late.save(8)
    #expect(refusals.all.count == 1 && written.all == [7, 8, 9])
  }

  @Test func `a property wrapper reads and writes its key`() throws {
    enum Theme: String, PlainValue { case light, dark }
    struct Keys: KeySpace { let theme = StorageKey("theme", default: Theme.light) }
    final class Settings {
      @Persisted var theme: Theme
      @Persisted var token: String?
      init(_ app: StorageRouter, _ vault: any DecidingStore) {
        _theme = Persisted(Keys().theme, in: app)
        _token = Persisted(vault.persistedValue(forKey: "token").string().onFailure(use: nil) { Issue.record($0) })
      }
    }
    let bench = try Bench()
    let settings = try Settings(bench.app(Keys()), bench.vault)
    settings.theme = .dark
    settings.token = "hush"
    #expect(settings.theme == .dark && settings.token == "hush")
    #expect(try bench.defaults().load("theme") == .string("dark"))
    #expect(try bench.vault.names() == ["token"])
    let seen = Collected<Theme>(), owner = Owner()
    try settings.$theme.subject().observe(owner) { seen.add($0) }
    #expect(seen.all == [.dark])
  }

  @Test func `names that Unicode holds for one are two in the vault, in memory as on disk`() throws {
    let bench = try Bench()
    let stores: [any DecidingStore] = [bench.vault, MemoryStore<Vault>()]
    for store in stores {
      let names = ["\u{E9}", "e\u{301}"]
      for (number, name) in names.enumerated() { try store.save(SecretForm(Bench.secret("\(number)")), for: name) }
      #expect(try store.names().map { Array($0.utf8) }.sorted { $0.count < $1.count } == names.map { Array($0.utf8) })
      for (number, name) in names.enumerated() {
        let found = try store.load(name)?.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        #expect(found == "\(number)", "\(store.place)")
      }
    }
  }

  @Test func `numbers that JSON has no word for are stored by keys of either kind`() throws {
    struct Keys: KeySpace {
      let plain = StorageKey("plain", default: [0.0])
      let secret = StorageKey("secret", vaulted: [Double].self)
    }
    let bench = try Bench(), keys = Keys()
    let app = try bench.app(keys)
    let numbers = [Double.nan, .infinity, -.infinity, 1.5]
    try app.set(numbers, for: keys.plain)
    try app.set(numbers, for: keys.secret)
    for found in [try app.value(for: keys.plain), try app.value(for: keys.secret) ?? []] {
      #expect(found.count == 4 && found.first?.isNaN == true && Array(found.dropFirst()) == Array(numbers.dropFirst()))
    }
  }

  @Test func `a date stored as seconds reads back as it was set, and one that was stored as a date is read`() throws {
    struct Keys: KeySpace {
      let seen = StorageKey("seen", default: Date.distantPast).storedAsSeconds()
      let due = StorageKey("due", of: Date.self).storedAsSeconds().renamed(from: "deadline")
      let old = StorageKey("old", default: Date.distantPast).storedAsSeconds()
    }
    let bench = try Bench(), keys = Keys()
    try bench.defaults().save(.date(Date(timeIntervalSinceReferenceDate: 7)), for: "old")
    try bench.defaults().save(.date(Date(timeIntervalSinceReferenceDate: 8)), for: "deadline")
    let app = try bench.app(keys)
    #expect(try app.value(for: keys.old) == Date(timeIntervalSinceReferenceDate: 7))
    #expect(try app.value(for: keys.due) == Date(timeIntervalSinceReferenceDate: 8))
    for date in [Date(), Date(timeIntervalSinceReferenceDate: 800_000_000.987654), .distantPast] {
      try app.set(date, for: keys.seen)
      try app.set(date, for: keys.due)
      let store = try bench.defaults()
      try store.synchronize()
      #expect(try store.load("seen") == .real(date.timeIntervalSinceReferenceDate))
      let again = try bench.app(keys)
      #expect(try again.value(for: keys.seen) == date && again.value(for: keys.due) == date)
    }
    try app.set(nil, for: keys.due)
    #expect(try app.value(for: keys.due) == nil)
    try bench.defaults().save(.string("soon"), for: "seen")
    try expect(.undecodable(stored: "string")) { _ = try app.value(for: keys.seen) }
  }

  @Test func `a date of a former type becomes a number of seconds, in whichever order its key says both, and has its limit`()
    throws
  {
    let convert: @Sendable (String) throws -> Date = { text in
      guard let seconds = Double(text) else { throw CancellationError() }
      return Date(timeIntervalSinceReferenceDate: seconds)
    }
    let one = StorageKey("one", default: Date.distantPast).upgraded(from: String.self, using: convert).storedAsSeconds()
    let two = StorageKey("two", default: Date.distantPast).storedAsSeconds().upgraded(from: String.self, using: convert)
    let three = StorageKey("three", of: Date.self).upgraded(from: String.self) { try convert($0) }.storedAsSeconds()
    let bench = try Bench(), date = Date(timeIntervalSinceReferenceDate: 7.5)
    for name in ["one", "two", "three"] { try bench.defaults().save(.string("7.5"), for: name) }
    let app = try bench.app(Space(one), Space(two), Space(three))
    #expect(app.migrations.done.map(\.change) == [.upgraded, .upgraded, .upgraded])
    #expect(try app.value(for: one) == date && app.value(for: two) == date && app.value(for: three) == date)
    for name in ["one", "two", "three"] { #expect(try bench.defaults().load(name) == .real(7.5)) }
    #expect(try bench.app(Space(one), Space(two), Space(three)).migrations.done == [])
    // A number belongs to the current type, even if a former type stored numbers.
    let number = StorageKey("one", default: Date.distantPast).upgraded(from: Double.self) { Date(timeIntervalSince1970: $0) }
    #expect(try bench.app(Space(number.storedAsSeconds())).migrations.done == [])
    let short = StorageKey("short", default: Date.distantPast).limited(toBytes: 4).storedAsSeconds()
    try expect(.tooLarge(limit: 4)) { try bench.app(Space(short)).set(date, for: short) }
  }
}
