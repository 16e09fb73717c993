import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct PlainCommandTests {
  @Test
  func `defaults speaks the spelling of macOS`() throws {
    let home = try Home()
    try home.transcript("defaults write app volume -int -5")
    try home.transcript("defaults write app scale -float -0.5")
    try home.transcript("defaults write app name hello")
    try home.transcript("defaults write app loud -bool YES")
    try home.transcript("defaults write app mark -data 00ff")
    try home.transcript("defaults write app day -date 2026-12-31T18:00:00Z")
    try home.transcript("defaults write app list -array a -int 5 'x y'")
    try home.transcript("defaults write app list -array-add b")
    try home.transcript("defaults write app map -dict k v n -int 7")
    try home.transcript("defaults write app map -dict-add k w")
    try home.transcript("defaults write app dash -string -n")
    try home.transcript("defaults read app volume", out: "-5\n")
    try home.transcript("defaults read app loud", out: "1\n")
    try home.transcript("defaults read app name", out: "hello\n")
    try home.transcript("defaults read app dash", out: "-n\n")
    try home.transcript("defaults read app list", out: "(\n    a,\n    5,\n    \"x y\",\n    b\n)\n")
    try home.transcript(
      "defaults read app --json",
      out: #"{"dash":"-n","day":"2026-12-31T18:00:00Z","list":["a",5,"x y","b"],"loud":true,"map":{"k":"w","n":7},"#
        + #""mark":{"base64":"AP8="},"name":"hello","scale":-0.5,"volume":-5}"# + "\n")
    try home.transcript("defaults domains", out: "app\n")
    try home.transcript("defaults delete app volume")
    try home.transcript("defaults read app volume", err: "nothing is stored in domain 'app'", exit: 1)
    try home.transcript("defaults delete app volume", err: "coffer: 'volume'", exit: 1)
    try home.transcript("defaults delete app")
    try home.transcript("defaults read nobody", err: "there is no such domain", exit: 1)
  }

  @Test
  func `the program's options stand before or after the words of defaults write`() throws {
    let home = try Home()
    try home.transcript("--home \(home.path)/x defaults write app k -int 1")
    try home.transcript("defaults write --home \(home.path)/x app l -int 2")
    try home.transcript("defaults write app m -array -int 3 --quiet --home \(home.path)/x")
    try home.transcript("defaults write app n -string --quiet --home=\(home.path)/x")
    try home.transcript("defaults read app --json --home \(home.path)/x", out: #"{"k":1,"l":2,"m":[3],"n":"--quiet"}"# + "\n")
    #expect(!home.exists("config"))
  }

  @Test
  func `a mistyped type flag does not become text`() throws {
    let home = try Home()
    try home.transcript("defaults write app loud -boool YES", err: "is no type flag", exit: 64)
    for word in ["perhaps", "on", "off", "y", "2"] {
      try home.transcript("defaults write app loud -bool \(word)", err: "the value is not a bool", exit: 64)
      try home.transcript("defaults write app loud -array -bool \(word)", err: "the value is not a bool", exit: 64)
    }
    for word in ["true", "FALSE", "Yes", "no", "1", "0"] { try home.transcript("defaults write valid loud -bool \(word)") }
    for word in ["1e400", "-1e400", "0x1p2000", "1e99999"] {
      try home.transcript("defaults write app far -float \(word)", err: "the value is not a float", exit: 64)
      try home.transcript("set far --plain --type float \(word)", err: "the value is not a float", exit: 64)
    }
    try home.transcript("defaults read valid far", err: "nothing is stored", exit: 1)
    for word in ["inf", "-infinity", "nan", "1e-400", "1e308"] { try home.transcript("defaults write valid far -float \(word)") }
    try home.transcript("defaults write app n -int 99999999999999999999", err: "not an int", exit: 64)
    try home.transcript("defaults write app n -int", err: "not followed by a value", exit: 64)
    #expect(!home.exists("config/app.plist"))
  }

  @Test
  func `what defaults writes is in the property list at once, where anyone can read it`() throws {
    let home = try Home()
    try home.transcript("defaults write app theme dark")
    #expect(try home.content("config/app.plist").contains("<string>dark</string>"))
    #expect(home.mode("config/app.plist") == 0o600)
  }

  @Test
  func `a preference needs no vault, keeps its type, and takes negative numbers`() throws {
    let home = try Home()
    try home.transcript("set volume -3 --plain --type int --domain app")
    try home.transcript("get volume --domain app", out: "-3")
    try home.transcript("set volume -4 --domain app")
    try home.transcript("defaults read app --json", out: "{\"volume\":-4}\n")
    try home.transcript("set volume loud --domain app", err: "the value is not an int", exit: 64)
    try home.transcript("set volume loud --type string --domain app")
    try home.transcript("get volume", with: ["COFFER_DOMAIN": "app"], out: "loud")
    try home.transcript("delete volume --domain app")
    #expect(!home.exists("data"))
  }

  @Test
  func `the value of a preference may come from standard input, where one line loses its newline`() throws {
    let home = try Home()
    try home.transcript("set note --plain", in: "two\nlines\n\n")
    try home.transcript("get note", out: "two\nlines\n\n")
    try home.transcript("set note", in: "one line\n", err: "readable in \(home.path)/config/coffer.plist")
    try home.transcript("get note", out: "one line")
    try home.transcript("set note --plain --exact", in: "kept\n")
    try home.transcript("get note", out: "kept\n")
    try home.transcript("set raw --plain --type data", in: "\u{0}\u{1}")
    try home.transcript("get raw", out: "\u{0}\u{1}")
    try home.transcript(
      "get raw --json", out: #"{"domain":"coffer","key":"raw","store":"defaults","type":"data","value":{"base64":"AAE="}}"# + "\n"
    )
    try home.transcript("set shape --plain --type json '{\"a\":[1,2.5,\"x\",true]}'")
    try home.transcript("get shape", out: #"{"a":[1,2.5,"x",true]}"#)
    try home.transcript("set shape --type json 'null'", err: "the value is not a json", exit: 64)
  }

  @Test
  func `coffer status --paths and status name the places`() throws {
    let home = try Home()
    try home.transcript(
      "status --paths --json",
      out:
        "{\"defaults\":\"\(home.path)/config/<domain>.plist\",\"run\":\"\(home.path)/run\",\"state\":\"\(home.path)/state\",\"vault\":\"\(home.path)/data/vault.sqlite\"}\n"
    )
    try home.transcript(
      "status --paths --home /srv/x --json",
      out:
        "{\"defaults\":\"/srv/x/config/<domain>.plist\",\"run\":\"/srv/x/run\",\"state\":\"/srv/x/state\",\"vault\":\"/srv/x/data/vault.sqlite\"}\n"
    )
    let xdg = try home.coffer("status --paths", with: ["COFFER_HOME": "", "HOME": "/home/ada", "XDG_STATE_HOME": "/var/s"])
    #expect(xdg.out.contains("/home/ada/.local/share/coffer/vault.sqlite"))
    #expect(xdg.out.contains("/home/ada/.config/<domain>.plist"))
    #expect(xdg.out.contains("/var/s/coffer"))
    // The user's login folder, if any, is found without the variable.
    #expect(xdg.out.contains("/var/s/coffer/run") || xdg.out.contains("/run/user/\(geteuid())/coffer"))
  }
}
