import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.kill, .process), .wholeRun)
struct NewKeyFileTests {
  private func injecting(_ calls: [String], _ path: String) -> [String] {
    ["-P", path] + ["-e", "trace=pwrite64,fdatasync"] + calls.flatMap { ["-e", "inject=\($0)"] }
  }

  @Test func `a key file is kept while it is not known whether its slot was made`() throws {
    let home = try Home.withVault()
    var unknown = 0
    for write in [2, 8, 14] {
      let key = home.path + "/new\(write)"
      // No sync of the log succeeds, and later no write: the failed commit cannot be undone.
      let faults = injecting(["fdatasync:error=EIO:when=1+", "pwrite64:error=EIO:when=\(write)+"], home.vault + "-wal")
      let answer = try home.traced(faults, "vault slot add --no-agent --new-key-file \(key)")
      let slots = try home.coffer("vault slot list --json").out
      let isKept = access(key, F_OK) == 0
      if answer.err.contains("may or may not have been made") {
        unknown += 1
        #expect(isKept && answer.err.contains("keep the new key file \(key)"), "\(answer)")
      }
      let opened = isKept ? try home.coffer("vault list --key-file \(key)", with: ["COFFER_KEY_FILE": ""]).status : 1
      let count = slots.components(separatedBy: "\"id\"").count - 1
      #expect(count == 1 || isKept, "\(slots) \(opened) \(answer)")
      if count > 1 || opened == 0 { break }
    }
    #expect(unknown > 0)
  }

  @Test func `what was killed between its key file and its slot or vault is repeated with the same words`() throws {
    let home = try Home.withVault()
    // A key file left by a killed command: private, generated, and of no slot.
    func left(_ name: String) throws -> String {
      let other = try Home.withVault()
      return try home.file(name, other.content("key"))
    }
    for (name, line) in [
      ("slot", "vault slot add --new-key-file"),
      ("both", "vault slot add --new-passphrase-file \(try home.file("p", "four plain old words")) --new-key-file"),
      ("export", "export \(home.path)/new.sqlite --new-key-file"),
    ] {
      let key = try left(name)
      let content = try home.content(name)
      try home.transcript("\(line) \(key) --min-strength 0", err: "perhaps left by an interrupted command")
      #expect(try home.content(name) == content)
    }
    #expect(try home.coffer("vault list --key-file \(home.path)/slot", with: ["COFFER_KEY_FILE": ""]).status == 0)
    #expect(try home.coffer("--vault \(home.path)/new.sqlite vault list --key-file \(home.path)/export").status == 0)
    // A key file whose slot was made before the answer was lost.
    let slots = try home.coffer("vault slot list").out
    for line in ["slot", "both --new-passphrase-file \(home.path)/p"] {
      let again = try home.coffer("vault slot add --json --min-strength 0 --new-key-file \(home.path)/\(line)")
      #expect(again.status == 0 && again.err.contains("already opens the vault"), "\(again.err)")
    }
    #expect(try home.coffer("vault slot list").out == slots)
    try home.transcript(
      "export \(home.path)/new.sqlite --new-key-file \(home.path)/export", err: "is already there", exit: 73)
    #expect(home.exists("export"))
    chmod(try left("open"), 0o644)
    try home.transcript("vault slot add --new-key-file \(home.path)/open", err: "the file already exists", exit: 73)
  }

  @Test func `a key file is taken back when its slot was refused, and none that stood there before is touched`() throws {
    let home = try Home.withVault()
    let old = try home.file("old", "mine")
    let passphrase = try home.file("p", "")
    for line in [
      "vault slot add --new-key-file \(old)", "export \(home.path)/other --new-key-file \(old)",
      "export \(home.path)/other --new-key-file \(old) --new-passphrase-file \(home.path)/none",
      "--home \(home.path)/h init --new-key-file \(old) --new-passphrase-file \(home.path)/none",
      "--home \(home.path)/h init --new-key-file \(old) --new-passphrase-file \(passphrase)",
    ] {
      #expect(try home.coffer(line).status != 0, "\(line)")
      #expect(try home.content("old") == "mine", "\(line)")
    }
    let long = String(repeating: "x", count: 100)
    #expect(try home.coffer("vault slot add --label \(long) --new-key-file \(home.path)/new").status == 64)
    #expect(try home.coffer("export \(old) --new-key-file \(home.path)/new").status == 73)
    #expect(try home.coffer("init --new-key-file \(home.path)/new").status == 73)
    #expect(!home.exists("new"))
  }
}
