/// A program that must not compile, the sentence of its error, and a similar one that compiles: without that, the first
/// might fail for an unrelated reason.
struct ForbiddenProgram: Sendable, CustomStringConvertible {
  let description: String
  let forbidden: String
  let sentence: String
  let allowed: String

  init(_ description: String, forbidden: String, sentence: String, allowed: String) {
    self.description = description
    self.forbidden = forbidden
    self.sentence = sentence
    self.allowed = allowed
  }

  /// `body` as a separate file: its declarations are in a type named `name`, so that many fit into one module.
  static func file(_ name: String, _ body: String) -> String {
    """
    import Coffer
    import CofferMemory
    import CofferPostgres
    import CofferStorage
    import CofferValues
    enum \(name) {
      enum Theme: String, PlainValue { case light, dark }
      struct AuthToken: Codable, Sendable { var access = "" }
      struct Unsaid: Codable, Sendable { var width = 1 }
      struct AppKeys: KeySpace {
        let theme = StorageKey("theme", default: Theme.light)
        let launches = StorageKey("launches", default: 0)
        let token = StorageKey("token", secret: AuthToken.self)
        let pin = StorageKey("pin", secret: String.self)
      }
      static let keys = AppKeys()
    \(body)
    }
    """
  }

  static let unsaid =
    "this type may not be written in the clear: add ': PlainValue' to a type of yours if it is a preference, store what it is made of if it is not yours, or declare the key with secret:"

  /// Programs that the type checker refuses.
  static let typed: [ForbiddenProgram] = [
    ForbiddenProgram(
      "a value of the wrong type",
      forbidden: #"static func f(_ app: StorageRouter) throws { try app.set("many", for: keys.launches) }"#,
      sentence: "cannot convert value of type 'String' to expected argument type 'Int'",
      allowed: "static func f(_ app: StorageRouter) throws { try app.set(3, for: keys.launches) }"),
    ForbiddenProgram(
      "a misspelled key",
      forbidden: "static func f(_ app: StorageRouter) throws { _ = try app.value(for: keys.lanches) }",
      sentence: "has no member 'lanches'",
      allowed: "static func f(_ app: StorageRouter) throws { _ = try app.value(for: keys.launches) }"),
    ForbiddenProgram(
      "a misspelled key in asynchronous code",
      forbidden: "static func f(_ app: StorageRouter) async throws { _ = try await app.value(for: keys.tokn) }",
      sentence: "has no member 'tokn'",
      allowed: "static func f(_ app: StorageRouter) async throws { _ = try await app.value(for: keys.token) }"),
    ForbiddenProgram(
      "a name in place of a key",
      forbidden: #"static func f(_ app: StorageRouter) throws { _ = try app.value(for: "theme") }"#,
      sentence: "declare a key in a key space, and give that: app.value(for: keys.theme)",
      allowed: "static func f(_ app: StorageRouter) throws { _ = try app.value(for: keys.theme) }"),
    ForbiddenProgram(
      "a call that may wait without await in asynchronous code",
      forbidden: "static func f(_ app: StorageRouter) async throws { try app.set(3, for: keys.launches) }",
      sentence: "expression is 'async' but is not marked with 'await'",
      allowed: "static func f(_ app: StorageRouter) async throws { try await app.set(3, for: keys.launches) }"),
    ForbiddenProgram(
      "a second declaration of a key in a space",
      forbidden: #"struct Twice: KeySpace { let a = StorageKey("a", default: 1); let a = StorageKey("b", default: 1) }"#,
      sentence: "invalid redeclaration of 'a'",
      allowed: #"struct Twice: KeySpace { let a = StorageKey("a", default: 1); let b = StorageKey("b", default: 1) }"#),
    ForbiddenProgram(
      "a sealed value as the default of a plain key",
      forbidden: #"static func f() throws { let token = try Sealed("x"); _ = StorageKey("token", default: token) }"#,
      sentence: "a secret has no default in source: declare it with StorageKey(_:secret:)",
      allowed: #"static func f() throws { _ = StorageKey("token", secret: String.self) }"#),
    ForbiddenProgram(
      "a plain key of a sealed type",
      forbidden: #"static let key = StorageKey("token", of: Sealed<String>.self)"#,
      sentence: "a Sealed value belongs in the vault: declare it with StorageKey(_:secret:)",
      allowed: #"static let key = StorageKey("token", secret: String.self)"#),
    ForbiddenProgram(
      "a plain struct with a sealed field",
      forbidden: "struct Leaky: Codable, PlainValue { var name: String; var token: Sealed<String> }",
      sentence: "type 'P.Leaky' does not conform to protocol 'Decodable'",
      allowed: "struct Sound: Codable, PlainValue { var name: String; var token: String }"),
    ForbiddenProgram(
      "a plain key of a type that has not said so",
      forbidden: #"static let key = StorageKey("window", of: Unsaid.self)"#,
      sentence: unsaid,
      allowed: #"static let key = StorageKey("window", of: Theme.self)"#),
    ForbiddenProgram(
      "a plain default of a type that has not said so",
      forbidden: #"static let key = StorageKey("window", default: Unsaid())"#,
      sentence: unsaid,
      allowed: #"static let key = StorageKey("window", default: Theme.dark)"#),
    ForbiddenProgram(
      "an array of sealed values as plain",
      forbidden: #"static let key = StorageKey("tokens", default: [Sealed<String>]())"#,
      sentence: unsaid,
      allowed: #"static let key = StorageKey("tokens", secret: [String].self)"#),
    ForbiddenProgram(
      "an array of optionals as plain",
      forbidden: #"static let key = StorageKey("names", of: [String?].self)"#,
      sentence: "a property list holds no nil: leave the elements out that are nil, or store a value that means nothing",
      allowed: #"static let key = StorageKey("names", of: [String].self)"#),
    ForbiddenProgram(
      "an array of optionals as a plain default",
      forbidden: #"static let key = StorageKey("names", default: [String?]())"#,
      sentence: "a property list holds no nil: leave the elements out that are nil, or store a value that means nothing",
      allowed: #"static let key = StorageKey("names", default: [String]())"#),
    ForbiddenProgram(
      "a dictionary of optionals as a plain default",
      forbidden: #"static let key = StorageKey("names", default: ["a": Int?.none])"#,
      sentence: "a property list holds no nil: leave the names out whose values are nil",
      allowed: #"static let key = StorageKey("names", default: ["a": 1])"#),
    ForbiddenProgram(
      "a dictionary of optionals as plain",
      forbidden: #"static let key = StorageKey("names", of: [String: Int?].self)"#,
      sentence: "a property list holds no nil: leave the names out whose values are nil",
      allowed: #"static let key = StorageKey("names", default: [Int: Int]())"#),
    ForbiddenProgram(
      "an optional of an optional as plain",
      forbidden: #"static let key = StorageKey("name", of: String?.self)"#,
      sentence: "name the type without its question mark: a key declared with of: reads as nil while nothing is stored",
      allowed: #"static let key = StorageKey("name", of: String.self)"#),
    ForbiddenProgram(
      "a dictionary whose keys have no text as plain",
      forbidden: #"static let key = StorageKey("sizes", of: [Double: Int].self)"#,
      sentence: "a dictionary in the clear has keys of String, Int or another PlainForm.Key, and values that are PlainValue",
      allowed: #"static let key = StorageKey("sizes", of: [Int: Set<Double>].self)"#),
    ForbiddenProgram(
      "a family of sealed values as plain",
      forbidden: #"static let tokens = StorageKeyFamily("api", of: Sealed<String>.self)"#,
      sentence: "requires that 'Sealed<String>' conform to 'PlainValue'",
      allowed: #"static let tokens = StorageKeyFamily("api", secret: String.self)"#),
    ForbiddenProgram(
      "a registered secret",
      forbidden: #"static func f(_ r: inout StorageRouter.Registration) throws { r.register(try Sealed("x"), for: keys.pin) }"#,
      sentence: "a registered value stands in the source, and a secret in source is none: set the key instead",
      allowed: "static func f(_ r: inout StorageRouter.Registration) { r.register(30, for: keys.launches) }"),
    ForbiddenProgram(
      "adding to a plain key's element in two steps",
      forbidden: "static func f(_ app: StorageRouter) { app[keys.launches] += 1 }",
      sentence: "this would read and write in two steps: use try app.update(key) { $0 += 1 }, which is one",
      allowed: "static func f(_ app: StorageRouter) { app[keys.launches] = app[keys.launches] + 1; app[keys.theme] = .dark }"),
    ForbiddenProgram(
      "the kind of an error in a closure",
      forbidden: """
        static func f(_ app: StorageRouter) -> () -> Void {
          { do { try app.set(3, for: keys.launches) } catch { print(error.kind) } }
        }
        """,
      sentence: "write do throws(StoreError) { … } catch { … }, or catch let error as StoreError",
      allowed: """
        static func f(_ app: StorageRouter) -> () -> Void {
          { do throws(StoreError) { try app.set(3, for: keys.launches) } catch { print(error.kind) } }
        }
        static func g(_ app: StorageRouter) { do { try app.set(3, for: keys.launches) } catch { print(error.kind) } }
        """),
    ForbiddenProgram(
      "a value of the vault without try",
      forbidden: "static func f(_ app: StorageRouter) { _ = app[keys.pin] }",
      sentence: "a value of the vault may be out of reach, and nil does not say so: use try app.value(for: key)",
      allowed: "static func f(_ app: StorageRouter) throws { _ = try app.value(for: keys.pin); _ = app[keys.theme] }"),
    ForbiddenProgram(
      "adding to a key space's property in two steps",
      forbidden: "static func f(_ app: StorageRouter) { let settings = app[keys]; settings.launches += 1 }",
      sentence: "this would read and write in two steps: use try app.update(keys.member) { $0 += 1 }, which is one",
      allowed: "static func f(_ app: StorageRouter) { let settings = app[keys]; settings.launches = settings.launches + 1 }"),
    ForbiddenProgram(
      "a value of the vault as a key space's property",
      forbidden: "static func f(_ app: StorageRouter) { _ = app[keys].pin }",
      sentence: "a value of the vault may be out of reach, and nil does not say so: use try app.value(for: keys.member)",
      allowed: "static func f(_ app: StorageRouter) { _ = app[keys].theme }"),
    ForbiddenProgram(
      "a value of the vault set as a key space's property",
      forbidden: "static func f(_ app: StorageRouter) { app[keys].pin = nil }",
      sentence: "a value of the vault may be out of reach, and nil does not say so: use try app.value(for: keys.member)",
      allowed: "static func f(_ app: StorageRouter) { app[keys].theme = .dark }"),
    ForbiddenProgram(
      "a value of the vault as a model that stays in memory",
      forbidden: "@MainActor static func f(_ app: StorageRouter) throws { _ = try app.observable(keys.pin) }",
      sentence: "a value of the vault may be out of reach, and is not kept in memory",
      allowed: "@MainActor static func f(_ app: StorageRouter) throws { try app.observable(keys.launches).value += 1 }"),
    ForbiddenProgram(
      "a secret with a default in source",
      forbidden: #"static let key = StorageKey("token", secret: "hush")"#,
      sentence: "a secret has no default in source: declare it with StorageKey(_:secret:) and a type",
      allowed: #"static let key = StorageKey("token", secret: String.self)"#),
    ForbiddenProgram(
      "a secret sealed twice",
      forbidden: #"static let key = StorageKey("token", secret: Sealed<String>.self)"#,
      sentence: "name the payload's type: secret: seals it by itself",
      allowed: #"static let key = StorageKey("token", secret: String.self)"#),
    ForbiddenProgram(
      "a bare payload where a sealed one is needed",
      forbidden: "static func f(_ app: StorageRouter) throws { try app.set(AuthToken(), for: keys.token) }",
      sentence: "cannot convert value of type 'P.AuthToken' to expected argument type 'Sealed<P.AuthToken>'",
      allowed: "static func f(_ app: StorageRouter) throws { try app.set(Sealed(AuthToken()), for: keys.token) }"),
    ForbiddenProgram(
      "a secret written to settings on a server",
      forbidden: #"static func f(_ s: PostgresDefaults) throws { try s.set(Sealed("x"), for: keys.pin) }"#,
      sentence: "cannot convert value of type 'StorageKey<Sealed<String>?, Vault>' to expected argument type",
      allowed: "static func f(_ s: PostgresDefaults) throws { try s.set(3, for: keys.launches) }"),
    ForbiddenProgram(
      "settings on a server as the store of secrets",
      forbidden:
        "static func f(_ p: MemoryStore<Plain>, _ s: PostgresDefaults) throws { _ = try StorageRouter(plain: p, vault: s) }",
      sentence: "requires that 'PostgresDefaults' conform to 'DecidingStore'",
      allowed:
        "static func f(_ s: PostgresDefaults, _ v: MemoryStore<Vault>) throws { _ = try StorageRouter(plain: s, vault: v) }"),
    ForbiddenProgram(
      "a router with its stores swapped",
      forbidden:
        "static func f(_ p: MemoryStore<Plain>, _ v: MemoryStore<Vault>) throws { _ = try StorageRouter(plain: v, vault: p) }",
      sentence: "the stores are swapped: plain: takes the store of preferences, vault: the store of secrets",
      allowed:
        "static func f(_ p: MemoryStore<Plain>, _ v: MemoryStore<Vault>) throws { _ = try StorageRouter(plain: p, vault: v) }"),
    ForbiddenProgram(
      "a key of one type used as another",
      forbidden: "static let key: StorageKey<String, Plain> = AppKeys().launches",
      sentence: "cannot assign value of type 'StorageKey<Int, Plain>' to type 'StorageKey<String, Plain>'",
      allowed: "static let key: StorageKey<Int, Plain> = AppKeys().launches"),
    ForbiddenProgram(
      "a secret key used as a plain one",
      forbidden: "static let key: StorageKey<Sealed<String>?, Plain> = AppKeys().pin",
      sentence: "cannot assign value of type 'StorageKey<Sealed<String>?, Vault>' to type 'StorageKey<Sealed<String>?, Plain>'",
      allowed: "static let key: StorageKey<Sealed<String>?, Vault> = AppKeys().pin"),
    ForbiddenProgram(
      "printing secret bytes",
      forbidden: "static func f(_ secret: consuming SecretBytes) { print(secret) }",
      sentence: "argument type 'SecretBytes' does not conform to expected type 'Copyable'",
      allowed: "static func f(_ secret: consuming SecretBytes) { print(secret.count) }"),
    ForbiddenProgram(
      "interpolating secret bytes",
      forbidden: #"static func f(_ secret: borrowing SecretBytes) -> String { "\(secret)" }"#,
      sentence: "no exact matches in call to instance method 'appendInterpolation'",
      allowed: #"static func f(_ secret: borrowing SecretBytes) -> String { "\(secret.count)" }"#),
    ForbiddenProgram(
      "secret bytes in an array",
      forbidden: "static func f(_ secret: consuming SecretBytes) { _ = [secret] }",
      sentence: "generic struct 'Array' requires that 'SecretBytes' conform to 'Copyable'",
      allowed: "static func f(_ secret: consuming SecretBytes) { _ = Optional(secret) }"),
    ForbiddenProgram(
      "copying secret bytes",
      forbidden: "static func f(_ secret: borrowing SecretBytes) -> SecretBytes { let copy = copy secret; return copy }",
      sentence: "'copy' cannot be applied to noncopyable types",
      allowed: "static func f(_ secret: borrowing SecretBytes) throws -> SecretBytes { try secret.duplicate() }"),
    ForbiddenProgram(
      "a sealed value encoded",
      forbidden: "static func f(_ token: Sealed<String>, _ encoder: any Encoder) throws { try token.encode(to: encoder) }",
      sentence: "has no member 'encode'",
      allowed: "static func f(_ token: Sealed<String>, _ encoder: any Encoder) throws { try token.reveal().encode(to: encoder) }"),
  ]
}
