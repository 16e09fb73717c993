internal import CofferTestSupport
internal import Coffer
internal import CofferMemory
internal import CofferObservation
internal import CofferVault
internal import CofferDefaults
internal import CofferStorage
internal import CofferValues
internal import Foundation
internal import Testing

// The `UserDefaults` practice.

private enum Theme: String, PlainValue { case light, dark, black }

private struct Keys: KeySpace {
  let theme = StorageKey("theme", default: Theme.light).whenUndecodable(.useDefault)
  let launches = StorageKey("launches", default: 0)
}

/// A controller that owns a preference and gets its store by injection.
private final class ThemeController {
  private let keys = Keys()
  private let app: StorageRouter
  private(set) lazy var currentTheme = load()
  private(set) var loads = 0

  init(app: StorageRouter) { self.app = app }

  func changeTheme(to theme: Theme) throws {
    currentTheme = theme
    try app.set(theme, for: keys.theme)
  }

  private func load() -> Theme {
    loads += 1
    return app.persistedValue(for: keys.theme).wrappedValue
  }
}

private func inHomeOfItsOwn(_ body: (URL) throws -> Void) throws {
  let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().appending(path: "coffer-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  defer { do { try FileManager.default.removeItem(at: folder) } catch { print("left behind: \(folder): \(error)") } }
  setenv("XDG_CONFIG_HOME", folder.path(), 1)
  try body(folder)
}

@Suite struct RowsA {
  @Test func `A1 a controller owns a preference and is given its store by injection`() throws {
    // A default argument may be a store that the program shares, as in `defaults: UserDefaults = .standard`.
    final class Controller {
      let defaults: any LayeredStore
      init(defaults: any LayeredStore = MemoryStore<Plain>()) { self.defaults = defaults }
    }
    let bench = try Bench()
    try Controller(defaults: bench.defaults()).defaults.set(.dark, for: Keys().theme)
    #expect(try Controller().defaults.value(for: Keys().theme) == .light)
    #expect(try Controller(defaults: bench.defaults()).defaults.value(for: Keys().theme) == .dark)
  }

  @Test(.tags(.process), .defaultRun)
  func `A1 the default argument is the standard store, which needs no try and is where UserDefaults.standard looks`() async {
    // In a separate process: the environment determines the place of the standard domain.
    await #expect(processExitsWith: .success) {
      final class Controller {
        let defaults: any LayeredStore
        init(defaults: any LayeredStore = DefaultsStore.standard) { self.defaults = defaults }
      }
      try inHomeOfItsOwn { folder in
        #expect(try Controller().defaults.value(for: Keys().theme) == .light)
        try Controller().defaults.set(.dark, for: Keys().theme)
        try PersistentStorage.standard.setValue(7, forKey: "launches")
        #expect(try Controller().defaults.value(for: Keys().launches) == 7)
        try DefaultsStore.standard.synchronize()
        let list = folder.appending(path: DefaultsDomain.standardName + ".plist")
        let stored = try PropertyListSerialization.propertyList(from: Data(contentsOf: list), format: nil) as? [String: Any]
        #expect(stored?["theme"] as? String == "dark" && stored?["launches"] as? Int == 7)
      }
    }
  }

  @Test(.tags(.process), .defaultRun)
  func `A1 a standard store that cannot be opened says why with each call, and is opened once it can be`() async {
    await #expect(processExitsWith: .success) {
      try inHomeOfItsOwn { folder in
        let list = folder.appending(path: DefaultsDomain.standardName + ".plist")
        try Data("no list".utf8).write(to: list)
        for _ in 0..<2 { try expect(.damaged) { _ = try DefaultsStore.standard.value(for: Keys().theme) } }
        try FileManager.default.removeItem(at: list)
        #expect(try DefaultsStore.standard.value(for: Keys().theme) == .light)
      }
    }
  }

  @Test func `A2 an enum is stored as its raw value`() throws {
    let bench = try Bench()
    try ThemeController(app: bench.app(Keys())).changeTheme(to: .black)
    #expect(try bench.defaults().load("theme") == .string("black"))
  }

  @Test func `A3 an absent value, or a raw value that is no longer a case, reads as the default`() throws {
    let bench = try Bench()
    #expect(try ThemeController(app: bench.app(Keys())).currentTheme == .light)
    try bench.defaults().save(.string("sepia"), for: "theme")
    let failures = Collected<StoreError>()
    let key = StorageKey("theme", default: Theme.light).whenUndecodable(.useDefault) { failures.add($0) }
    #expect(try bench.app(Space(key)).value(for: key) == .light)
    #expect(failures.all.map(\.key) == ["theme"])
    #expect(try bench.defaults().load("theme") == .string("sepia"))
    try expect(.undecodable(stored: "string")) {
      let strict = StorageKey("theme", default: Theme.light)
      _ = try bench.app(Space(strict)).value(for: strict)
    }
  }

  @Test func `A4 a value is loaded once, changed in memory and written through`() throws {
    let bench = try Bench()
    let controller = try ThemeController(app: bench.app(Keys()))
    #expect(controller.loads == 0)
    #expect(controller.currentTheme == .light && controller.currentTheme == .light)
    #expect(controller.loads == 1)
    try controller.changeTheme(to: .dark)
    #expect(controller.currentTheme == .dark && controller.loads == 1)
    #expect(try ThemeController(app: bench.app(Keys())).currentTheme == .dark)
  }

  @Test func `A5 a suite is opened by name, and says why it cannot be`() throws {
    let bench = try Bench()
    let shared = try bench.defaults("group.com.example")
    try shared.set(.dark, for: Keys().theme)
    #expect(try bench.defaults("group.com.example").value(for: Keys().theme) == .dark)
    // Better than nil: the error explains the name's fault, and no file is made outside of the folder.
    for name in ["", "../evil", "a/b", "."] { try expect(.invalidName) { _ = try bench.defaults(name) } }
  }

  @Test func `A6 the domain overrides an added suite, which supplies what it lacks, and a pure suite sees itself alone`() throws {
    let bench = try Bench()
    let suite = try bench.defaults("group.com.example")
    try suite.set(.black, for: Keys().theme)
    try suite.set(7, for: Keys().launches)
    let combined = try bench.defaults(suites: ["group.com.example"])
    try combined.set(.dark, for: Keys().theme)
    #expect(try combined.value(for: Keys().theme) == .dark)
    #expect(try combined.value(for: Keys().launches) == 7)
    #expect(try suite.value(for: Keys().theme) == .black)
    #expect(try bench.defaults().value(for: Keys().launches) == 0)
    #expect(try combined.explain("theme").winner?.layer == .domain)
    #expect(try combined.explain("launches").winner?.layer == .suite)
  }

  @Test func `A6 what is read through a combined store and changed begins with the suite's value, and is the domain's own then`()
    throws
  {
    struct Shared: KeySpace {
      let launches = StorageKey("launches", default: 0)
      let toggles = StorageKey("toggles", default: ["z": false])
      let registered = StorageKey("registered", default: 5)
      let overridden = StorageKey("overridden", default: 0)
    }
    let bench = try Bench(), keys = Shared()
    let suite = try bench.defaults("group.com.example")
    try suite.set(41, for: keys.launches)
    try suite.set(["a": true, "b": true], for: keys.toggles)
    try suite.set(7, for: keys.overridden)
    func combined() throws -> DefaultsStore {
      try DefaultsStore.open(
        domain: Bench.domain, in: bench.places.defaults, suites: ["group.com.example"],
        registered: ["registered": .integer(100)], arguments: ["-overridden", "1000"])
    }
    let app = try StorageRouter(plain: combined(), vault: bench.vault, keys: keys)
    try app.update(keys.launches) { $0 += 1 }
    try app.persistedValue(for: keys.launches).mutate { $0 += 1 }
    try app.update(keys.toggles) { $0["b"] = false }
    try app.update(keys.overridden) { $0 += 1 }
    try app.transaction { transaction in
      try transaction.update(keys.registered) { $0 += 1 }
      try transaction.update(keys.toggles) { $0["c"] = true }
    }
    #expect(try app.value(for: keys.launches) == 43)
    #expect(try app.value(for: keys.toggles) == ["a": true, "b": false, "c": true])
    #expect(try app.value(for: keys.registered) == 101)
    #expect(try app.value(for: keys.overridden) == 1000)
    let pure = try bench.defaults()
    #expect(try pure.value(for: keys.launches) == 43 && pure.value(for: keys.overridden) == 8)
    #expect(try suite.value(for: keys.launches) == 41 && suite.value(for: keys.toggles) == ["a": true, "b": true])
    // In a transaction as in a read: the first change of a key begins with the suite's value.
    try pure.removeAll()
    try app.transaction { try $0.update(keys.launches) { $0 += 1 } }
    #expect(try app.value(for: keys.launches) == 42)
    // A value unchanged by an update stays the suite's.
    try pure.removeAll()
    try app.update(keys.launches) { _ in }
    try app.transaction { try $0.update(keys.launches) { _ in } }
    #expect(try pure.names().isEmpty)
  }

  @Test func `A7 another store needs only another argument`() throws {
    let bench = try Bench()
    let stores: [any LayeredStore] = [
      try bench.defaults(), try bench.defaults("group.com.example"), MemoryStore<Plain>(), CacheStore<Plain>(limit: 8),
    ]
    for store in stores {
      let app = try StorageRouter(plain: store, vault: bench.vault, keys: Keys())
      try ThemeController(app: app).changeTheme(to: .dark)
      #expect(ThemeController(app: app).currentTheme == .dark)
    }
  }

  @Test func `A8 a set value is readable at once, without waiting`() throws {
    let bench = try Bench()
    let (writer, reader) = (try bench.defaults(), try bench.defaults())
    for number in 1...100 {
      try writer.set(number, for: Keys().launches)
      #expect(try reader.value(for: Keys().launches) == number)
    }
  }

  @Test func `A9 a change reaches other processes by itself`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    try defaults.set(.dark, for: Keys().theme)
    // Better: without a call here the other process reads it at once.
    #expect(try OtherProcess.run("get", bench, "theme") == "string(\"dark\")")
    try OtherProcess.run("set", bench, "theme", "black")
    #expect(try defaults.value(for: Keys().theme) == .black)
  }

  @Test func `A10 a suite outlives the programs that used it`() throws {
    let bench = try Bench()
    do {
      let first = try bench.defaults("group.com.example"), second = try bench.defaults("group.com.example")
      try first.set(.dark, for: Keys().theme)
      try first.close()
      #expect(try second.value(for: Keys().theme) == .dark)
      try second.close()
    }
    #expect(try bench.defaults("group.com.example").value(for: Keys().theme) == .dark)
    try DefaultsDomain("group.com.example", in: bench.places.defaults).remove()
    #expect(try bench.defaults("group.com.example").value(for: Keys().theme) == .light)
  }

  @Test func `A11 launch arguments override reads, as the key's type`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults(arguments: ["-theme", "dark", "-launches", "-3"])
    #expect(try defaults.value(for: Keys().theme) == .dark)
    #expect(try defaults.value(for: Keys().launches) == -3)
  }

  @Test func `A11 overrides are taken out of the arguments that another parser reads`() throws {
    let bench = try Bench()
    var arguments = ["show", "-theme", "dark", "--verbose", "-launches=-3", "file"]
    let overrides = try Overrides.take(from: &arguments, for: Keys())
    #expect(arguments == ["show", "--verbose", "file"])
    let app = try StorageRouter.open(Bench.domain, keys: Keys(), places: bench.places, overrides: overrides)
    #expect(try app.value(for: Keys().theme) == .dark && app.value(for: Keys().launches) == -3)
  }

  @Test func `A12 an override never touches what is stored, also under a write`() throws {
    let bench = try Bench()
    try bench.defaults().set(.light, for: Keys().theme)
    let overridden = try bench.defaults(arguments: ["-theme", "dark"])
    try overridden.set(.black, for: Keys().theme)
    #expect(try overridden.value(for: Keys().theme) == .dark)
    try overridden.update(Keys().theme) { #expect($0 == .black) }
    #expect(try bench.defaults().value(for: Keys().theme) == .black)
  }

  @Test func `A13 a program's own command line overrides`() throws {
    let bench = try Bench()
    let launched = ["/usr/bin/app", "--verbose", "-theme", "dark", "file.txt"]
    let defaults = try bench.defaults(arguments: Array(launched.dropFirst()))
    #expect(try defaults.value(for: Keys().theme) == .dark)
    #expect(try defaults.explain("theme").winner?.layer == .argument)
  }

  @Test func `A16 removing a domain wipes exactly one suite`() throws {
    let bench = try Bench()
    for name in ["one", "two"] { try bench.defaults(name).set(.dark, for: Keys().theme) }
    try DefaultsDomain("one", in: bench.places.defaults).remove()
    #expect(try bench.defaults("one").names() == [])
    #expect(try bench.defaults("two").value(for: Keys().theme) == .dark)
  }

  @Test func `A17 preferences are small, and the limit is enforced`() throws {
    let bench = try Bench()
    let note = StorageKey("note", default: "").limited(toBytes: 8)
    let app = try bench.app(Space(note))
    try app.set("short", for: note)
    try expect(.tooLarge(limit: 8)) { try app.set("far too long", for: note) }
    #expect(try app.value(for: note) == "short")
    let book = StorageKey("book", default: "")
    #expect(throws: StoreError.self) { try bench.defaults().set(String(repeating: "x", count: 2 << 20), for: book) }
  }

  @Test func `A18 plain kinds are stored as such`() throws {
    let bench = try Bench()
    let storage = try bench.defaults()
    try storage.setValue(true, forKey: "bool")
    try storage.setValue(42, forKey: "int")
    try storage.setValue("text", forKey: "string")
    try storage.setValue(["a", "b"], forKey: "array")
    let contents = try storage.contents()
    #expect(contents["bool"] == .bool(true) && contents["int"] == .integer(42) && contents["string"] == .string("text"))
    #expect(contents["array"] == .array([.string("a"), .string("b")]))
  }
}
