internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage

/// Compares the standard store with another of the same domain and command line.
enum StandardStore {
  private struct Keys: KeySpace {
    let theme = StorageKey("theme", secret: String.self)
  }

  /// Prints each question and both answers; or why the domain cannot be opened, and the facts known anyway.
  static func ask() throws {
    let standard = DefaultsStore.standard
    let opened: DefaultsStore
    do throws(StoreError) {
      opened = try DefaultsStore.open(
        domain: DefaultsDomain.standardName, arguments: Array(CommandLine.arguments.dropFirst()))
    } catch { return try askUnopened(standard, error) }
    try opened.save(.string("light"), for: "theme")
    try opened.save(.integer(3), for: "size")
    print("place | \(standard.place) | \(opened.place)")
    print("names | \(try standard.names()) \(standard.part) | \(try opened.names()) \(opened.part)")
    print("unstored | \(standard.layers.unstoredNames()) | \(opened.layers.unstoredNames())")
    for name in ["theme", "size", "absent"] {
      for (one, other) in zip(try answers(standard, name), try answers(opened, name)) {
        print("\(name) \(one.question) | \(one.answer) | \(other.answer)")
      }
    }
  }

  private static func askUnopened(_ standard: DefaultsStore.Standard, _ reason: StoreError) throws {
    print(reason.kind)
    print(standard.layers.unstoredSource("theme") ?? "nothing")
    do throws(StoreError) {
      _ = try StorageRouter(plain: standard, vault: MemoryStore<Vault>(), keys: Keys())
      print("opened")
    } catch { print(error.kind) }
  }

  private static func answers(_ store: any LayeredStore, _ name: String) throws -> [(question: String, answer: String)] {
    let reading = try store.load([name])[0]
    let sources = try store.explain(name).sources.map { "\($0.layer) \($0.place)" }
    return [
      ("load", "\(String(describing: try store.load(name)))"), ("form", "\(String(describing: reading.form))"),
      ("base", "\(String(describing: reading.base)) \(String(describing: reading.stamp))"),
      ("contains", "\(try store.contains(name))"),
      ("explain", sources.joined(separator: ", ")), ("unstored", store.layers.unstoredSource(name) ?? "nothing"),
    ]
  }
}
