internal import CCofferAllocations
internal import Coffer
internal import CofferValues
internal import CofferStorage
internal import Foundation
internal import SystemPackage

/// The costs of handles, operators and handlers over those of the stores beneath.
enum ValuesBenchmark {
  private struct Window: Codable, PlainValue { var width = 800, height = 600, title = "Untitled document, in several words" }
  private struct Keys: KeySpace {
    let launches = StorageKey("launches", default: 0)
    let title = StorageKey("title", default: "")
    let window = StorageKey("window", default: Window())
  }
  /// More keys than any program has.
  private struct ManyKeys: KeySpace {
    let keys: [StorageKey<Int, Plain>]
    var declaredKeys: [any DeclaredKey] { keys }
  }
  private final class Owner: Sendable {}

  static func run(in folder: String) throws {
    let store = try DefaultsStore.open(domain: "values", in: FilePath(folder))
    let app = try StorageRouter(plain: store, vault: MemoryStore<Vault>(), keys: Keys())
    try app.set(41, for: Keys().launches)
    try app.set("a title that needs a block of its own", for: Keys().title)
    try app.set(Window(), for: Keys().window)
    try reads(store, app)
    try declared(store)
    try handler()
    try allocations(store, app)
  }

  private static func reads(_ store: DefaultsStore, _ app: StorageRouter) throws {
    let keys = Keys()
    let handle = app.persistedValue(for: keys.launches)
    let chain = store.persistedValue(forKey: "launches").codable(Int.self).default(0)
    let erased = chain.eraseToAnyPersistedValue()
    try Measure.table(
      "get of an integer among few keys",
      rounds: 15,
      [
        Contender(name: "router, value(for:)", count: 50_000, goals: [.times(2)]) { _ in use(try app.value(for: keys.launches)) },
        Contender(name: "handle, load()", count: 50_000) { _ in use(try handle.load()) },
        Contender(name: ".codable.default, wrappedValue", count: 50_000) { _ in use(chain.wrappedValue) },
        Contender(name: "the same, erased", count: 50_000) { _ in use(erased.wrappedValue) },
        Contender(name: "plain store, load(_:)", count: 50_000) { _ in use(try store.load("launches")) },
      ])
  }

  private static func declared(_ store: DefaultsStore) throws {
    let many = ManyKeys(keys: (0..<100_000).map { StorageKey("key.\($0)", default: 0) })
    let crowded = try StorageRouter(plain: store, vault: MemoryStore<Vault>(), spaces: [many])
    let alone = try StorageRouter(plain: store, vault: MemoryStore<Vault>(), spaces: [ManyKeys(keys: [many.keys[7]])])
    let (first, other) = (many.keys[5], many.keys[7])
    try Measure.table(
      "get of a key that is one of as many declared",
      rounds: 15,
      [
        Contender(name: "router with 100 000 keys", count: 50_000, goals: [.times(1.2)]) { _ in
          use(try crowded.value(for: first))
        },
        Contender(name: "router with 1 key", count: 50_000) { _ in use(try alone.value(for: other)) },
      ])
  }

  private static func handler() throws {
    let handler = Handler<Int>()
    let owners = (0..<1_000).map { _ in Owner() }
    nonisolated(unsafe) var calls = 0
    for owner in owners { handler.add(owner) { calls += $0 } }
    try Measure.table(
      "trigger of a handler",
      rounds: 15,
      [
        Contender(name: "1 000 owners", count: 200, goals: [.microseconds(100)]) { _ in handler.trigger(1) },
        Contender(name: "1 000 calls of a closure", count: 200) { _ in for _ in owners { calls += 1 } },
      ])
    withExtendedLifetime(owners) {}
  }

  /// A read's requests to malloc, counted by the malloc of ``CCofferAllocations``, which precedes the C library's.
  private static func allocations(_ store: DefaultsStore, _ app: StorageRouter) throws {
    guard coffer_counts_allocations() else { return print("\nallocations: not counted with this C library") }
    print("\nallocations of a read, counted by an interposed malloc")
    let keys = Keys()
    func compare<Value>(
      _ what: String, _ key: StorageKey<Value, Plain>, _ chain: some PersistedValue<Value>
    ) throws {
      let direct = try count { use(try store.value(for: key)) }, chained = try count { use(try chain.load()) }
      let wrapped = try count { use(chain.wrappedValue) }
      let verdict = chained <= direct && wrapped <= direct ? "" : "  ✗ missed"
      print("  \(Measure.padded(what)) key alone \(direct), chain \(chained), wrappedValue \(wrapped)   ≤ key alone\(verdict)")
    }
    try compare("Int, .codable.default", keys.launches, store.persistedValue(forKey: "launches").codable(Int.self).default(0))
    try compare("String, .string.default", keys.title, store.persistedValue(forKey: "title").string().default(""))
    try compare(
      "Codable struct, .codable.default", keys.window,
      store.persistedValue(forKey: "window").codable(Window.self).default(Window()))
    // The decoding itself allocates here: every read decodes a class anew.
    try compare(
      "decoded anew, .codable.default", StorageKey("window", default: Boxed()),
      store.persistedValue(forKey: "window").codable(Boxed.self).default(Boxed()))
    let erased = store.persistedValue(forKey: "launches").codable(Int.self).default(0).eraseToAnyPersistedValue()
    try compare("Int, erased", keys.launches, erased)
  }

  private final class Boxed: PlainValue {
    let title: String
    init() { title = "" }
    init?(plainForm: PlainForm) {
      guard case .dictionary(let fields) = plainForm, case .string(let title)? = fields["title"] else { return nil }
      self.title = title
    }
    func plainForm() -> PlainForm { .dictionary(["title": .string(title)]) }
  }

  /// Blocks per operation, the minimum of some rounds: a fold or a first use now and then asks for more.
  private static func count(_ body: () throws -> Void) throws -> Double {
    var least = Double.infinity
    for _ in 0..<10 {
      let before = coffer_allocations()
      for _ in 0..<1_000 { try body() }
      least = min(least, Double(coffer_allocations() - before) / 1_000)
    }
    return least
  }
}
