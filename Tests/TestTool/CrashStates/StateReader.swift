internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// Opens leftover stores, as any program does, and prints their content: one line for each input line.
///
/// `vault VAULT KEYFILE PINS` verifies the vault as well, and `PINS` may be `-`. `plain FOLDER DOMAIN`; `pair HOME KEYFILE`.
/// The answer is `found STATE`, or `error KIND: …`.
enum StateReader {
  static func answer() {
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      do { VaultVerbs.say("found \(try look(words))") } catch {
        VaultVerbs.say("error \((error as? StoreError).map { "\($0.kind)" } ?? "other"): \(error)".replacing("\n", with: " "))
      }
    }
  }

  private static func look(_ words: [String]) throws -> String {
    switch words[0] {
    case "vault":
      let options = VaultOptions(pins: words[3] == "-" ? nil : FilePath(words[3]))
      let vault = try LockedVault.open(.file(FilePath(words[1])), options: options).unlock(with: VaultVerbs.credentials(words[2]))
      let state = try "\(VaultLife.State(of: vault))"
      _ = try vault.verify()
      // The remaining vault can be written too. Its state is the same afterwards.
      let name = try ItemName(service: "later")
      try vault.set(SecretForm(VaultVerbs.secret("later")), for: name)
      try vault.remove(name)
      _ = try vault.lock()
      return state
    case "plain":
      let store = try DefaultsStore.open(domain: words[2], in: FilePath(words[1]))
      let state = try PlainLife.state(of: store)
      try store.save(.bool(true), for: "later")
      try store.save(nil, for: "later")
      try store.close()
      return state
    default:
      let home = FilePath(words[1]), keys = TransactionKeys()
      let plain = try TransactionVerbs.plainStore(home), vault = try TransactionVerbs.vaultStore(home, words[2])
      let router = try StorageRouter(plain: plain, vault: vault, keys: keys)
      try plain.save(.string("reader was here"), for: "later")
      let (token, theme, size) = try router.values(keys.token, keys.theme, keys.size)
      _ = try LockedVault.open(.file(home.appending("vault.sqlite")), options: .withoutPins)
        .unlock(with: VaultVerbs.credentials(words[2])).verify()
      try plain.close()
      return try "\(token.map { try $0.reveal() } ?? "absent"),\(theme),\(size)"
    }
  }
}
