import CofferTestSupport
import Coffer
import CofferDefaults
import CofferPlatform
import CofferVault
import CofferStorage
import Foundation
import SystemPackage
import Testing

/// A process is stopped between an outcome and the journal, while somebody restores the vault.
@Suite struct RestoredTransactionTests {
  private func restoring(_ home: SessionHome, _ backup: FilePath) throws -> DefaultsStore {
    let settle: @Sendable (TransactionID, String) throws(StoreError) -> TransactionOutcome = { (id, place) throws(StoreError) in
      let outcome = try DecidedTransactions.settle(id, in: VaultPlace(place))
      do {
        _ = try RestorableBackup(backup, toRestoreAt: home.places.vault)
          .restore(with: home.credentials(), options: home.places.vaultOptions)
      } catch let error as StoreError { throw error } catch { Issue.record(error) }
      return outcome
    }
    let store = try DefaultsStore.open(domain: "app", in: home.places.defaults)
    store.settle(
      with: DecisionLookup(
        outcome: DecidedTransactions.lookup.outcome, settle: settle, forget: DecidedTransactions.lookup.forget))
    return store
  }

  /// Sets `theme` and `token`, and leaves open whether the vault has decided.
  private func transact(_ plain: DefaultsStore, _ vault: VaultStore, isMade: Bool) throws {
    let secret = SecretForm(try SecretBytes.random(8))
    var theme = Batch<Plain>()
    theme.writes["theme"] = .set(.string("new"))
    try plain.commit(
      theme,
      decision: Decision(place: vault.place) { (id) throws(StoreError) in
        var token = Batch<Vault>()
        token.decides = id
        token.writes["token"] = .set(secret)
        if isMade { try vault.commit(token, decision: nil) }
        throw StoreError(.outcomeUnknown, "nobody answered", cure: "ask")
      })
  }

  @Test
  func `an outcome that was learnt before a restore holds after it: the plain half is kept, and nothing stays open`() throws {
    let home = try SessionHome()
    let backup = FilePath(home.path + "/backup")
    _ = try home.places.openVault().backup(to: backup)
    let (_, vault) = try home.open()
    let plain = try restoring(home, backup)
    try plain.save(.string("old"), for: "theme")
    try transact(plain, vault, isMade: true)
    #expect(try plain.load("theme") == .string("new"), "the transaction had ended, as far as its writer knows")
    #expect(try vault.load("token") == nil, "the backup has nothing of it")
    try plain.close()
    let (app, _) = try home.open()
    try app.transaction {
      try $0.set("newer", for: home.keys.theme)
      try $0.set(Sealed("token"), for: home.keys.token)
    }
    #expect(try app.value(for: home.keys.theme) == "newer" && app.value(for: home.keys.token)?.reveal() == "token")
  }

  @Test
  func `a batch that was given up before a restore stays given up`() throws {
    let home = try SessionHome()
    let backup = FilePath(home.path + "/backup")
    _ = try home.places.openVault().backup(to: backup)
    let (_, vault) = try home.open()
    let plain = try restoring(home, backup)
    try plain.save(.string("old"), for: "theme")
    let error = #expect(throws: StoreError.self) { try transact(plain, vault, isMade: false) }
    #expect(error?.kind == .busy)
    #expect(try plain.load("theme") == .string("old") && vault.load("token") == nil)
    try plain.close()
    #expect(try home.open().app.value(for: home.keys.theme) == "old")
  }
}
