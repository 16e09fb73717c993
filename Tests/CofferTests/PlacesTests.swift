import CofferTestSupport
import Coffer
import CofferDefaults
import CofferStorage
import CofferTesting
import CofferVault
import Foundation
import Testing

@Suite struct PlacesTests {
  func places(_ environment: [String: String]) throws -> Places { try Places.standard { environment[$0] } }

  @Test
  func `without anything set, the places are those of the XDG base directories`() throws {
    let places = try places(["HOME": "/home/ada"])
    #expect(places.vault == "/home/ada/.local/share/coffer/vault.sqlite")
    #expect(places.defaults == "/home/ada/.config")
    #expect(places.propertyList(of: "com.example.app") == "/home/ada/.config/com.example.app.plist")
    #expect(places.state == "/home/ada/.local/state/coffer")
    // A machine with a login of this user has a folder for it.
    #expect(places.run == Places.loginFolder()?.appending("coffer") ?? "/home/ada/.local/state/coffer/run")
    #expect(places.home == nil)
  }

  @Test
  func `the XDG variables move them, unless they are relative`() throws {
    let places = try places([
      "HOME": "/home/ada", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "relative", "XDG_STATE_HOME": "",
      "XDG_RUNTIME_DIR": "/run/user/1",
    ])
    #expect(places.vault == "/d/coffer/vault.sqlite")
    #expect(places.defaults == "/home/ada/.config")
    #expect(places.state == "/home/ada/.local/state/coffer")
    #expect(places.run == "/run/user/1/coffer")
  }

  @Test
  func `the folder of a login counts only if it is this user's alone`() throws {
    let parent = try TestFolder("logins")
    let folder = parent.path.appending(String(geteuid()))
    func found() -> FilePath? { Places.loginFolder(in: parent.path) }
    #expect(found() == nil)
    #expect(mkdir(folder.string, 0o700) == 0)
    #expect(found() == folder)
    chmod(folder.string, 0o750)
    #expect(found() == nil)
    rmdir(folder.string)
    symlink("/tmp", folder.string)
    #expect(found() == nil)
    guard geteuid() == 0 else { return print("not checked: only root can give a folder to another user") }
    unlink(folder.string)
    #expect(mkdir(folder.string, 0o700) == 0 && chown(folder.string, 65534, 65534) == 0)
    #expect(found() == nil)
  }

  @Test
  func `COFFER_HOME holds everything, a relative one under the current folder`() throws {
    let places = try places(["HOME": "/home/ada", "XDG_DATA_HOME": "/d", "COFFER_HOME": "/srv/x/../coffer"])
    #expect(places == Places(home: "/srv/coffer"))
    #expect(places.vault == "/srv/coffer/data/vault.sqlite" && places.defaults == "/srv/coffer/config")
    #expect(places.state == "/srv/coffer/state" && places.run == "/srv/coffer/run")
    #expect(try self.places(["COFFER_HOME": "x"]).vault.path?.isAbsolute == true)
  }

  @Test
  func `COFFER_VAULT names another place for the vault alone, a relative one under the current folder`() throws {
    let places = try places(["COFFER_HOME": "/srv/coffer", "COFFER_VAULT": "/mnt/team.sqlite"])
    #expect(places.vault == "/mnt/team.sqlite" && places.state == "/srv/coffer/state" && places.home == "/srv/coffer")
    #expect(try self.places(["HOME": "/home/ada", "COFFER_VAULT": "v"]).vault.path?.isAbsolute == true)
    #expect(try self.places(["COFFER_HOME": "/srv/coffer", "COFFER_VAULT": ""]) == Places(home: "/srv/coffer"))
    let server = try self.places(["COFFER_HOME": "/srv/coffer", "COFFER_VAULT": "mysql://db/team"])
    #expect(server.vault.path == nil && kind { _ = try server.openVault() } == .unsupported)
    var other = Places(home: "/srv/coffer")
    other.vault = "/mnt/team.sqlite"
    #expect(other == places)
  }

  @Test
  func `a program refuses another vault than COFFER_EXPECT_VAULT names, as the command line does`() throws {
    let home = try TestHome()
    _ = try home.makeVault(service: "app")
    let (folder, id) = (try #require(home.places.home).string, try home.places.openVault().id)
    func opened(_ expected: String) throws -> LockedVault {
      try places(["COFFER_HOME": folder, "COFFER_EXPECT_VAULT": expected]).openVault()
    }
    #expect(try opened("").id == id && opened(id.description).options.expected == id)
    let invitation = try home.places.openVault().unlock(with: home.credentials()).invitation()
    #expect(try opened("\(invitation)").options.invitations == [invitation])
    #expect(kind { _ = try opened(String(repeating: "0", count: 32)) } == .replaced)
    #expect(kind { _ = try opened("nonsense") } == .invalidName)
    #expect(try places(["COFFER_HOME": folder, "COFFER_EXPECT_VAULT": "nonsense"]).vault == home.places.vault)
  }

  @Test
  func `a variable that is not UTF-8 names no place, and is no value: two folders would be one`() async {
    // In a separate process: other tests read the environment meanwhile.
    await #expect(processExitsWith: .success) {
      let notUTF8: [CChar] = [47, 98, -1, 0]
      for name in [
        "COFFER_HOME", "COFFER_VAULT", "COFFER_EXPECT_VAULT", "HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
        "XDG_RUNTIME_DIR",
      ] {
        unsetenv("COFFER_HOME")
        setenv(name, notUTF8, 1)
        let error = #expect(throws: StoreError.self) { try Places.standard() }
        #expect(error?.kind == .invalidName && error?.what.contains("\(name) in the environment is not UTF-8") == true)
        unsetenv(name)
      }
      setenv("XDG_CONFIG_HOME", notUTF8, 1)
      let domains = #expect(throws: StoreError.self) { try DefaultsDomain.list() }
      #expect(domains?.kind == .invalidName)
      setenv("APP_THEME", notUTF8, 1)
      let overrides = #expect(throws: StoreError.self) { try Overrides.commandLine(andEnvironment: "APP_") }
      #expect(overrides?.kind == .invalidName)
      // Variables that the program did not request are ignored.
      #expect(throws: Never.self) { try Overrides.commandLine(andEnvironment: "OTHER_") }
    }
  }

  @Test
  func `an unset HOME is looked up in the user database`() throws { #expect(try places([:]).defaults.isAbsolute) }
}
