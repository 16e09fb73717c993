import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct InjectCommandTests {
  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set github ada --attribute env=prod", in: "hunter2")
    return home
  }

  @Test
  func `references are filled in, and other braces stay`() throws {
    let home = try home()
    try home.transcript(
      "inject",
      in: "a: {{ coffer://github/ada }}\nb: {{coffer://github}}{{\tcoffer://github/ada/env }}\nc: {{ .Values.x }} {{ } }}",
      out: "a: hunter2\nb: hunter2prod\nc: {{ .Values.x }} {{ } }}")
    try home.transcript("inject", in: "", out: "")
    try home.transcript("inject -i \(try home.file("t", "{{ coffer://github }}", mode: 0o644))", out: "hunter2")
    home.locked()
    try home.transcript("inject", in: "no {{ references }}", out: "no {{ references }}")
  }

  @Test
  func `names that differ in bytes alone are two items, each with its own value`() throws {
    let home = try home()
    try home.transcript("vault set caf\u{E9} ada", in: "one")
    try home.transcript("vault set cafe\u{301} ada", in: "two")
    try home.transcript("vault set github \u{301}ada", in: "three")
    try home.transcript(
      "inject", in: "{{ coffer://caf\u{E9}/ada }} {{ coffer://cafe\u{301}/ada }} {{ coffer://github/\u{301}ada }}",
      out: "one two three")
  }

  @Test
  func `a file appears whole, for its owner alone, in place of what was there`() throws {
    let home = try home()
    let template = try home.file("t", "key={{ coffer://github }}\n")
    let out = home.path + "/out"
    try home.transcript("inject -i \(template) -o \(out)")
    #expect(try home.content("out") == "key=hunter2\n" && home.mode("out") == 0o600)
    chmod(out, 0o644)
    try home.transcript("inject -i \(template) -o \(out)")
    #expect(home.mode("out") == 0o600)
    symlink(out, home.path + "/link")
    try home.transcript("inject -i \(template) -o \(home.path)/link", err: "symbolic link", exit: 77)
    try home.transcript("inject -i \(template) -o -", out: "key=hunter2\n")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: home.path).sorted().filter { !$0.hasPrefix(".run") }
        == ["data", "key", "link", "out", "state", "t"])
  }

  @Test(.tags(.root))
  func `a pipe or a device is written through where it is the user's own or root's alone`() throws {
    for kind in [S_IFIFO, S_IFCHR, S_IFSOCK] {
      #expect(SecretOutputFile.mayWrite(kind | 0o666, owner: 1000, user: 1000))
      #expect(SecretOutputFile.mayWrite(kind | 0o666, owner: 0, user: 1000))
      #expect(!SecretOutputFile.mayWrite(kind | 0o666, owner: 1001, user: 1000))
      #expect(!SecretOutputFile.mayWrite(kind | 0o666, owner: 1001, user: 0))
    }
    #expect(!SecretOutputFile.mayWrite(S_IFREG | 0o666, owner: 1000, user: 1000))
    let home = try home()
    try home.transcript("inject -o /dev/null", in: "{{ coffer://github }}")
    guard geteuid() == 0 else { try Test.skip("only root can make another user's pipe") }
    let pipe = home.path + "/pipe"
    try #require(mkfifo(pipe, 0o666) == 0 && chown(pipe, 65534, 65534) == 0)
    try home.transcript("inject -o \(pipe)", in: "{{ coffer://github }}", err: "belongs to another user", exit: 77)
  }

  @Test
  func `an unknown, malformed, unfinished or locked reference: nothing is written`() throws {
    let home = try home()
    let out = try home.file("out", "before")
    for (template, words, status) in [
      ("x {{ coffer://github/ada }} {{ coffer://github/bob }}", "'coffer://github/bob': no item with this name", 1),
      ("\n{{ coffer://a/b/c/d }}", "line 2: the reference", 64),
      ("\n\n{{ coffer://github/ada }\n}}", "line 3: a reference has no '}}'", 64),
      ("{{ coffer://github/ada", "has no '}}'", 64),
    ] as [(String, String, Int32)] {
      try home.transcript("inject -o \(out)", in: template, err: words, exit: status)
      #expect(try home.content("out") == "before")
    }
    try home.transcript("inject -i \(home.path)/none", err: "the file does not exist", exit: 74)
    home.locked()
    try home.transcript("inject -o \(out)", in: "{{ coffer://github }}", err: "nothing to unlock it with", exit: 69)
    try home.transcript("inject --passphrase-file -", in: "x", err: "cannot both come from standard input", exit: 64)
    #expect(try home.content("out") == "before")
  }
}
