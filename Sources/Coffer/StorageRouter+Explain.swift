public import CofferPlatform
public import CofferStorage

extension StorageRouter {
  /// The layers of `key`, with their files: print it when a preference has an unexpected value.
  ///
  /// ```
  /// theme: argument text (command line)
  ///   over domain string (/home/me/.config/com.example.app.plist)
  /// ```
  ///
  /// - Returns: all layers with a value, strongest first; none if the key reads as its default. The description names kinds
  ///   and places, never a value.
  /// - Throws: ``/CofferPlatform/StoreError`` `.undeclared`, `.damaged`, `.pending`, `.closed`.
  public func explain<V>(_ key: StorageKey<V, Plain>) throws(StoreError) -> Explanation {
    _ = try isSettled(key)
    return try plain.layers.explain(key.name)
  }
}
