package import CofferPlatform

/// The environment of this process, as text.
package enum EnvironmentVariable {
  /// The value of `name`; nil when it is not set.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` where the value is not UTF-8. Repaired, the names of two folders
  ///   would be one.
  package static func text(_ name: String) throws(StoreError) -> String? {
    guard let value = getenv(name) else { return nil }
    guard let text = String(validatingCString: value) else {
      throw StoreError(
        .invalidName, "\(name) in the environment is not UTF-8 (not repeated here), and would be taken for another name",
        cure: "set \(name) to a value in UTF-8, or unset it")
    }
    return text
  }
}
