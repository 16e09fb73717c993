internal import CofferPlatform

/// Values under a key's former names and in its plain copies that cannot be moved. The step that replaces the key's value
/// removes them; if it fails, all of them stay.
@usableFromInline
package struct FormerValues {
  var plain = Batch<Plain>()
  var vault = Batch<Vault>()
  var changes: [Migration.Change] = []
  /// Whether the plain store's files may still hold a secret after the values have left.
  var leavesSecrets = false
}

extension Transaction {
  func drop(_ values: FormerValues, of name: String) {
    plain.writes.merge(values.plain.writes) { own, _ in own }
    vault.writes.merge(values.vault.writes) { own, _ in own }
    // Noted in the same step: the next opener of the store finishes the scrubbing after a crash.
    if values.leavesSecrets { plain.writes[ReservedName.scrubPending] = .set(.bool(true)) }
    former[name] = values
  }

  func commit() throws(StoreError) {
    try router.commit(plain.batch, vault.batch)
    for (name, former) in former { router.migrator.record(name, .success(former.changes)) }
    if former.values.contains(where: \.leavesSecrets) { router.finishScrubbing() }
  }
}
