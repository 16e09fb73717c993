package import CofferPlatform

/// The value of a declared key, for a caller that does not know its type.
package enum DeclaredForm: Sendable {
  case plain(PlainForm)
  case secret(SecretForm)

  /// The form that a read of the declared key, or family member, `name` would decode. Like every read it first moves a former
  /// value. Nil if nothing is stored, or the name is not declared.
  ///
  /// - Throws: the errors of ``StorageRouter/value(for:)``, except for a value of another type.
  package static func load(_ name: String, from router: StorageRouter) throws(StoreError) -> DeclaredForm? {
    try router.keys.key(named: name)?.form(on: router)
  }
}
