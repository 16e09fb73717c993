import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct UnlockingTests {
  func passphraseVault() throws -> Home {
    let (home, _) = try Home.withPassphrase("correct horse")
    _ = try home.file("pass", "correct horse\n")
    return home
  }

  @Test
  func `a passphrase comes from a file, a descriptor, standard input or the environment, without its newline`() throws {
    let home = try passphraseVault()
    let crlf = try home.file("crlf", "correct horse\r\n")
    try home.transcript("vault list --passphrase-file \(crlf)")
    try home.transcript("vault list --passphrase-file -", in: "correct horse")
    #expect(try home.coffer("vault list --passphrase-fd 5", descriptors: [5: home.path + "/pass"]).status == 0)
    try home.transcript("vault list", with: ["COFFER_PASSPHRASE_FILE": home.path + "/pass"])
    try home.transcript(
      "vault list", with: ["COFFER_PASSPHRASE": "correct horse"],
      err: "coffer: note: COFFER_PASSPHRASE can be read by every program")
    try home.transcript("vault list --quiet", with: ["COFFER_PASSPHRASE": "correct horse"])
    _ = try home.file("credentials/coffer.passphrase", "correct horse")
    try home.transcript("vault list", with: ["CREDENTIALS_DIRECTORY": home.path + "/credentials"])
    // The mode as it looks if systemd grants access by an ACL. There is no warning.
    chmod(home.path + "/credentials/coffer.passphrase", 0o440)
    try home.transcript("vault list", with: ["CREDENTIALS_DIRECTORY": home.path + "/credentials"])
  }

  @Test
  func `the command line wins over the environment, and the environment over the credentials folder`() throws {
    let home = try passphraseVault()
    let wrong = try home.file("wrong", "wrong")
    _ = try home.file("credentials/coffer.passphrase", "wrong")
    try home.transcript(
      "vault list --passphrase-file \(home.path)/pass",
      with: ["COFFER_PASSPHRASE_FILE": wrong, "CREDENTIALS_DIRECTORY": home.path + "/credentials"])
    try home.transcript(
      "vault list", with: ["COFFER_PASSPHRASE_FILE": home.path + "/pass", "CREDENTIALS_DIRECTORY": home.path + "/credentials"])
    #expect(
      try home.coffer("vault list --passphrase-file \(wrong)", with: ["COFFER_PASSPHRASE_FILE": home.path + "/pass"]).status == 77
    )
  }

  @Test
  func `nothing to unlock with: exit 69 and the page with the list of what would do`() throws {
    let home = try Home.withVault()
    home.locked()
    try home.transcript(
      "vault list", err: "try: run 'coffer unlock'; for scripts, see 'coffer help unlocking'\n", exit: 69)
    let topic = try home.coffer("help unlocking").out
    for source in [
      "--passphrase-file", "--passphrase-fd", "--key-file", "COFFER_PASSPHRASE_FILE", "CREDENTIALS_DIRECTORY", "terminal",
    ] {
      #expect(topic.contains(source), "\(source)")
    }
    try home.transcript(
      "vault list --key-file \(home.path)/nowhere", err: "the key file does not exist (\(home.path)/nowhere)", exit: 74)
    #expect(try home.coffer("vault list --key-file \(home.file("other", "PVKEY1-nonsense"))").status != 0)
  }

  @Test
  func `a slot that wants a passphrase and a key file takes each from its own source`() throws {
    let home = try Home()
    let key = home.path + "/key"
    let pass = try home.file("pass", "correct horse\n")
    try home.transcript("init --quiet --new-passphrase-file \(pass) --new-key-file \(key)")
    try home.transcript("vault list --passphrase-file \(pass) --key-file \(key)")
    try home.transcript("vault list --passphrase-file \(pass)", with: ["COFFER_KEY_FILE": key])
    try home.transcript("vault list --key-file \(key)", with: ["COFFER_PASSPHRASE_FILE": pass])
    #expect(try home.coffer("vault list --passphrase-file \(pass)").status == 77)
  }

  @Test
  func `an empty or oversized passphrase is refused before anything is tried`() throws {
    let home = try Home.withVault()
    home.locked()
    try home.transcript("vault list --passphrase-file -", in: "\n", err: "is empty", exit: 64)
    let long = try home.file("long", String(repeating: "x", count: 1025))
    #expect(try home.coffer("vault list --passphrase-file \(long)").status == 64)
    #expect(try home.coffer("vault list --passphrase-file /dev/zero").status == 64)
  }

  @Test
  func `a secret that no slot takes is not called a wrong one, and what opens the vault is said`() throws {
    let home = try Home.withVault()
    let (other, spoken) = try Home.withPassphrase("correct horse")
    home.locked()
    let pass = try home.file("pass", "correct horse")
    try home.transcript(
      "vault list --passphrase-file \(pass)",
      err:
        "coffer: no slot of this vault takes a passphrase (\(home.path)/data/vault.sqlite)\n  try: unlock it with a key file\n",
      exit: 77)
    try home.transcript(
      "vault list --recovery-file \(home.file("code", spoken))", err: "takes a recovery code (", exit: 77)
    try other.transcript(
      "vault list --key-file \(home.path)/key",
      err: "takes a key file (\(other.path)/data/vault.sqlite)\n  try: unlock it with a passphrase, or a recovery code\n",
      exit: 77)
    try other.transcript(
      "vault list --passphrase-file \(other.file("wrong", "wrong horse"))", err: "\n  try: give the recovery code in its place; ",
      exit: 77)
  }

  @Test
  func `COFFER_EXPECT_VAULT refuses another vault and an older one`() throws {
    let home = try Home.withVault()
    let status = try JSONSerialization.jsonObject(with: home.coffer("status --details --json").bytes) as? [String: Any]
    let id = try #require(status?["id"] as? String)
    try home.transcript("vault list", with: ["COFFER_EXPECT_VAULT": id])
    try home.transcript("vault list", with: ["COFFER_EXPECT_VAULT": id + ":1"])
    try home.transcript("vault list", with: ["COFFER_EXPECT_VAULT": id + ":999"], err: "older than the 999", exit: 66)
    let other = String(repeating: "0", count: 32)
    try home.transcript(
      "vault list", with: ["COFFER_EXPECT_VAULT": other], err: "is where \(other) is expected", exit: 66)
    try home.transcript("vault list --json", with: ["COFFER_EXPECT_VAULT": other], err: "\"kind\":\"replaced\"", exit: 66)
    try home.transcript(
      "vault list", with: ["COFFER_EXPECT_VAULT": "nonsense"], err: "is neither a vault's id nor invitations", exit: 64)
  }

  @Test
  func `a key file that others can read is used, and unlock says so`() throws {
    let home = try Home.withVault()
    chmod(home.path + "/key", 0o644)
    try home.transcript("vault list")
    try home.transcript("unlock", err: "key can be read by other users; run chmod 600")
  }

  @Test
  func `the prompt unlocks without showing what is typed`() throws {
    let home = try passphraseVault()
    try home.transcript("vault set a --passphrase-file \(home.path)/pass --file \(try home.file("v", "the value"))")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault get a", in: home)
    terminal.shows("Passphrase of \(home.path)/data/vault.sqlite: ")
    #expect(!terminal.echoes)
    terminal.type("correct horse\n")
    terminal.shows("the value\r\n")
    #expect(try child.wait() == 0)
    #expect(!terminal.shown.contains("horse") && terminal.echoes)
  }

  @Test
  func `a new value typed twice is stored, and COFFER_PASSPHRASE is gone from the process by then`() throws {
    let home = try passphraseVault()
    home.environment["COFFER_PASSPHRASE"] = "correct horse"
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault set github ada", in: home)
    terminal.shows("Value of the new item github/ada: ")
    if let environment = FileManager.default.contents(atPath: "/proc/\(child.id)/environ") {
      #expect(environment.range(of: Data("correct".utf8)) == nil)
    } else {
      print("not checked: another process's environment can be read by root only")
    }
    terminal.type("hunter2\n")
    terminal.shows("Repeat: ")
    terminal.type("hunter2\n")
    #expect(try child.wait() == 0)
    try home.transcript("vault get github --quiet", out: "hunter2")
  }
}
