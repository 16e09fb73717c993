internal import Foundation

/// Shows Foundation's `UserDefaults` breaking Coffer's promises, by the numbers of the tests. Prints its actions.
enum FoundationFaults {
  static func show(_ number: String, _ domain: String, _ rest: [String]) {
    guard let defaults = UserDefaults(suiteName: domain) else { return print("no suite") }
    switch number {
    case "lost-at-exit":
      defaults.set(1, forKey: "k")
      _exit(0)
    case "distinct-keys":
      _ = defaults.object(forKey: "k")
      print("ready")
      fflush(nil)
      _ = readLine()
      for key in 0..<50 {
        defaults.set(key, forKey: "\(rest[0]).\(key)")
        defaults.synchronize()
      }
    case "write-large":
      for round in 0..<400 {
        defaults.set(String(repeating: "\(round % 10)", count: 400_000), forKey: "k")
        defaults.synchronize()
      }
    case "overwrite-damage":
      print("reads", defaults.object(forKey: "k") ?? "nothing")
      defaults.set(1, forKey: "new")
      defaults.synchronize()
    case "notification":
      nonisolated(unsafe) var notified = false
      let observer = NotificationCenter.default.addObserver(
        forName: UserDefaults.didChangeNotification, object: nil, queue: nil
      ) { _ in notified = true }
      defaults.set(1, forKey: "k")
      NotificationCenter.default.removeObserver(observer)
      print("notified", notified)
    case "stale":
      print("before", defaults.integer(forKey: "k"))
      fflush(nil)
      _ = readLine()
      print("after", defaults.integer(forKey: "k"))
    case "registered":
      defaults.register(defaults: ["leak": 1])
      print("other suite", UserDefaults(suiteName: domain + ".other")?.integer(forKey: "leak") ?? -1)
    case "set-and-synchronize":
      defaults.set(1, forKey: "k")
      defaults.synchronize()
    case "overrides":
      let standard = UserDefaults.standard
      print("count", type(of: standard.object(forKey: "count") ?? "nothing"))
      print("negative", standard.object(forKey: "negative") ?? "nothing")
      print("-theme", standard.object(forKey: "-theme") ?? "nothing")
      print("listed", standard.dictionaryRepresentation()["count"] ?? "nothing")
    case "values":
      defaults.set(true, forKey: "flag")
      print("flag", (defaults.object(forKey: "flag") as? Int).map { "\($0)" } ?? "nil")
      defaults.set(URL(string: "https://example.com/a"), forKey: "url")
      print("url", defaults.url(forKey: "url")?.absoluteString ?? "nil")
      defaults.set(Double.infinity, forKey: "infinity")
      print("infinity", defaults.integer(forKey: "infinity"))
    case "unsupported": defaults.set(Unsupported(), forKey: "k")
    case "no-url": defaults.set(URL?.none, forKey: "k")
    default: print("no such fault")
    }
  }

  private struct Unsupported {}
}
