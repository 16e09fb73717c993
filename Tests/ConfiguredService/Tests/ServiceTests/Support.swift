import Coffer
import CofferVault
import Foundation
import Testing

struct ServiceHome {
  let folder: URL
  let keys: Keys
  let vault: VaultStore
  let app: StorageRouter
  private let key: SecretForm

  struct Keys: KeySpace {
    let greeting = StorageKey("service.greeting", default: "Hello")
    let port = StorageKey("service.port", default: 0)
    let token = StorageKey("service.token", secret: String.self)
    let ratio = StorageKey("ratio", default: 0.5)
    let on = StorageKey("on", default: false)
    let data = StorageKey("data", default: Data())
    let names = StorageKey("names", default: [String]())
    let numbers = StorageKey("numbers", default: [Int]())
    let ratios = StorageKey("ratios", default: [Double]())
    let flags = StorageKey("flags", default: [Bool]())
    let parts = StorageKey("parts", default: [Data]())
    let pins = StorageKey("pins", secret: [Int].self)
    let brief = StorageKey("brief", secret: String.self).expires { _ in Date(timeIntervalSince1970: 1) }
    let hosts = StorageKeyFamily("hosts", of: String.self)
  }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "coffer-service-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let places = Places(home: FilePath(folder.path()))
    key = SecretForm(try KeyFile.generate())
    let unlocked = try UnlockedVault.create(
      at: places.vault, with: Credentials(keyFile: try key.bytes.duplicate()), options: places.vaultOptions)
    keys = Keys()
    vault = try VaultStore(service: "service", vault: unlocked)
    app = try StorageRouter.open("service", keys: keys, vault: vault, places: places, overrides: .none)
  }

  func credentials() throws -> Credentials { Credentials(keyFile: try key.bytes.duplicate()) }

  func remove() throws {
    try app.close()
    try FileManager.default.removeItem(at: folder)
  }
}
