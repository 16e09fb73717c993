package import CofferPlatform

package enum EnvironmentVariable {
  /// Nil when `name` is not set.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` if the value is not UTF-8: a repair could give two folders one
  ///   name.
  package static func text(_ name: String) throws(StoreError) -> String? {
    guard let value = getenv(name) else { return nil }
    guard let text = String(validatingCString: value) else {
      throw StoreError(
        .invalidName, "\(name) in the environment is not UTF-8 (not repeated here) and could be read as another name",
        cure: "set \(name) to a value in UTF-8, or unset it")
    }
    return text
  }
}
