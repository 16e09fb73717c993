import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct InstallCommandTests {
  /// Made once: a copy of an installation is as good.
  nonisolated(unsafe) private static let kept: Result<Home, any Error> = Result {
    let home = try Home()
    try #require(home.coffer("install -q --prefix \(home.path)/p").status == 0)
    atexit { if let kept = try? InstallCommandTests.kept.get() { try? FileManager.default.removeItem(atPath: kept.path) } }
    return home
  }

  private static func installed(_ name: String = "p") throws -> Home {
    let home = try Home()
    try copy(kept.get().path + "/p", to: "\(home.path)/\(name)")
    return home
  }

  private static func copy(_ from: String, to: String) throws {
    let copied = try #require(try Home().program(["cp", "-a", from, to]))
    try #require(copied.status == 0, "\(copied.err)")
  }

  @Test(.tags(.process), .wholeRun)
  func `the program and its names are put in place, again and again, and work from there`() throws {
    let home = try Home.withVault()
    let bin = home.path + "/prefix/bin"
    let names = [
      "cargo-credential-coffer", "coffer", "coffer-askpass", "docker-credential-coffer", "git-credential-coffer",
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
  func `an install that fails before it has a record leaves no folder`() throws {
    let home = try Home()
    _ = try home.file("p/share", "a file, where a folder is to be")
    let answer = try home.coffer("install --prefix \(home.path)/p")
    #expect(answer.status != 0 && answer.err.contains("could not make the folder"), "\(answer)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/p") == ["share"])
  }

  @Test
  func `what somebody else put there is left alone`() throws {
    let home = try Home()
    _ = try home.file("p/bin/git-credential-coffer", "#!/bin/sh\n")
    try home.transcript("install --prefix \(home.path)/p", err: "another file has this name", exit: 73)
    #expect(try !home.exists("p/bin/coffer") && home.content("p/bin/git-credential-coffer") == "#!/bin/sh\n")
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
      #expect(!home.exists("p/lib"))
    }
    _ = try home.file("p/bin/coffer", long + Data("docker-credential-coffer".utf8))
    #expect(try home.coffer("install -q --prefix \(home.path)/p").out.hasPrefix("copied  \(home.path)/p/bin/coffer\n"))
    let installed = try Data(contentsOf: URL(fileURLWithPath: home.path + "/p/bin/coffer"))
    #expect(installed.count > long.count * 2)
    #expect(try home.coffer("install --remove -q --prefix \(home.path)/p").status == 0 && !home.exists("p/bin/coffer"))
  }

  @Test
  func `uninstall removes exactly what install put there, manual pages and completion too`() throws {
    let home = try Home()
    _ = try home.file("p/bin/other", "#!/bin/sh\n")
    _ = try home.file("p/share/man/man1/other.1", ".TH OTHER 1\n")
    #expect(try home.coffer("install -q --completions --prefix \(home.path)/p").status == 0)
    let installed = [
      "bin/coffer", "bin/git-credential-coffer", "share/man/man1/coffer.1", "share/man/man1/coffer-vault.1",
      "share/man/man7/coffer-unlocking.7", "share/bash-completion/completions/coffer", "share/zsh/site-functions/_coffer",
      "share/fish/vendor_completions.d/coffer.fish", "lib/coffer/installed",
    ]
    for name in installed { #expect(home.exists("p/" + name), "\(name)") }
    let answer = try home.coffer("install --remove --prefix \(home.path)/p")
    #expect(answer.status == 0 && answer.out.contains("removed  \(home.path)/p/bin/coffer\n"), "\(answer.err)")
    let left = try FileManager.default.subpathsOfDirectory(atPath: home.path + "/p").sorted()
    #expect(left == ["bin", "bin/other", "share", "share/man", "share/man/man1", "share/man/man1/other.1"])
    try home.transcript("install --remove --prefix \(home.path)/p", err: "nothing was installed there", exit: 1)
  }

  @Test
  func `uninstall removes nothing where a file is no longer the one that install put there`() throws {
    let home = try Self.installed()
    _ = try home.file("p/share/man/man1/coffer.1", "mine\n")
    try home.transcript(
      "install --remove --prefix \(home.path)/p", err: "coffer install did not put this there; nothing was removed", exit: 77)
    #expect(try home.exists("p/bin/coffer") && home.content("p/share/man/man1/coffer.1") == "mine\n")
    try home.transcript("install -q --prefix \(home.path)/p", err: "another file has this name", exit: 73)
    #expect(try home.coffer("install -q --replace --prefix \(home.path)/p").status == 0)
    #expect(try home.coffer("install --remove -q --prefix \(home.path)/p").status == 0 && !home.exists("p"))
  }

  @Test
  func `uninstall below a copy of a prefix removes what is in the copy`() throws {
    let home = try Self.installed("p1")
    try Self.copy(home.path + "/p1", to: home.path + "/p2")
    let answer = try home.coffer("install --remove -q --prefix \(home.path)/p2")
    #expect(answer.status == 0 && answer.out.contains("removed  \(home.path)/p2/bin/coffer\n"), "\(answer.err)")
    #expect(!home.exists("p2") && home.exists("p1/bin/coffer") && home.exists("p1/share/man/man1/coffer.1"))
    #expect(try home.coffer("install --remove -q --prefix \(home.path)/p1").status == 0 && !home.exists("p1"))
  }

  @Test
  func `a record with a path that leads out of its prefix is refused, and what the path names stays`() throws {
    let home = try Self.installed()
    let (manual, list) = ("share/man/man1/coffer.1", "p/lib/coffer/installed")
    let record = try home.content(list)
    let line = try #require(record.split(separator: "\n").first { $0.hasSuffix(" " + manual) }, "\(record)")
    let mark = line.prefix { $0 != " " }
    let victim = try home.file("victim/file", try home.content("p/" + manual))
    for path in [victim, "../victim/file", "bin/../../victim/file", "./bin/coffer", "bin//coffer", "bin/", ""] {
      _ = try home.file(list, "\(record)\(mark) \(path)\n", mode: 0o644)
      let number = record.count { $0 == "\n" } + 1
      try home.transcript("install --remove --prefix \(home.path)/p", err: "line \(number): ", exit: 65)
    }
    _ = try home.file(list, "folder \(home.path)/victim\n\(record)", mode: 0o644)
    try home.transcript("install --remove --prefix \(home.path)/p", err: "line 1: ", exit: 65)
    try home.transcript("install -q --prefix \(home.path)/p", err: "line 1: ", exit: 65)
    #expect(home.exists("victim/file") && home.exists("p/bin/coffer"))
  }

  @Test
  func `a record that others can have written is refused`() throws {
    let home = try Self.installed()
    let list = home.path + "/p/lib/coffer/installed"
    func refuse(_ what: String) throws {
      for command in ["install --remove", "install -q"] {
        try home.transcript("\(command) --prefix \(home.path)/p", err: what, exit: 77)
      }
      #expect(home.exists("p/bin/coffer"))
    }
    for mode in [0o664, 0o646] as [mode_t] {
      chmod(list, mode)
      try refuse("can be written by other users")
    }
    chmod(list, 0o644)
    if geteuid() == 0 {
      chown(list, 65534, 65534)
      try refuse("belongs to user 65534")
      chown(list, 0, 0)
    }
    try FileManager.default.moveItem(atPath: list, toPath: home.path + "/list")
    try FileManager.default.createSymbolicLink(atPath: list, withDestinationPath: home.path + "/list")
    try refuse("is a symbolic link")
  }

  @Test
  func `uninstall goes through a link that stays in the prefix, and removes nothing where one leads out of it`() throws {
    let home = try Self.installed()
    let share = home.path + "/p/share"
    try FileManager.default.moveItem(atPath: share, toPath: home.path + "/out")
    try FileManager.default.createSymbolicLink(atPath: share, withDestinationPath: "../out")
    try home.transcript(
      "install --remove --prefix \(home.path)/p", err: "a symbolic link in the path leads out of the prefix", exit: 77)
    #expect(home.exists("out/man/man1/coffer.1") && home.exists("p/bin/coffer"))
    unlink(share)
    try FileManager.default.moveItem(atPath: home.path + "/out", toPath: home.path + "/p/other")
    try FileManager.default.createSymbolicLink(atPath: share, withDestinationPath: "other")
    #expect(try home.coffer("install --remove -q --prefix \(home.path)/p").status == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/p").sorted() == ["other", "share"])
  }

  @Test(arguments: ["bin", "share", "share/man", "lib"])
  func `install writes nothing where a link leads out of the prefix, and goes through one that stays in it`(folder: String) throws
  {
    let home = try Home()
    let link = "\(home.path)/p/\(folder)"
    let files = FileManager.default
    for path in ["\(home.path)/out", "\(home.path)/p/in", (link as NSString).deletingLastPathComponent] {
      try files.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    let before = try files.subpathsOfDirectory(atPath: home.path + "/p").sorted()
    try files.createSymbolicLink(atPath: link, withDestinationPath: home.path + "/out")
    for force in ["", "--replace "] {
      try home.transcript(
        "install -q \(force)--prefix \(home.path)/p", err: "leads out of the prefix; nothing was installed", exit: 77)
    }
    #expect(try files.contentsOfDirectory(atPath: home.path + "/out").isEmpty)
    unlink(link)
    #expect(try files.subpathsOfDirectory(atPath: home.path + "/p").sorted() == before)
    try files.createSymbolicLink(atPath: link, withDestinationPath: home.path + "/p/in")
    // The prefix may be a link too.
    try files.createSymbolicLink(atPath: home.path + "/q", withDestinationPath: "p")
    #expect(try home.coffer("install -q --prefix \(home.path)/q").status == 0)
    #expect(try !files.contentsOfDirectory(atPath: home.path + "/p/in").isEmpty)
    #expect(try home.coffer("install --remove -q --prefix \(home.path)/q").status == 0 && !home.exists("p/bin/coffer"))
  }

  @Test
  func `uninstall succeeds beside a folder that may not be removed, and says that it stays`() throws {
    // Root may remove anything unless it lacks that capability.
    let bounds = geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search"] : []
    let home = try Self.installed()
    let manuals = home.path + "/p/share/man"
    chmod(manuals, 0o555)
    defer { chmod(manuals, 0o755) }
    guard let answer = try home.program(bounds + [Home.coffer, "install", "--remove", "--prefix", home.path + "/p"]) else {
      try Test.skip(without: "setpriv")
    }
    #expect(answer.status == 0 && answer.out.contains("removed  \(home.path)/p/bin/coffer\n"), "\(answer)")
    #expect(answer.err.contains("this folder stays: ") && answer.err.contains("\(manuals)/man1"), "\(answer.err)")
    let left = try FileManager.default.subpathsOfDirectory(atPath: home.path + "/p").sorted()
    #expect(left == ["share", "share/man", "share/man/man1", "share/man/man7"])
  }

  @Test(.tags(.root))
  func `uninstall succeeds beside a folder that is busy, and removes what is in it`() throws {
    let home = try Self.installed()
    let manuals = home.path + "/p/share/man/man7"
    guard mount(manuals, manuals, nil, UInt(MS_BIND), nil) == 0 else {
      try Test.skip("a folder cannot be mounted here: \(String(cString: strerror(errno)))")
    }
    defer { umount2(manuals, Int32(MNT_DETACH)) }
    let answer = try home.coffer("install --remove --prefix \(home.path)/p")
    #expect(answer.status == 0 && answer.err.contains("this folder stays: "), "\(answer)")
    let left = try FileManager.default.subpathsOfDirectory(atPath: home.path + "/p").sorted()
    #expect(left == ["share", "share/man", "share/man/man7"])
  }
}
