import CofferStorage
import Foundation
import Testing

@Suite struct SchemaTests {
  enum Theme: String, PlainValue { case light, dark }
  struct Window: Codable, PlainValue { var width = 800 }
  struct Login: Codable { var token: String, expiry: Date }

  struct Keys: KeySpace {
    let theme = StorageKey("theme", default: Theme.light).labelled("Theme").renamed(from: "colors")
    let retries = StorageKey("retries", default: 3)
    let ratio = StorageKey("ratio", of: Double.self)
    let recent = StorageKey("recent", default: [String]()).endsWithSession()
    let window = StorageKey("window", default: Window())
    let seen = StorageKey("seen", of: Date.self).storedAsSeconds()
    let count = StorageKey("count", default: "1").upgraded(from: Int.self) { "\($0)" }
    let login = StorageKey("login", secret: Login.self).expires { $0.expiry }.endsWithSession()
    let user = StorageKey("user", vaulted: String.self)
    let limits = StorageKeyFamily("limit", default: true)
    let tokens = StorageKeyFamily("api", secret: String.self).expires { _ in nil }
  }

  private func schema() throws -> Schema { try StorageRouter.inMemory(keys: Keys()).schema }

  @Test func `a schema has every key by name, with its type, its place, its default and where it is declared`() throws {
    let schema = try schema()
    let names = ["api/", "count", "limit/", "login", "ratio", "recent", "retries", "seen", "theme", "user", "window"]
    #expect(schema.keys.map(\.name) == names && schema.version == 1)
    let keys = Dictionary(uniqueKeysWithValues: schema.keys.map { ($0.name, $0) })
    let theme = try #require(keys["theme"])
    #expect(theme.type == "Theme" && theme.kinds == ["string"] && theme.defaultText == "\"light\"" && theme.label == "Theme")
    #expect(theme.formerNames == ["colors"] && theme.route == .plain && !theme.isFamily && !theme.endsWithSession)
    #expect(theme.site.hasPrefix("CofferStorageTests/SchemaTests.swift:"))
    #expect(keys["retries"]?.defaultText == "3" && keys["retries"]?.kinds == ["integer", "real", "boolean"])
    #expect(keys["ratio"]?.defaultText == nil && keys["ratio"]?.type == "Double")
    #expect(keys["recent"]?.kinds == ["array"] && keys["recent"]?.endsWithSession == true && keys["recent"]?.defaultText == "[]")
    // Unknown without the type: a structure, and a value that may still be of a former type.
    #expect(keys["window"]?.kinds == nil && keys["window"]?.defaultText == #"{"width":800}"# && keys["count"]?.kinds == nil)
    #expect(keys["seen"]?.kinds?.contains("real") == true)
    #expect(keys["limit/"]?.isFamily == true && keys["limit/"]?.defaultText == "true")
  }

  @Test func `of a secret it has neither kinds nor a default, and says whether it expires`() throws {
    for key in try schema().keys where key.route == .vault {
      #expect(key.defaultText == nil && key.kinds == nil, "\(key.name)")
      #expect(key.expires == ["login", "api/"].contains(key.name), "\(key.name)")
    }
    let keys = try schema().keys.filter { $0.route == .vault }
    #expect(keys.map(\.type) == ["String", "Login", "String"] && keys.map(\.endsWithSession) == [false, true, false])
  }

  @Test func `its JSON reads back, and equal schemas are equal bytes`() throws {
    let json = try schema().json()
    #expect(try JSONDecoder().decode(Schema.self, from: json) == schema() && json == schema().json())
    let text = String(decoding: json, as: UTF8.self)
    #expect(text.contains(#""default" : "\"light\"""#) && text.contains(#""route" : "vault""#))
  }

  @Test func `nothing that is stored is in it`() throws {
    let keys = Keys()
    let router = try StorageRouter.inMemory(keys: keys)
    try router.set(Sealed("canary-in-the-vault"), for: keys.tokens["a"])
    try router.set(77_777, for: keys.retries)
    let text = try String(decoding: router.schema.json(), as: UTF8.self)
    #expect(!text.contains("canary") && !text.contains("77777"))
  }
}
