internal import Coffer

/// The keys of the tour: each declared once, and each declaration says where its value goes.
struct TourKeys: KeySpace {
  let notifications = StorageKey("notifications", default: true)
  let account = StorageKey("account", of: String.self).endsWithSession()
  let token = StorageKey("token", secret: String.self).endsWithSession()

  static let source = """
    struct AppKeys: KeySpace {
      let notifications = StorageKey("notifications", default: true)
      let account = StorageKey("account", of: String.self).endsWithSession()
      let token = StorageKey("token", secret: String.self).endsWithSession()
    }
    """
}
