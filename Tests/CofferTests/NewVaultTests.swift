import Coffer
import CofferTestSupport
import Foundation
import Testing

@Suite struct NewVaultTests {
  private struct Keys: KeySpace {
    let token = StorageKey("token", secret: String.self)
  }

  private func withHome(_ body: (Places, FilePath) throws -> Void) throws {
    let folder = try TestFolder("new-vault")
    try withExtendedLifetime(folder) { try body(Places(home: folder.path.appending("home")), $0.path) }
  }

  private func expect(
    _ kind: StoreError.Kind, at place: FilePath, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    let error = #expect(throws: StoreError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error?.kind == kind, sourceLocation: sourceLocation)
    #expect(error?.place == place.string, "\(String(describing: error))", sourceLocation: sourceLocation)
  }

  private func isThere(_ path: FilePath) -> Bool { access(path.string, F_OK) == 0 }
  private func text(_ path: FilePath) throws -> String { try String(contentsOfFile: path.string, encoding: .utf8) }
  private func names(_ folder: FilePath) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.string).sorted()
  }
  private func vault(_ places: Places) throws -> FilePath { FilePath(places.vault.description) }

  @Test func `one call makes the vault and the key file that opens it, for their owner alone, and unlocks`() throws {
    try withHome { places, folder in
      let path = folder.appending("key"), keys = Keys()
      let app = try StorageRouter.open("app", keys: keys, vault: places.createVault(newKeyFileAt: path), places: places)
      try app.set(Sealed("tok_123"), for: keys.token)
      try app.close()
      #expect(try text(path).wholeMatch(of: /PVKEY1-[0-9a-f]{72}\n/) != nil)
      for file in [path, try vault(places)] {
        let mode = try FileManager.default.attributesOfItem(atPath: file.string)[.posixPermissions] as? Int
        #expect(mode == 0o600, "\(file)")
      }
      let again = try StorageRouter.open("app", keys: keys, credentials: Credentials(keyFileAt: path), places: places)
      #expect(try again.value(for: keys.token)?.reveal() == "tok_123")
      try again.close()
      #expect(try names(folder) == ["home", "key"])
    }
  }

  @Test func `a key file is never overwritten, and nothing is made beside it`() throws {
    try withHome { places, folder in
      let path = folder.appending("key")
      // That of another vault, or of a call that was interrupted.
      let other = Places(home: folder.appending("other"))
      _ = try other.createVault(newKeyFileAt: path)
      let content = try text(path)
      expect(.alreadyExists, at: path) { _ = try places.createVault(newKeyFileAt: path) }
      #expect(try text(path) == content && !isThere(places.defaults.parent))
      _ = try other.openVault().unlock(with: Credentials(keyFileAt: path))
      for name in ["folder", "link"] {
        let taken = folder.appending(name)
        if name == "folder" {
          try #require(mkdir(taken.string, 0o700) == 0)
        } else {
          try #require(symlink("nowhere", taken.string) == 0)
        }
        expect(.alreadyExists, at: taken) { _ = try places.createVault(newKeyFileAt: taken) }
      }
      #expect(try names(folder) == ["folder", "key", "link", "other"])
    }
  }

  @Test func `where there is a vault, or another file in its place, no key file is made`() throws {
    try withHome { places, folder in
      let first = folder.appending("first"), second = folder.appending("second")
      _ = try places.createVault(newKeyFileAt: first)
      expect(.alreadyExists, at: try vault(places)) { _ = try places.createVault(newKeyFileAt: second) }
      _ = try places.openVault().unlock(with: Credentials(keyFileAt: first))
      try Data("no vault".utf8).write(to: URL(filePath: vault(places).string))
      expect(.notAVault, at: try vault(places)) { _ = try places.createVault(newKeyFileAt: second) }
      #expect(try text(vault(places)) == "no vault")
      #expect(try names(folder) == ["first", "home"])
    }
  }

  @Test func `a key file's folder must be there, and nobody else may write to it`() throws {
    try withHome { places, folder in
      let open = folder.appending("open")
      try #require(mkdir(open.string, 0o700) == 0 && chmod(open.string, 0o777) == 0)
      expect(.denied, at: open) { _ = try places.createVault(newKeyFileAt: open.appending("key")) }
      let none = folder.appending("none")
      expect(.io(ENOENT), at: none) { _ = try places.createVault(newKeyFileAt: none.appending("key")) }
      for path in [FilePath("/"), folder.appending(".."), ""] {
        expect(.denied, at: path) { _ = try places.createVault(newKeyFileAt: path) }
      }
      #expect(try names(open).isEmpty && names(folder) == ["open"])
    }
  }

  @Test func `where the vault's folder is not to be trusted, no key file is left`() throws {
    try withHome { places, folder in
      let data = try vault(places).parent, path = folder.appending("key")
      try FileManager.default.createDirectory(atPath: data.string, withIntermediateDirectories: true)
      try #require(chmod(data.string, 0o777) == 0)
      expect(.denied, at: data) { _ = try places.createVault(newKeyFileAt: path) }
      #expect(!isThere(path))
      try #require(chmod(data.string, 0o700) == 0 && chmod(data.parent.string, 0o700) == 0)
      _ = try places.createVault(newKeyFileAt: path)
    }
  }

  @Test func `no vault is made where the environment expects a certain one`() throws {
    try withHome { _, folder in
      let variables = ["COFFER_HOME": folder.string, "COFFER_EXPECT_VAULT": String(repeating: "0", count: 32)]
      let places = try Places.standard { name throws(StoreError) in variables[name] }
      expect(.refused, at: try vault(places)) { _ = try places.createVault(newKeyFileAt: folder.appending("key")) }
      #expect(try names(folder).isEmpty)
    }
  }

  @Test func `who gives another file than a key file reads how to make one`() throws {
    try withHome { places, folder in
      _ = try places.createVault(newKeyFileAt: folder.appending("key"))
      for (name, content) in [("photo", String(repeating: "x", count: 500)), ("word", "short")] {
        let path = folder.appending(name)
        try Data(content.utf8).write(to: URL(filePath: path.string))
        chmod(path.string, 0o600)
        let error = #expect(throws: StoreError.self) {
          _ = try places.openVault().unlock(with: Credentials(keyFileAt: path))
        }
        #expect(error?.cure.contains("Places.createVault(newKeyFileAt:) or coffer init --new-key-file PATH") == true)
      }
    }
  }
}
