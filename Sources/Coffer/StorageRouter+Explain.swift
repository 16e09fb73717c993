public import CofferDefaults
public import CofferPlatform
public import CofferStorage

extension StorageRouter {
  /// Which layer `key` is read from, what lies beneath it, and in which files: to print when a preference is not what someone expects.
  ///
  /// ```
  /// theme: argument text (command line)
  ///   over domain string (/home/me/.config/com.example.app.plist)
  /// ```
  ///
  /// - Returns: all layers that have a value, strongest first; none where the key reads as its default. The description of the
  ///   whole names kinds and places and holds no value.
  /// - Throws: ``/CofferPlatform/StoreError`` `.undeclared`, `.damaged`, `.pending`, `.closed`.
  public func explain<V>(_ key: StorageKey<V, Plain>) throws(StoreError) -> Explanation {
    _ = try isSettled(key)
    if let defaults = plain as? DefaultsStore { return try defaults.explain(key.name) }
    let stored = try plain.load(key.name).map { Explanation.Source(layer: .domain, place: plain.place, form: $0) }
    return Explanation(key: key.name, sources: stored.map { [$0] } ?? [])
  }
}
