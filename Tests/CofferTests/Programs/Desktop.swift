import Coffer
import CofferDefaults
import CofferMemory
import CofferObservation
import CofferStorage
import CofferValues
import CofferVault

// A desktop application's preferences.

struct DesktopKeys: KeySpace {
  let theme = StorageKey("theme", default: "light")
  let recent = StorageKey("recent", default: [String]())
  let hidden = StorageKey("hidden", default: Set<String>())
  let zoom = StorageKeyFamily("zoom", default: 1.0)
  let user = StorageKey("user", of: String.self).endsWithSession()
  let token = StorageKey("token", secret: String.self).endsWithSession()
}

@MainActor class Desktop {
  let keys = DesktopKeys(), app: StorageRouter, session: Session<String>
  let theme: ObservableValue<String>
  private(set) var title = "", menu: [String] = []

  init(_ app: StorageRouter) throws {
    self.app = app
    session = try app.session(user: keys.user, credential: keys.token)
    theme = try app.observable(keys.theme)
    try session.observe(self, on: .shared) { window, state in window.show(state) }
    try app.observe(keys.recent, on: .shared, owner: self) { window, recent in window.show(recent) }
  }

  func open(_ document: String) throws {
    try app.update(keys.recent) { $0 = Array(([document] + $0.filter { $0 != document }).prefix(5)) }
    app[keys.zoom[document]] = 1.5
  }

  func logIn(_ name: String, _ token: String) throws {
    try session.login(as: name) { try $0.set(Sealed(token), for: keys.token) }
  }

  private func show(_ state: Result<Session<String>.State, StoreError>) {
    do { title = try state.get().user ?? "nobody" } catch { title = "\(error)" }
  }

  private func show(_ recent: Result<[String], StoreError>) {
    do { menu = try recent.get() } catch { menu = ["\(error)"] }
  }
}
