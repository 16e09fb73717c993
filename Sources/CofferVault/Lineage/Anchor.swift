/// A key that a vault's present one must come from, known from where the vault's writer cannot reach.
struct Anchor: Hashable, Sendable {
  let vault: VaultSalt
  let key: EpochMark
  let source: Source
  /// Whether somebody has said that the vault is right, and with it that so old an anchor need not be proven.
  var mayBeTooOld = false

  typealias Source = Contradiction.Source
  typealias Refusal = Contradiction.Refusal
}

extension FormatError {
  /// `anchor` does not hold of the vault at hand.
  static func contradicted(_ anchor: Anchor, _ refusal: Anchor.Refusal) -> FormatError {
    .contradicted(
      Contradiction(vault: anchor.vault.description, epoch: anchor.key.epoch, source: anchor.source, refusal: refusal))
  }
}
