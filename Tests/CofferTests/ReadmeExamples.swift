internal import Coffer
internal import Foundation
internal import Synchronization

// The README's Swift, compiled. `ReadmeTests` compares both, line by line.

enum Theme: String, PlainValue { case light, dark }

struct AuthToken: Codable { var access: String, expires: Date }

struct AppKeys: KeySpace {
  let theme = StorageKey("theme", default: Theme.light)
  let launches = StorageKey("launches", default: 0)
  let nickname = StorageKey("nickname", of: String.self)
  let token = StorageKey("token", secret: AuthToken.self).expires { $0.expires }.endsWithSession()
}

final class Window: Sendable {
  let shown = Mutex<[Theme]>([])
  func apply(_ theme: Theme) { shown.withLock { $0.append(theme) } }
  func show(_ error: StoreError) { print(error) }
}

enum ReadmeExamples {
  static func app(_ vault: consuming UnlockedVault, fresh: AuthToken) throws -> (StorageRouter, Theme, String, String?) {
    let keys = AppKeys()
    let app = try StorageRouter.open("com.example.app", keys: keys, vault: vault)

    try app.set(.dark, for: keys.theme)
    try app.update(keys.launches) { $0 += 1 }  // atomic across processes
    try app.set(Sealed(fresh), for: keys.token)

    let theme = try app.value(for: keys.theme)  // .light only when nothing is stored
    app[keys.theme] = .dark  // without try: a failure goes to ValueFailures
    let token = try app.value(for: keys.token)  // Sealed<AuthToken>?, printed as Sealed(•••)
    let header = try token?.reveal { "Bearer \($0.access)" }

    try app.transaction { tx in
      try tx.set(Sealed(fresh), for: keys.token)
      try tx.set("Ada", for: keys.nickname)
    }
    return (app, theme, "\(String(describing: token))", header)
  }

  /// The block about changes. The stored closure must not retain its owner.
  static func observe(_ app: StorageRouter, _ keys: AppKeys, by window: Window) throws {
    try app.observe(keys.theme, owner: window) { [weak window] result in
      switch result {
      case .success(let theme): window?.apply(theme)
      case .failure(let error): window?.show(error)
      }
    }
  }

  static func server(keyFileAt path: FilePath, password: consuming SecretBytes) throws -> [ItemName] {
    let vault = try Places.standard().openVault().unlock(with: Credentials(keyFileAt: path))
    let item = try ItemName(service: "smtp.example.com", account: "mailer")
    try vault.set(password, label: "Newsletter", for: item)
    let names = try vault.list().map(\.name)  // opens no value
    return names
  }
}
