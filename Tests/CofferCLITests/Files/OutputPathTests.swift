import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .wholeRun)
struct OutputPathTests {
  private func here(_ home: Home, _ line: String, in input: String = "") throws -> (status: Int32, out: String, err: String)? {
    try home.program(["env", "-C", home.path, Home.coffer] + Home.words(line), in: input)
  }

  @Test
  func `a bare name is a file of the current folder, for whatever writes one`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set s a", in: "hunter2")
    try home.transcript("defaults write app theme dark")
    let filled = try here(home, "inject -o out", in: "x={{ coffer://s/a }}")
    #expect(filled?.status == 0 && filled?.err == "", "\(filled?.err ?? "")")
    #expect(try home.content("out") == "x=hunter2")
    let backup = try here(home, "backup copy --quiet")
    #expect(backup?.status == 0 && backup?.err == "", "\(backup?.err ?? "")")
    let export = try here(home, "export other --new-key-file nk --quiet")
    #expect(export?.status == 0 && home.exists("nk"), "\(export?.err ?? "")")
    let list = try here(home, "defaults export app list.plist")
    #expect(list?.status == 0 && home.exists("list.plist"), "\(list?.err ?? "")")
    let restored = try here(home, "--home there restore copy --quiet --yes")
    #expect(restored?.status == 0 && home.exists("there/data/vault.sqlite"), "\(restored?.err ?? "")")
    let installed = try here(home, "install --prefix to")
    #expect(installed?.status == 0 && home.exists("to/bin/coffer"), "\(installed?.err ?? "")")
  }

  @Test(arguments: [
    "backup nodir/x", "export nodir/x --new-key-file nk", "export x --new-key-file nodir/x",
    "inject -o nodir/x", "defaults export app nodir/x", "vault identity nodir/x --new", "vault slot add --new-key-file nodir/x",
  ])
  func `a missing folder is named, and no file of Coffer's own beside it`(line: String) throws {
    let home = try Home.withVault()
    try home.transcript("defaults write app theme dark")
    let answer = try #require(try here(home, line))
    #expect(answer.status == 74 && answer.err.hasPrefix("coffer: there is no folder nodir (nodir/x)\n"), "\(answer.err)")
    #expect(!home.exists("nodir") && !home.exists("x") && !home.exists("nk"))
  }

  @Test
  func `a recovery code that cannot be printed opens nothing in a new vault, and elsewhere its slot is named`() throws {
    let home = try Home()
    let slots = { try home.coffer("vault slot list").out.split(separator: "\n") }
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    for option in ["", " --json"] {
      let made = try #require(
        try home.program([
          "sh", "-c", "exec \(Home.coffer) init --recovery-code --new-key-file \(home.path)/key\(option) >/dev/full",
        ]))
      #expect(made.status == 74 && made.err.contains("created without a recovery code"), "\(made.err)")
      #expect(try slots().count == 1 && slots()[0].hasSuffix("\tkey file *\t"))
      let added = try #require(
        try home.program(["sh", "-c", "exec \(Home.coffer) vault slot add --recovery-code\(option) >/dev/full"]))
      let left = try #require(try slots().first { $0.hasSuffix("\trecovery code\t") }?.prefix(32))
      #expect(added.status == 74 && added.err.contains("coffer vault slot remove \(left)"), "\(added.err)")
      for name in ["data", "state"] { try FileManager.default.removeItem(atPath: "\(home.path)/\(name)") }
      unlink(home.path + "/key")
    }
  }

  @Test
  func `a key file stays with the slot that it opens, though the answer cannot be printed`() throws {
    let home = try Home.withVault()
    let added = try #require(
      try home.program(["sh", "-c", "exec \(Home.coffer) vault slot add --new-key-file \(home.path)/two --json >/dev/full"]))
    #expect(added.status == 74 && added.err.contains("the command's change was made"), "\(added.err)")
    try home.transcript("vault list", with: ["COFFER_KEY_FILE": home.path + "/two"])
  }

  @Test
  func `an answer that cannot be printed says that the change is made, and a key file that cannot be written that none is`()
    throws
  {
    let home = try Home.withVault()
    let set = try #require(
      try home.program(["sh", "-c", "printf x | exec \(Home.coffer) vault set s a --json >/dev/full"]))
    #expect(set.status == 74 && set.err.contains("the command's change was made"), "\(set.err)")
    try home.transcript("vault get s a", out: "x")
    let get = try #require(try home.program(["sh", "-c", "exec \(Home.coffer) vault get s a >/dev/full"]))
    #expect(get.status == 74 && get.err.contains("could not write the output (standard output)"))
  }
}
