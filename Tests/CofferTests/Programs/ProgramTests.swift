import Coffer
import CofferDefaults
import CofferMemory
import CofferObservation
import CofferStorage
import CofferValues
import CofferVault
import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .defaultRun) struct ProgramTests {
  private static func newPlaces() throws -> (places: Places, keyFile: FilePath) {
    let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().appending(path: "coffer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let places = Places(home: FilePath(folder.path())), keyFile = FilePath(folder.path()).appending("key")
    try KeyFile.generate().withUnsafeBytes { try Data($0).write(to: URL(filePath: keyFile.string)) }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyFile.string)
    _ = try UnlockedVault.create(at: places.vault, with: Credentials(keyFileAt: keyFile), options: places.vaultOptions).lock()
    return (places, keyFile)
  }

  /// Repeats while a released store still writes a last file there.
  private static func remove(_ keyFile: FilePath) {
    let folder = keyFile.removingLastComponent().string
    eventually("the folder is removed") {
      do { try FileManager.default.removeItem(atPath: folder) } catch {}
      return !FileManager.default.fileExists(atPath: folder)
    }
  }

  @MainActor @Test
  func `a desktop application shows who is logged in, a theme and recent documents, whoever changes them`() async throws {
    let (places, keyFile) = try Self.newPlaces()
    defer { Self.remove(keyFile) }
    let vault = try await VaultStore(
      service: "org.example.desktop", vault: places.openVault().unlock(with: Credentials(keyFileAt: keyFile)))
    let keys = DesktopKeys()
    let app = try StorageRouter.open("org.example.desktop", keys: keys, vault: vault, places: places)
    let (one, other) = (try Desktop(app), try Desktop(app))
    #expect(one.title == "nobody" && one.menu == [] && one.theme.value == "light")
    try other.logIn("ada", "tok")
    for document in ["a", "b", "a"] { try other.open(document) }
    other.theme.value = "dark"
    try await poll("the first window shows it all") {
      one.title == "ada" && one.menu == ["a", "b"] && one.theme.value == "dark"
    }
    #expect(one.title == "ada" && one.menu == ["a", "b"] && one.theme.value == "dark")
    #expect(try app.members(of: keys.zoom) == ["a", "b"] && app[keys.zoom["b"]] == 1.5)
    try await one.session.logout()
    try await poll("the other window shows the logout") { other.title == "nobody" }
    #expect(other.title == "nobody")
    let mail = try vault.store(ofService: "smtp.example.com")
    #expect(try mail.names() == [])
    try await app.close()
  }

  @Test
  func `eight worker processes unlock with a key file, and lose neither a token nor a count`() async throws {
    let (places, keyFile) = try Self.newPlaces()
    defer { Self.remove(keyFile) }
    let (home, key) = (try places.vault.file().removingLastComponent().removingLastComponent().string, keyFile.string)
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          await #expect(processExitsWith: .success) { [worker = worker as Int, home = home as String, key = key as String] in
            let server = try Worker(
              ["serve", "-region", "eu", "--port", "80"], keyFile: FilePath(key), places: Places(home: FilePath(home)))
            #expect(server.arguments == ["serve", "--port", "80"])
            #expect(server.app[server.keys.region] == "eu" && server.app[server.keys.refresh] == 30)
            for number in 0..<10 { try server.serve("customer \(worker)/\(number)", "token \(worker)/\(number)") }
            try server.app.close()
          }
        }
      }
    }
    let server = try Worker([], keyFile: keyFile, places: places)
    #expect(server.app[server.keys.served] == 80 && server.app[server.keys.region] == nil)
    let customers = try await server.app.members(of: server.keys.tokens)
    #expect(customers.count == 80)
    #expect(try await server.app.value(for: server.keys.tokens["customer 7/9"])?.reveal() == "token 7/9")
    try await server.app.close()
  }
}
