public import CofferPlatform
public import CofferStorage

extension StorageRouter {
  /// Which layer `key` is read from, what lies beneath it, and in which files: to print when a preference is not what someone
  /// expects.
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
    return try plain.explain(key.name)
  }
}
