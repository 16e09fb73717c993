internal import CofferTestSupport
internal import Coffer
internal import CofferDefaults
internal import CofferMemory
internal import CofferObservation
internal import CofferStorage
internal import CofferVault
internal import CofferValues
internal import Foundation
internal import Observation
internal import Testing

// The Swift of the article on values, compiled. `ValuesArticleTests` compares both, line by line.

enum Look: String, PlainValue { case light, dark }

struct WindowFrame: Codable, PlainValue, Equatable {
  var width = 800, height = 600
  init() {}
  init(_ sides: [Int]) { (width, height) = (sides.first ?? 800, sides.last ?? 600) }
}

struct AccessToken: Codable { var access: String, expiry: Date? }

struct SettingsKeys: KeySpace {
  let look = StorageKey("look", default: Look.light).renamed(from: "theme")
  let window = StorageKey("window", default: WindowFrame()).upgraded(from: [Int].self) { WindowFrame($0) }
  let note = StorageKey("note", default: "").limited(toBytes: 4096)
  let account = StorageKey("account", of: String.self).endsWithSession()
  let token = StorageKey("token", secret: AccessToken.self)
    .renamed(from: "access_token").expires { $0.expiry }.endsWithSession()
}

final class Editor {
  @Persisted var look: Look
  init(app: StorageRouter) { _look = Persisted(SettingsKeys().look, in: app) }
}

extension PersistentStorage {
  var launches: KeyValueContainer<Int> { makeContainer(defaultValue: 0) }
}

final class Screen: Sendable {
  let widths = Collected<Int>()
  func resize(to width: Int) { widths.add(width) }
}

struct ServerKeys: KeySpace {
  let tokens = StorageKeyFamily("api", secret: String.self)
  let limits = StorageKeyFamily("limit", default: 100)
}

/// Declarations for the blocks on suites and on access without `try`.
struct MoreKeys: KeySpace {
  let languages = StorageKey("languages", default: Set<String>())
  let look = StorageKey("look", default: Look.light)
  let opens = StorageKey("opens", default: 0)
}

/// On the main actor, and not `Sendable`.
class View {
  var looks: [Look] = []
  func show(_ look: Result<Look, StoreError>) { do { looks.append(try look.get()) } catch { Issue.record(error) } }
}

final class Display: Sendable {
  let looks = Collected<Look>(), marks = Collected<Bool>()
  func show(_ look: Look) { looks.add(look) }
  func needsDisplay() { marks.add(true) }
}

enum ValuesArticleExamples {
  static func members(_ app: StorageRouter, _ token: String, of customer: String) throws -> (Int, [String]) {
    let keys = ServerKeys()

    try app.set(Sealed(token), for: keys.tokens[customer])  // the item api/…
    let limit = try app.value(for: keys.limits[customer])
    let customers = try app.members(of: keys.tokens)
    return (limit, customers)
  }

  /// Opened at the standard places, so for a separate process.
  static func suites() throws -> StorageRouter {
    let keys = MoreKeys()

    let app = try StorageRouter.open("com.example.app", keys: keys, suites: ["com.example.shared"]) {
      $0.register(["en"], for: keys.languages)
    }
    return app
  }

  static func elements(_ app: StorageRouter) throws {
    let keys = MoreKeys()

    if app[keys.look] == .light { app[keys.look] = .dark }
    try app.update(keys.opens) { $0 += 1 }  // one step

    let settings = app[keys]  // its plain keys as properties, with the same rules
    settings.languages = ["en", "de"]
  }

  @MainActor static func onMain(_ app: StorageRouter, _ editor: View) throws {
    let keys = MoreKeys()

    try app.observe(keys.look, on: .shared, owner: editor) { editor, look in editor.show(look) }
  }

  /// The change closure is called during the change, here on the main actor.
  @MainActor static func model(_ app: StorageRouter, _ view: Display) throws -> ObservableValue<Look> {
    let keys = MoreKeys()

    let look = try app.observable(keys.look)
    withObservationTracking {
      view.show(look.value)
    } onChange: {
      view.needsDisplay()
    }
    look.value = .dark
    return look
  }

  static func handles(_ app: StorageRouter, _ screen: Screen, log: @escaping @Sendable (Any) -> Void) throws -> String? {
    let keys = SettingsKeys()

    let look = app.persistedValue(for: keys.look)
    look.wrappedValue = .dark

    let opens = app.plain.persistedValue(forKey: "opens").integer().default(0)
    try opens.mutate { $0 += 1 }  // one step, across handles and processes

    let user = app.vault.persistedValue(forKey: "user_id").string().onFailure(use: nil) { error in log(error) }
    user.wrappedValue = "u1"
    let injected: AnyPersistedValue<String?> = user.eraseToAnyPersistedValue()

    let width = app.persistedValue(for: keys.window).width.subject()
    try width.observe(screen) { width in screen.resize(to: width) }
    return injected.wrappedValue
  }

  static func report(_ app: StorageRouter, log: (Any) -> Void) {
    for migration in app.migrations.done { log("\(migration.key): \(migration.change)") }
    for error in app.migrations.pending { log(error) }  // locked: the vault has yet to be unlocked
    for key in app.credentialLikeKeys { log("\(key.name), declared at \(key.site), reads like a secret") }
  }
}
