/// A name compared as its store does: the vault compares bytes; a property list treats canonically equal names in Unicode as
/// one.
package struct EntryName<R: Route>: Hashable, Sendable {
  package let text: String
  private var isOfVault: Bool { R.self == Vault.self }

  package init(_ text: String) { self.text = text }

  package static func == (one: Self, other: Self) -> Bool {
    one.isOfVault ? one.text.hasSameBytes(as: other.text) : one.text == other.text
  }

  package func hash(into hasher: inout Hasher) {
    guard isOfVault else { return hasher.combine(text) }
    for byte in text.utf8 { hasher.combine(byte) }
  }
}
