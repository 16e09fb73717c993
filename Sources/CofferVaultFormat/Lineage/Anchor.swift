/// A key that a vault's present one must come from, known from where the vault's writer cannot reach.
package struct Anchor: Hashable, Sendable {
  package let vault: VaultSalt
  package let key: EpochMark
  package let source: Source
  /// Whether somebody has said that the vault is right, and with it that so old an anchor need not be proven.
  package var mayBeTooOld = false

  package init(vault: VaultSalt, key: EpochMark, source: Source, mayBeTooOld: Bool = false) {
    (self.vault, self.key, self.source, self.mayBeTooOld) = (vault, key, source, mayBeTooOld)
  }

  package typealias Source = Contradiction.Source
  package typealias Refusal = Contradiction.Refusal
}

extension FormatError {
  /// `anchor` does not hold of the vault at hand.
  package static func contradicted(_ anchor: Anchor, _ refusal: Anchor.Refusal) -> FormatError {
    .contradicted(
      Contradiction(vault: anchor.vault.description, epoch: anchor.key.epoch, source: anchor.source, refusal: refusal))
  }
}
