package import CofferPlatform

/// What a declared key has, for whoever knows its name alone, before anyone said as which type it is wanted.
package enum DeclaredForm: Sendable {
  /// A preference.
  case plain(PlainForm)
  /// A secret.
  case secret(SecretForm)

  /// What a read of the key, or the member of a family, that `router` declares as `name` would decode. Like every read it first
  /// moves what an older program stored. Nil where nothing is stored, and where nothing is declared.
  ///
  /// - Throws: what ``StorageRouter/value(for:)`` throws, but for a value of another type.
  package static func load(_ name: String, from router: StorageRouter) throws(StoreError) -> DeclaredForm? {
    try router.keys.key(named: name)?.form(on: router)
  }
}
