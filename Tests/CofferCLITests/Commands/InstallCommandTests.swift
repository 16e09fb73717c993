import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct InstallCommandTests {
  /// All below `folder` but folders.
  private static func files(_ home: Home, _ folder: String) throws -> [String] {
    let found = try #require(try home.program(["find", "\(home.path)/\(folder)", "!", "-type", "d"]))
    return found.out.split(separator: "\n").map { String($0.dropFirst(home.path.utf8.count + 1)) }.sorted()
  }

  @Test(.tags(.process), .wholeRun)
  func `the program and its names are put in place, again and again, and work from there`() throws {
    let home = try Home.withVault()
    let bin = home.path + "/prefix/bin"
    let names = [
      "age-plugin-coffer", "cargo-credential-coffer", "coffer", "coffer-askpass", "docker-credential-coffer",
      "git-credential-coffer",
    ]
    let first = try home.coffer("install --prefix \(home.path)/prefix")
    #expect(
      first.status == 0
        && first.out == "copied  \(bin)/coffer\n" + names.filter { $0 != "coffer" }.map { "linked  \(bin)/\($0)\n" }.joined())
    #expect(first.err.contains("PATH: export PATH=\(bin):$PATH in ~/.profile\n"))
    #expect(first.err.contains("git: git config --global credential.helper \(bin)/git-credential-coffer\n"))
    #expect(home.mode("prefix/bin/coffer") == 0o755 && home.mode("prefix/bin") == 0o755)
    #expect(try FileManager.default.contentsOfDirectory(atPath: bin).sorted() == names)
    home.environment["PATH"] = "\(bin):/usr/bin:/bin"
    #expect(try home.program(["coffer", "--version"])?.out == "coffer 0.1.0\n")
    #expect(try home.program(["git-credential-coffer", "capability"])?.out.hasPrefix("version 0\n") == true)
    #expect(try home.program(["docker-credential-coffer", "list"])?.out == "{}\n")
    let again = try #require(try home.program(["coffer", "install", "--prefix", home.path + "/prefix", "--json"]))
    let json = try #require(JSONSerialization.jsonObject(with: Data(again.out.utf8)) as? [String: Any])
    #expect(json["onPath"] as? Bool == true && json["program"] as? String == bin + "/coffer")
    let kept = try #require(try home.program(["coffer", "install", "-q", "--prefix", home.path + "/prefix"]))
    #expect(kept.out.hasPrefix("kept    \(bin)/coffer\n") && kept.err.isEmpty)
  }

  @Test
  func `the name keyring is another program's elsewhere: it comes with --keyring alone, and goes with uninstall`() throws {
    let home = try Home()
    _ = try home.file("p/bin/keyring", "#!/bin/sh\n")
    #expect(try home.coffer("install -q --prefix \(home.path)/p").status == 0)
    #expect(try home.content("p/bin/keyring") == "#!/bin/sh\n")
    try home.transcript("install -q --keyring --prefix \(home.path)/p", err: "another file has this name", exit: 73)
    try FileManager.default.removeItem(atPath: home.path + "/p/bin/keyring")
    let answer = try home.coffer("install -q --keyring --prefix \(home.path)/p")
    #expect(answer.status == 0 && answer.out.contains("linked  \(home.path)/p/bin/keyring\n"), "\(answer.err)")
    #expect(try home.coffer("install --remove -q --prefix \(home.path)/p").status == 0 && !home.exists("p/bin/keyring"))
  }

  @Test
  func `an install that cannot make a folder writes no file`() throws {
    let home = try Home()
    _ = try home.file("p/share", "a file, where a folder is to be")
    let answer = try home.coffer("install --prefix \(home.path)/p")
    #expect(answer.status != 0 && answer.err.contains("could not make the folder"), "\(answer)")
    #expect(try Self.files(home, "p") == ["p/share"])
  }

  @Test
  func `what somebody else put there is left alone`() throws {
    let home = try Home()
    _ = try home.file("p/bin/git-credential-coffer", "#!/bin/sh\n")
    try home.transcript("install --prefix \(home.path)/p", err: "another file has this name", exit: 73)
    #expect(try Self.files(home, "p") == ["p/bin/git-credential-coffer"])
    #expect(try home.content("p/bin/git-credential-coffer") == "#!/bin/sh\n")
    #expect(try home.coffer("install --replace --prefix \(home.path)/p").status == 0)
    home.environment["HOME"] = home.path
    #expect(try home.coffer("install -q").out.hasPrefix("copied  \(home.path)/.local/bin/coffer\n"))
  }

  @Test
  func `a program of another one's that is called coffer is left alone, and an older coffer is replaced`() throws {
    let home = try Home()
    let machineCode = Data([0x7F]) + Data("ELF".utf8)
    let script = Data("#!/bin/sh\nexec docker-credential-coffer \"$@\"\n".utf8)
    let long = machineCode + Data(repeating: UInt8(ascii: "d"), count: 100_000)
    for foreign in [script, Data(), machineCode, long, long + Data("docker-credential-coffe".utf8)] {
      _ = try home.file("p/bin/coffer", foreign)
      try home.transcript("install -q --prefix \(home.path)/p", err: "another file has this name", exit: 73)
      #expect(try Data(contentsOf: URL(fileURLWithPath: home.path + "/p/bin/coffer")) == foreign)
      #expect(!home.exists("p/share"))
    }
    _ = try home.file("p/bin/coffer", long + Data("docker-credential-coffer".utf8))
    #expect(try home.coffer("install -q --prefix \(home.path)/p").out.hasPrefix("copied  \(home.path)/p/bin/coffer\n"))
    let installed = try Data(contentsOf: URL(fileURLWithPath: home.path + "/p/bin/coffer"))
    #expect(installed.count > long.count * 2)
    #expect(try home.coffer("install --remove -q --prefix \(home.path)/p").status == 0 && !home.exists("p/bin/coffer"))
  }

  @Test
  func `uninstall removes all files of Coffer's, and names the others that have their names`() throws {
    let home = try Home()
    _ = try home.file("p/share/man/man1/other.1", ".TH OTHER 1\n")
    for _ in 1...2 { #expect(try home.coffer("install -q --completions --prefix \(home.path)/p").status == 0) }
    let installed = [
      "bin/coffer", "bin/git-credential-coffer", "share/man/man1/coffer.1", "share/man/man1/coffer-vault.1",
      "share/man/man7/coffer-unlocking.7", "share/bash-completion/completions/coffer", "share/zsh/site-functions/_coffer",
      "share/fish/vendor_completions.d/coffer.fish",
    ]
    for name in installed { #expect(home.exists("p/" + name), "\(name)") }
    _ = try home.file("p/share/man/man1/coffer-old.1", #".TH "COFFER\-OLD" "1" "2026-01-01" "coffer 0.0.1""# + "\n")
    let others = ["p/bin/coffer-askpass", "p/share/man/man1/coffer-run.1"]
    for name in others {
      unlink("\(home.path)/\(name)")
      _ = try home.file(name, "mine, not\ncoffer's")
    }
    let answer = try home.coffer("install --remove --prefix \(home.path)/p")
    #expect(answer.status == 0 && answer.out.hasSuffix("removed  \(home.path)/p/bin/coffer\n"), "\(answer.err)")
    for name in others { #expect(answer.err.contains("not Coffer's: \(home.path)/\(name)\n"), "\(answer.err)") }
    #expect(try Self.files(home, "p") == others + ["p/share/man/man1/other.1"])
    try home.transcript("install --remove --prefix \(home.path)/p", err: "nothing was installed there", exit: 1)
    try home.transcript("install --remove --prefix /usr", err: "apt and dnf install and remove coffer in /usr", exit: 64)
  }

  @Test
  func `an install removes the manual pages that only an older version had, and no others`() throws {
    let home = try Home()
    _ = try home.file("p/share/man/man1/coffer-old.1", #".TH "COFFER\-OLD" "1" "2026-01-01" "coffer 0.0.1""# + "\n")
    let others = ["coffer-mine.1", "cofferdam.1"].map { "p/share/man/man1/" + $0 }
    _ = try home.file(others[0], ".TH COFFER-MINE 1\n")
    _ = try home.file(others[1], ".TH COFFERDAM 1\n")
    #expect(try home.coffer("install -q --prefix \(home.path)/p").status == 0)
    #expect(!home.exists("p/share/man/man1/coffer-old.1") && others.allSatisfy(home.exists))
  }

  @Test
  func `an interrupted install, or uninstall, is finished by the next one`() throws {
    let home = try Home()
    let missing = ["p/bin/docker-credential-coffer", "p/share/man/man1/coffer.1"]
    for line in ["install", "install", "install --remove"] {
      for name in missing { unlink("\(home.path)/\(name)") }
      #expect(try home.coffer("\(line) -q --prefix \(home.path)/p").status == 0)
      #expect(missing.allSatisfy(home.exists) == (line == "install"))
    }
    #expect(try Self.files(home, "p").isEmpty)
  }

  @Test
  func `links on the way are followed, and a link in a file's place is not`() throws {
    let home = try Home()
    let mine = try home.file("dotfiles/mine", ".TH COFFER 1\n")
    let files = FileManager.default
    try files.createDirectory(atPath: home.path + "/p", withIntermediateDirectories: true)
    try files.createSymbolicLink(atPath: home.path + "/p/share", withDestinationPath: "../dotfiles")
    #expect(try home.coffer("install -q --prefix \(home.path)/p").status == 0)
    let page = home.path + "/dotfiles/man/man1/coffer.1"
    unlink(page)
    try files.createSymbolicLink(atPath: page, withDestinationPath: mine)
    try home.transcript("install -q --prefix \(home.path)/p", err: "another file has this name", exit: 73)
    #expect(try home.coffer("install -q --replace --prefix \(home.path)/p").status == 0)
    #expect(try home.content("dotfiles/mine") == ".TH COFFER 1\n")
    #expect(try home.coffer("install --remove -q --prefix \(home.path)/p").status == 0)
    #expect(try Self.files(home, "p") == ["p/share"] && Self.files(home, "dotfiles") == ["dotfiles/mine"])
  }
}
