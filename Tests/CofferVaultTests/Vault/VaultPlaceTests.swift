import CofferPlatform
import CofferStorage
import CofferTestSupport
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultRows

@Suite struct VaultPlaceTests {
  @Test(arguments: ["/a/v.sqlite", "v", "./postgresql://x", "a:b", "://x", "1a://x", "a b://x", "", "post:/gresql", "ä://x"])
  func `a path is the place of a file, and a literal of it too`(path: String) throws {
    let place = VaultPlace(path)
    #expect(place.path == FilePath(path) && place == .file(FilePath(path)) && place.description == FilePath(path).string)
    #expect(try place.file() == FilePath(path))
    let literal: VaultPlace = "/a/v.sqlite"
    #expect(literal == .file("/a/v.sqlite"))
  }

  @Test(arguments: ["mysql://ada:hunter2@db/team#main", "redis://db", "HTTPS://x", "a+b-c.d://", "x://"])
  func `a URL is a place on a server, which nothing opens or makes, and of which the scheme alone is told`(url: String) throws {
    let place = VaultPlace(url)
    let scheme = String(url.prefix { $0 != ":" })
    #expect(place.path == nil && place.description == "\(scheme)://…" && place != VaultPlace(url + "x"))
    #expect(try place.absolute() == place)
    let home = try TemporaryVault()
    let vault = try home.create()
    let file = home.folder.appending("backup")
    _ = try LockedVault.open(home.path).backup(to: file)
    for call: () throws -> Void in [
      { _ = try LockedVault.open(place, options: .withoutPins) },
      { _ = try UnlockedVault.create(at: place, with: TemporaryVault.credentials(), options: .withoutPins) },
      { _ = try RestorableBackup(file, toRestoreAt: place) },
    ] {
      let error = #expect(throws: StoreError.self) { try call() }
      #expect(error?.kind == .unsupported && error.map { "\($0)" }?.contains("hunter2") == false)
    }
    #expect(kind { _ = try vault.export(to: place, with: TemporaryVault.credentials()) } == .unsupported)
    #expect(vault.place == .file(home.path))
  }

  @Test func `a relative place is made absolute in the folder that is current`() throws {
    let place = try VaultPlace("x/v.sqlite").absolute()
    #expect(place.path?.isAbsolute == true && place.description.hasSuffix("/x/v.sqlite"))
    #expect(try VaultPlace("/x/../v").absolute() == "/x/../v", "what .. leads to is for the system to say")
  }
}
