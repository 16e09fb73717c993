import CofferPlatform
import CofferStorage
import Testing

@Suite
struct ErrorTextTests {
  struct Overridden: LayeredStore {
    let text: String
    var place: String { "/home/me/app.plist" }
    func load(_ name: String) -> PlainForm? { .argument(text) }
    func load(_ names: [String]) -> [Reading<Plain>] {
      names.map { _ in Reading(form: .argument(text), base: nil, stamp: nil, source: "the command line") }
    }
    func names() -> [String] { ["n"] }
    func update(_ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?) {}
    func commit(_ batch: Batch<Plain>, decision: Decision?) {}
  }

  @Test(arguments: [
    "evil\nINFO fine", "red\u{1b}[31m", "back\u{202e}txt", "two\u{2028}lines", "bom\u{feff}", "del\u{7f}", "cr\rlf",
  ])
  func `a refused name is spelled out on the error's one line`(name: String) {
    for error in [
      StoreError(.invalidName, "not a name: '\(name)'", key: name, place: "/tmp/\(name)", cure: "use another than \(name)"),
      StoreError(.io(5), "x", cure: "y", underlying: StoreError(.io(5), name, cure: name)),
    ] {
      let text = "\(error)"
      #expect(
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 && ![0x7F, 0x202E, 0x2028, 0xFEFF].contains($0.value) }, "\(text)")
      #expect(text.contains("\\u{"))
    }
    do {
      _ = try StorageRouter.inMemory(keys: One(StorageKey(name, default: 0)))
      #expect(!name.unicodeScalars.contains { $0.properties.generalCategory == .control })
    } catch { #expect(!"\(error)".contains(name)) }
  }

  struct One<V: Sendable>: KeySpace {
    let key: StorageKey<V, Plain>
    init(_ key: StorageKey<V, Plain>) { self.key = key }
  }

  @Test func `letters of all alphabets and emoji stay as they are`() {
    let error = StoreError(.notFound, "kein Schlüssel “ключ” 鍵 🔑", key: "é", cure: "lege ihn an")
    #expect("\(error)" == "key 'é': kein Schlüssel “ключ” 鍵 🔑; lege ihn an")
    // Joiners and variation selectors are part of these.
    let joined = StoreError(.notFound, "👩‍💻 ❤️ می‌خواهم", key: "k", cure: "x")
    #expect("\(joined)" == "key 'k': 👩‍💻 ❤️ می‌خواهم; x")
  }

  @Test(arguments: ["on", "off", "(a, b)", "1e400", "-1e400", "", "1.5"])
  func `an override that is no value of the key's type is told as one, with its place`(text: String) throws {
    let store = Overridden(text: text)
    let (number, flag) = (StorageKey("n", default: 1), StorageKey("n", default: true))
    let (real, list) = (StorageKey("n", default: 1.0), StorageKey("n", of: [String].self))
    let router = try StorageRouter(plain: store, vault: MemoryStore<Vault>(), keys: One(number))
    var errors = [
      error { try router.value(for: number) }, error { try store.value(for: flag) }, error { try store.value(for: list) },
    ]
    errors.append(error { try router.transaction { try $0.value(for: number) } })
    if text != "1.5" { errors.append(error { try store.value(for: real) }) }
    for (error, type) in zip(errors, ["an Int", "a Bool", "an Array<String>", "an Int", "a Double"]) {
      #expect(error?.what.hasPrefix("the override is not \(type)") == true, "\(String(describing: error))")
      #expect(error?.place == "the command line" && error?.key == "n")
      #expect(error?.cure.hasPrefix("give \(type) on the command line or in the environment") == true)
      #expect(error?.kind == .undecodable(stored: "argument"))
    }
  }

  private func error<Value>(_ body: () throws -> Value) -> StoreError? {
    do {
      _ = try body()
      return nil
    } catch { return error as? StoreError }
  }

  @Test func `infinity is read where it is written`() throws {
    for (text, value) in [("inf", Double.infinity), ("-infinity", -.infinity), ("1e308", 1e308)] {
      #expect(try Overridden(text: text).value(for: StorageKey("n", default: 1.0)) == value)
    }
  }

  @Test func `a type has the article that it is spoken with`() {
    for (type, text) in [
      (Int.self as Any.Type, "an Int"), (UInt8.self, "a UInt8"), (Bool.self, "a Bool"), ([Int].self, "an Array<Int>"),
    ] {
      #expect(withArticle("\(type)") == text)
    }
  }

  @Test func `a key that no router can see is told what to do about it`() throws {
    struct Inner: KeySpace { let deep = StorageKey("deep", default: 0) }
    struct Keys: KeySpace {
      static let fixed = StorageKey("fixed", default: 0)
      var computed: StorageKey<Int, Plain> { StorageKey("computed", default: 0) }
      let listed = [StorageKey("listed", default: 0)]
      let inner = Inner()
      let seen = StorageKey("seen", default: 0)
    }
    let keys = Keys(), router = try StorageRouter.inMemory(keys: keys)
    for key in [Keys.fixed, keys.computed, keys.listed[0], keys.inner.deep] {
      let error = try #require(throws: StoreError.self) { try router.value(for: key) }
      #expect(
        error.kind == .undeclared && error.cure.contains("static and computed properties, collections and spaces within a space"))
    }
    let stranger = StorageKey("seen", default: 0)
    let error = try #require(throws: StoreError.self) { try router.value(for: stranger) }
    #expect(error.kind == .undeclared && error.what.contains(keys.seen.site.description))
    struct Cured: KeySpace {
      let keys: Keys
      var declaredKeys: [any DeclaredKey] { [Keys.fixed, keys.computed, keys.inner.deep, keys.seen] + keys.listed }
    }
    let cured = try StorageRouter.inMemory(keys: Cured(keys: keys))
    for key in [Keys.fixed, keys.computed, keys.listed[0], keys.inner.deep] { #expect(try cured.value(for: key) == 0) }
  }

  @Test(arguments: [(0.2, "200 ms"), (1, "1 s"), (1.5, "1.5 s"), (60, "60 s"), (0, "0 ms"), (2.05, "2.05 s")])
  func `a duration is told to the millisecond`(seconds: Double, text: String) {
    #expect(Duration.seconds(seconds).inWords == text)
  }
}
