package import CofferPlatform

/// The value of a declared key, for a caller that knows its name and not its type.
package enum DeclaredForm: Sendable {
  /// A preference.
  case plain(PlainForm)
  /// A secret.
  case secret(SecretForm)

  /// The form that a read of the key, or the member of a family, declared by `router` as `name` would decode. Like every read it
  /// first moves the value of an older program. Nil if nothing is stored, or declared.
  ///
  /// - Throws: the errors of ``StorageRouter/value(for:)``, except for a value of another type.
  package static func load(_ name: String, from router: StorageRouter) throws(StoreError) -> DeclaredForm? {
    try router.keys.key(named: name)?.form(on: router)
  }
}
