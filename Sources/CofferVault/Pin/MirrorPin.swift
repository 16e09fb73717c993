internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

enum MirrorPin {
  /// For a mirror, or a file in its place, of unknown age.
  static func unknownAge(_ kind: StoreError.Kind, _ what: String, _ place: String) -> StoreError {
    StoreError(
      kind, "\(what), so its age is unknown", place: place,
      cure: "move it away, and create the mirror again with UnlockedVault.mirror(to:)", remedy: .remakeMirror)
  }

  /// For a mirror that is not the last one made.
  static func older(_ kind: StoreError.Kind, _ what: String, _ place: VaultPlace) -> StoreError {
    StoreError(
      kind, what, place: place.description,
      cure: "another copy was put in the mirror's place: create it again with UnlockedVault.mirror(to:)", remedy: .makeMirror)
  }

  /// For a mirror opened as the vault itself: a write to it would fork the history.
  static func mistaken(_ place: VaultPlace) -> StoreError {
    StoreError(
      .refused, "this is a mirror of the vault, and not the vault", place: place.description,
      cure: "open it as a mirror, by VaultPlace.mirror(_:)", remedy: .openMirror)
  }

  /// For a vault opened as a mirror.
  static func vault(at place: VaultPlace) -> StoreError {
    StoreError(
      .refused, "this is a vault, and no mirror", place: place.description,
      cure: "give its path as that of a vault, without mirror:")
  }

  static func replaced(_ found: VaultSalt, _ expected: VaultSalt, _ place: VaultPlace) -> StoreError {
    StoreError(
      .replaced, "the mirror is of vault \(expected), and vault \(found) is here", place: place.description,
      cure: "put the mirror back; to mirror the other vault, give another path, or remove the mirror", remedy: .remakeMirror)
  }
}
