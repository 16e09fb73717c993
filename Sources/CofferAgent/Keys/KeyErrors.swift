internal import CofferPlatform

/// Uses that a key refuses, and bytes that are no key.
extension StoreError {
  /// A use that a key's rules or a person forbid.
  static func useRefused(_ why: String) -> StoreError {
    StoreError(.refused, why, cure: "change the key's rules, or approve the use")
  }

  static func passphraseNeeded(_ key: String) -> StoreError {
    StoreError(.refused, "only the vault's passphrase approves a use", key: key, cure: "give the passphrase with the approval")
  }

  static func malformedRule(_ line: String, _ expected: String) -> StoreError {
    StoreError(
      .undecodable(stored: "malformed rule"), "'\(line.prefix(120))' is no rule of a key", cure: "give \(expected)")
  }

  static var foreignHalf: StoreError {
    StoreError(.damaged, "the item's public half is of another key", cure: "store the key again under another name")
  }

  static func unknownConstraint(_ which: String) -> StoreError {
    StoreError(.unsupported, "the constraint \(which) of a key is unknown", cure: "use the options -t, -c and -h of ssh-add")
  }
}
