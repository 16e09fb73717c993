/// A key from which a vault's current one must descend, known from a source that the vault's writer cannot reach.
package struct Anchor: Hashable, Sendable {
  package let vault: VaultSalt
  package let key: EpochMark
  package let source: Source
  /// The user vouched for the vault, so an anchor this old need not be proven.
  package var mayBeTooOld = false

  package init(vault: VaultSalt, key: EpochMark, source: Source, mayBeTooOld: Bool = false) {
    (self.vault, self.key, self.source, self.mayBeTooOld) = (vault, key, source, mayBeTooOld)
  }

  package typealias Source = Contradiction.Source
  package typealias Refusal = Contradiction.Refusal
}

extension FormatError {
  package static func contradicted(_ anchor: Anchor, _ refusal: Anchor.Refusal) -> FormatError {
    .contradicted(
      Contradiction(vault: anchor.vault.description, epoch: anchor.key.epoch, source: anchor.source, refusal: refusal))
  }
}
