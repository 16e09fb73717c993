import Coffer
import Testing

@Suite struct PlacesTests {
  func places(_ environment: [String: String]) throws -> Places { try Places.standard { environment[$0] } }

  @Test("without anything set, the places are those of the XDG base directories")
  func fallbacks() throws {
    let places = try places(["HOME": "/home/ada"])
    #expect(places.vault == "/home/ada/.local/share/coffer/vault.sqlite")
    #expect(places.defaults == "/home/ada/.config")
    #expect(places.propertyList(of: "com.example.app") == "/home/ada/.config/com.example.app.plist")
    #expect(places.state == "/home/ada/.local/state/coffer")
    #expect(places.run == nil && places.home == nil)
  }

  @Test("the XDG variables move them, unless they are relative")
  func variables() throws {
    let places = try places([
      "HOME": "/home/ada", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "relative", "XDG_STATE_HOME": "",
      "XDG_RUNTIME_DIR": "/run/user/1",
    ])
    #expect(places.vault == "/d/coffer/vault.sqlite")
    #expect(places.defaults == "/home/ada/.config")
    #expect(places.state == "/home/ada/.local/state/coffer")
    #expect(places.run == "/run/user/1/coffer")
  }

  @Test("COFFER_HOME holds everything, a relative one under the current folder")
  func home() throws {
    let places = try places(["HOME": "/home/ada", "XDG_DATA_HOME": "/d", "COFFER_HOME": "/srv/x/../coffer"])
    #expect(places == Places(home: "/srv/coffer"))
    #expect(places.vault == "/srv/coffer/data/vault.sqlite" && places.defaults == "/srv/coffer/config")
    #expect(places.state == "/srv/coffer/state" && places.run == "/srv/coffer/run")
    #expect(try self.places(["COFFER_HOME": "x"]).vault.isAbsolute)
  }

  @Test("an unset HOME is looked up in the user database")
  func userDatabase() throws { #expect(try places([:]).defaults.isAbsolute) }
}
