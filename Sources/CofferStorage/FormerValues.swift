internal import CofferPlatform

/// What lies under a key's former names and in its plain copies, and cannot be moved. It leaves in the very step that replaces
/// the key's value, so that a step that fails leaves all of it where it was.
@usableFromInline
package struct FormerValues {
  var plain = Batch<Plain>()
  var vault = Batch<Vault>()
  var changes: [Migration.Change] = []
  /// Whether the plain store's files may still say a secret once the values have left.
  var leavesSecrets = false
}

extension Transaction {
  /// Removes, once the transaction commits, what could not be moved of the key `name`, which it replaces.
  func drop(_ values: FormerValues, of name: String) {
    plain.writes.merge(values.plain.writes) { own, _ in own }
    vault.writes.merge(values.vault.writes) { own, _ in own }
    // Noted in the same step: whoever opens the store after a crash finishes the scrubbing.
    if values.leavesSecrets { plain.writes[ReservedName.scrubPending] = .set(.bool(true)) }
    former[name] = values
  }

  /// Commits what was gathered, and then tells of what left with it.
  func commit() throws(StoreError) {
    try router.commit(plain.batch, vault.batch)
    for (name, former) in former { router.migrator.record(name, .success(former.changes)) }
    if former.values.contains(where: \.leavesSecrets) { router.finishScrubbing() }
  }
}
