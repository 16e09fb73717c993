import CofferTestSupport
import Coffer
import CofferMemory
import CofferObservation
import CofferValues
import CofferVault
import CofferDefaults
import CofferStorage
import Foundation
import Testing

@Suite struct OverrideTests {
  enum Theme: String, PlainValue { case light, dark }

  struct Window: PlainValue, Codable, Equatable { var width: Int, height: Int }

  struct Keys: KeySpace {
    let theme = StorageKey("theme", default: Theme.light)
    let volume = StorageKey("volume", default: 5)
    let zoom = StorageKey("ui.zoom", default: 1.0)
    let loud = StorageKey("loud", default: false)
    let lenient = StorageKey("lenient", default: 7).whenUndecodable(.useDefault)
    let window = StorageKey("window", of: Window.self)
    let token = StorageKey("token", secret: String.self)
    let userID = StorageKey("user_id", vaulted: String.self)
  }
  let keys = Keys()

  private func open(_ places: Places, _ arguments: [String], _ environment: [String: String] = [:]) throws -> StorageRouter {
    let variables = EnvironmentLayer(prefix: "APP_", environment: environment)
    let overrides = Overrides(arguments: arguments, environment: variables)
    return try StorageRouter.open("com.example.app", keys: keys, places: places, overrides: overrides)
  }

  @Test
  func `an override has the type of its key: numbers may be negative, -key value and -key=value are one`() throws {
    try OpenTests().withPlaces { places in
      let arguments = ["-theme", "dark", "-volume", "-5", "-ui.zoom=-0.5", "-loud", "YES", "-window", #"{"width":3,"height":4}"#]
      let app = try open(places, arguments)
      #expect(try app.value(for: keys.theme) == .dark)
      #expect(try app.value(for: keys.volume) == -5)
      #expect(try app.value(for: keys.zoom) == -0.5)
      #expect(try app.value(for: keys.loud))
      #expect(try app.value(for: keys.window) == Window(width: 3, height: 4))
      #expect(try open(places, []).value(for: keys.volume) == 5)
    }
  }

  @Test
  func `text that is no value of the key's type is an error that does not repeat it, and the other keys read on`() throws {
    try OpenTests().withPlaces { places in
      let app = try open(places, ["-volume", "loudest", "-theme", "dark", "-lenient", "x"])
      let error = #expect(throws: StoreError.self) { try app.value(for: keys.volume) }
      #expect(error?.kind == .undecodable(stored: "argument") && error?.key == "volume")
      #expect(error?.description.contains("loudest") == false)
      #expect(throws: StoreError.self) { try app.value(for: keys.lenient) }
      #expect(try app.value(for: keys.theme) == .dark)
    }
  }

  @Test
  func `writes and updates go beneath an override, which reads on and is stored nowhere; explain says so`() throws {
    try OpenTests().withPlaces { places in
      let app = try open(places, ["-volume", "9"], ["APP_VOLUME": "8", "APP_UI_ZOOM": "-2"])
      try app.set(3, for: keys.volume)
      try app.update(keys.volume) { $0 += 1 }
      #expect(try app.value(for: keys.volume) == 9)
      #expect(try app.value(for: keys.zoom) == -2)
      let told = try app.explain(keys.volume)
      #expect(told.sources.map(\.layer) == [.argument, .environment, .domain])
      #expect(told.winner?.place == "command line")
      #expect(
        told.description == """
          volume: argument text (command line)
            over environment text (APP_VOLUME)
            over domain integer (\(places.propertyList(of: "com.example.app").string))
          """)
      #expect(try app.explain(keys.theme).winner == nil)
      try app.close()
      let plain = try open(places, [])
      #expect(try plain.value(for: keys.volume) == 4)
      #expect(try plain.explain(keys.volume).winner?.layer == .domain)
      #expect(try plain.isDefault(keys.zoom))
    }
  }

  @Test(
    arguments: [
      (["-token", "hunter2"], [:], "token"), (["-token=hunter2"], [:], "token"), (["-user_id", "hunter2"], [:], "user_id"),
      ([], ["APP_TOKEN": "hunter2"], "token"), ([], ["APP_USER_ID": "hunter2"], "user_id"),
    ] as [([String], [String: String], String)])
  func `an override of a key of the vault is an error at open, and its value is not repeated`(
    _ arguments: [String], _ environment: [String: String], _ key: String
  ) throws {
    try OpenTests().withPlaces { places in
      let error = #expect(throws: StoreError.self) { _ = try open(places, arguments, environment) }
      #expect(error?.kind == .refused && error?.key == key)
      #expect(error?.description.contains("hunter2") == false)
    }
  }

  @Test
  func `so is a registered value, whoever composes the router`() throws {
    try OpenTests().withPlaces { places in
      let store = try DefaultsStore.open(domain: "d", in: places.defaults, registered: ["token": .string("hunter2")])
      let error = #expect(throws: StoreError.self) {
        _ = try StorageRouter(plain: store, vault: MemoryStore<Vault>(), keys: keys)
      }
      #expect(error?.kind == .refused && error?.key == "token" && error?.description.contains("hunter2") == false)
    }
  }

  @Test
  func `words for the program are no overrides, nor are names that no key has`() throws {
    try OpenTests().withPlaces { places in
      let app = try open(places, ["serve", "--volume", "7", "-x", "1", "--", "-volume", "8"], ["VOLUME": "6"])
      #expect(try app.value(for: keys.volume) == 5)
    }
  }

  @Test
  func `a router in memory explains as well`() throws {
    let app = try StorageRouter.inMemory(keys: keys)
    #expect(try app.explain(keys.theme).winner == nil)
    try app.set(.dark, for: keys.theme)
    #expect(try app.explain(keys.theme).winner?.layer == .domain)
  }

  struct Families: KeySpace { let zoom = StorageKeyFamily("doc-zoom", default: 1.0) }

  private func take(_ words: [String]) throws -> (rest: [String], taken: [String]) {
    var rest = words
    let overrides = try Overrides.take(from: &rest, for: keys, Families())
    return (rest, overrides.arguments)
  }

  @Test
  func `the overrides of declared keys are taken out of the arguments, and every other word stays in its order`() throws {
    let words = ["show", "-theme", "dark", "--verbose", "-volume=-5", "-v", "file", "-ui.zoom", "-0.5", "-n", "3", "last"]
    let (rest, taken) = try take(words)
    #expect(rest == ["show", "--verbose", "-v", "file", "-n", "3", "last"])
    #expect(taken == ["-theme", "dark", "-volume=-5", "-ui.zoom", "-0.5"])
    try OpenTests().withPlaces { places in
      let app = try open(places, taken)
      #expect(try app.value(for: keys.theme) == .dark && app.value(for: keys.volume) == -5 && app.value(for: keys.zoom) == -0.5)
    }
  }

  @Test
  func `what follows -- stays, a flag of the program stays, and a key given twice is taken twice`() throws {
    #expect(try take(["-v", "--", "-theme", "dark"]).rest == ["-v", "--", "-theme", "dark"])
    #expect(try take(["--theme", "dark", "-themes", "x", "-v"]).rest == ["--theme", "dark", "-themes", "x", "-v"])
    #expect(try take(["-v", "-volume", "3"]).rest == ["-v"])
    #expect(try take(["-theme", "light", "x", "-theme=dark"]) == (["x"], ["-theme", "light", "-theme=dark"]))
    #expect(try take([]) == ([], []))
  }

  @Test(arguments: [["-volume", "3", "-theme"], ["-theme", "-volume", "3"], ["-theme", "--", "dark"]])
  func `A11 a key without a value is refused, and nothing is taken; without take, its read is an error`(_ words: [String]) throws
  {
    var rest = words
    let error = #expect(throws: StoreError.self) { try Overrides.take(from: &rest, for: keys) }
    let told = "key 'theme': the option -theme has no value (command line); write -theme VALUE or -theme=VALUE"
    #expect(error?.description.hasPrefix(told) == true)
    #expect(rest == words)
    try OpenTests().withPlaces { places in
      let app = try open(places, words)
      let told = #expect(throws: StoreError.self) { try app.value(for: keys.theme) }
      #expect(told?.kind == .undecodable(stored: "argument"))
      #expect(try app.value(for: keys.loud) == false)
    }
  }

  @Test
  func `a member of a family is an override too; one of a key of the vault is taken, and the router does not open`() throws {
    #expect(try take(["-doc-zoom/a.txt", "2", "b"]) == (["b"], ["-doc-zoom/a.txt", "2"]))
    let (rest, taken) = try take(["-token", "hush", "b"])
    #expect(rest == ["b"])
    try OpenTests().withPlaces { places in
      let error = #expect(throws: StoreError.self) { try open(places, taken) }
      #expect(error?.kind == .refused && error?.description.contains("hush") == false)
    }
  }

  struct FamilyKeys: KeySpace {
    let tokens = StorageKeyFamily("api", secret: String.self)
    let limits = StorageKeyFamily("limit", default: 1)
  }

  @Test func `an argument for a member of a family of secrets keeps the router from opening, one for a preference is read`()
    throws
  {
    try OpenTests().withPlaces { places in
      let keys = FamilyKeys()
      func open(_ arguments: [String]) throws -> StorageRouter {
        try StorageRouter.open("app", keys: keys, places: places, overrides: Overrides(arguments: arguments))
      }
      let error = #expect(throws: StoreError.self) { try open(["-api/acme", "from the command line"]) }
      #expect(error?.kind == .refused && error?.key == "api/acme")
      #expect(error?.description.contains("from the command line") == false)
      let limit = try open(["-limit/acme", "7"]).value(for: keys.limits["acme"])
      #expect(limit == 7)
    }
  }
}
