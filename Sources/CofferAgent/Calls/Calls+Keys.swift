internal import CofferClient
internal import CofferPlatform
internal import CofferVault

/// A call about the keys of a vault, which programs use and never read. Its answer is a list, in as many frames as it needs.
package struct KeyCall<Element: WireValue, each Argument: WireValue>: Sendable {
  let request: AgentProtocol.Request
  let effect: CallEffect
  /// Is given the process at the socket, too.
  let work: @Sendable (Keyring, ProcessFacts?, borrowing UnlockedVault, repeat each Argument) throws(StoreError) -> [Element]

  init(
    _ request: AgentProtocol.Request, _ effect: CallEffect = .none,
    _ work:
      @escaping @Sendable (Keyring, ProcessFacts?, borrowing UnlockedVault, repeat each Argument) throws(StoreError)
      -> [Element]
  ) {
    (self.request, self.effect, self.work) = (request, effect, work)
  }
}

/// Keys. `allow` is not among these: a passphrase is compared before the vault's turn.
extension Calls {
  /// Those that may be used through the sessions, the likeliest first.
  package static let keys = KeyCall<KeyListing, [SessionBinding]>(.keys) { (keyring, _, vault, bindings) throws(StoreError) in
    try keyring.list(for: bindings, in: vault)
  }
  /// One outcome.
  package static let use = KeyCall<KeyOutcome, KeyUse>(.use) { (keyring, client, vault, use) throws(StoreError) in
    [try keyring.use(use, by: client, in: vault)]
  }
  /// The key's public line, or an identity's recipient.
  package static let put = KeyCall<String, KeyAddition>(.put, .items) { (keyring, _, vault, addition) throws(StoreError) in
    [try keyring.put(addition, in: vault)]
  }
  /// Nil drops all that `ssh-add` brought, and hides the vault's. The number of keys that are gone from the list.
  package static let drop = KeyCall<UInt64, KeyBlob?>(.drop) { (keyring, _, vault, blob) throws(StoreError) in
    [UInt64(clamping: try keyring.drop(blob?.bytes, in: vault))]
  }
  /// The newest rows of the log of uses, oldest first, nil for all; then the open questions.
  package static let uses = KeyCall<UseEntry, UInt64?>(.uses) { (keyring, _, vault, most) throws(StoreError) in
    try keyring.uses(most: most.map { Int(clamping: $0) }, in: vault)
  }
}
