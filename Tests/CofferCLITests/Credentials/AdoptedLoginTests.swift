import Coffer
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .wholeRun)
struct AdoptedLoginTests {
  @Test func `a login adopts the item of its name if a person agrees, and its value is the token`() throws {
    let home = try Home.withVault()
    for value in ["former", "s3cret"] {
      try home.transcript("vault set github.com ada --label Hub --attribute team=a -q", in: value)
    }
    try home.transcript("vault set github.com ada --field pin -q", in: "4711")
    let before = try home.coffer("vault show github.com ada --json").out
    try home.transcript("login github.com --account ada", err: "--account ada --yes uses its value", exit: 77)
    try home.transcript("login github.com --account ada --with-token --yes", in: "new", err: "is not a login", exit: 77)
    let unwilling = try PseudoTerminal()
    let refused = try unwilling.coffer("login github.com --account ada", in: home)
    unwilling.shows("[y/N] ")
    unwilling.type("n\n")
    #expect(try refused.wait() == 64 && home.coffer("vault show github.com ada --json").out == before)
    let terminal = try PseudoTerminal()
    let agreed = try terminal.coffer("login github.com --account ada", in: home)
    terminal.shows("[y/N] ")
    terminal.type("y\n")
    #expect(try agreed.wait() == 0 && !terminal.shown.contains("s3cret"))
    try home.transcript("token", out: "s3cret")
    try home.transcript("vault get github.com ada --field pin", out: "4711")
    #expect(try home.coffer("vault show github.com ada --json").out.contains(#""team":"a""#))
    #expect(try home.coffer("vault get github.com ada --revision 1").status != 0)
    for (value, status) in [("two\nlines", Int32(64)), ("lab", 0)] {
      try home.transcript("vault set gitlab.com ada -q", in: value)
      #expect(try home.coffer("login gitlab.com --account ada --yes -q").status == status)
    }
    try home.transcript("token gitlab.com", out: "lab")
  }

  @Test(arguments: ["oauth.", "coffer.oauth."])
  func `an adopted item is renewed nowhere, whatever an earlier version or another program wrote in it`(prefix: String) throws {
    let home = try Home.withVault()
    let name = try ItemName(service: "h.example", account: "ada")
    func forge() throws {
      var credentials = Credentials()
      credentials.keyFile = try Credentials.keyFile(at: FilePath(home.path).appending("key"))
      let vault = try LockedVault.open(
        .file(FilePath(home.path).appending("data/vault.sqlite")), options: .withoutPins
      ).unlock(with: credentials)
      let attributes = [prefix + "token-endpoint": "http://127.0.0.1:1/token", prefix + "client": "c"]
      try vault.set(SecretForm(Home.secret("tok"), metadata: ItemMetadata(attributes: attributes)), for: name)
      try vault.set(SecretForm(Home.secret("refresh")), for: name.field(named: "refresh_token"))
    }
    try forge()
    try home.transcript("login h.example --account ada --yes -q")
    try home.transcript("token h.example", out: "tok")
    try home.transcript("token h.example --fresh", err: "the token has expired and cannot be renewed", exit: 1)
  }
}
