internal import CofferTestSupport
internal import Coffer
internal import CofferValues
internal import Foundation

// The Swift of the article on values, compiled. `ValuesArticleTests` holds the two against each other, line by line.

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

enum ValuesArticleExamples {
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
