import Coffer
import CofferPostgres

struct FleetKeys: KeySpace {
  let interval = StorageKey("poll.interval", default: 30)
  let token = StorageKey("token", secret: String.self)
}

/// The block of the page about shared vaults, as a program has it.
func openFleet(_ place: VaultPlace, _ vault: consuming UnlockedVault) throws -> StorageRouter {
  let settings = try PostgresDefaults.open(domain: "com.example.app", at: place)
  let store = try VaultStore(service: "com.example.app", vault: vault)
  let app = try StorageRouter(plain: settings, vault: store, keys: FleetKeys())
  try app.transaction { transaction in
    try transaction.set(60, for: FleetKeys().interval)
    try transaction.set(Sealed("t"), for: FleetKeys().token)
  }
  return app
}
