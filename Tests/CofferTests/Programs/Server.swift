import Coffer
import CofferDefaults
import CofferMemory
import CofferObservation
import CofferStorage
import CofferValues
import CofferVault

// A server whose worker processes each unlock the vault.

struct ServerKeys: KeySpace {
  let tokens = StorageKeyFamily("api", secret: String.self)
  let refresh = StorageKey("refreshSeconds", default: 5)
  let region = StorageKey("region", of: String.self)
  let served = StorageKey("served", default: 0)
}

struct Worker {
  let keys = ServerKeys(), app: StorageRouter, arguments: [String]

  /// - Parameter arguments: the command line; another parser reads the words that are no overrides.
  init(_ arguments: [String], keyFile: FilePath, places: Places? = nil) throws {
    var arguments = arguments
    let overrides = try Overrides.take(from: &arguments, for: keys)
    app = try StorageRouter.open(
      "org.example.server", keys: keys, credentials: Credentials(keyFileAt: keyFile), suites: ["org.example.shared"],
      places: places, overrides: overrides
    ) { [keys] in $0.register(30, for: keys.refresh) }
    self.arguments = arguments
  }

  func serve(_ customer: String, _ token: String) throws {
    try app.transaction { tx in
      try tx.set(Sealed(token), for: keys.tokens[customer])
      try tx.update(keys.served) { $0 += 1 }
    }
  }
}
