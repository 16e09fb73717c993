import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct ClipboardTests {
  @Test func `a value is copied and not printed, and is cleared when its time is over`() throws {
    let fake = try FakeClipboard()
    try fake.home.transcript(
      "vault get github ada --clip --clear-after 1",
      err: "note: copied the password of github (user: ada) with xclip; cleared in 1 s")
    eventually { fake.calls.count == 3 && fake.content.isEmpty }
    #expect(fake.calls.map { $0.split(separator: " by ")[0] } == ["in", "out", "in"].map { "-selection clipboard -\($0)" })
    try fake.home.transcript("vault get github -qc --clear-after 0")
    #expect(fake.content == "hunter2" && fake.calls.count == 4)
    try fake.home.transcript("vault get github --field account -c --clear-after 0", err: "copied 'account' of github with xclip")
    #expect(fake.content == "ada")
  }

  @Test func `a generated password is copied and not printed`() throws {
    let fake = try FakeClipboard()
    let answer = try fake.home.coffer("generate --length 20 -c --clear-after 0")
    #expect(answer.status == 0 && answer.out.isEmpty && answer.err.contains("copied the new password with xclip"))
    #expect(fake.content.count == 20 && !answer.err.contains(fake.content))
  }

  @Test func `what was copied meanwhile stays`() throws {
    let fake = try FakeClipboard()
    try fake.home.transcript("vault get github -qc --clear-after 86334")
    _ = try fake.home.file("clip", "hunter2 and more")
    kill(try #require(FakeClipboard.keeper(86_334)), SIGTERM)
    eventually { FakeClipboard.keeper(86_334) == nil }
    #expect(fake.content == "hunter2 and more" && fake.calls.count == 2)
  }

  @Test func `neither the tool nor who clears has the value, or what opens the vault, among its words and variables`() throws {
    let fake = try FakeClipboard()
    fake.home.environment["COFFER_PASSPHRASE"] = "opens-all"
    let words = Home.visible + [Home.coffer] + Home.words("vault get github -qc --clear-after 86331")
    #expect(try fake.home.program(words)?.status == 0)
    var keeper: pid_t?
    eventually {
      keeper = FakeClipboard.keeper(86_331)
      return keeper != nil
    }
    let id = try #require(keeper)
    defer { kill(id, SIGKILL) }
    let seen = try fake.home.content("environ") + fake.calls.joined()
    let shown = ["cmdline", "environ"].compactMap { FileManager.default.contents(atPath: "/proc/\(id)/\($0)") }
    for text in [seen] + shown.map({ String(decoding: $0, as: UTF8.self) }) {
      #expect(!text.contains("hunter2") && !text.contains("opens-all") && !text.contains("COFFER_"), "\(text)")
    }
    #expect(try String(contentsOfFile: "/proc/\(id)/limits", encoding: .utf8).contains(/Max core file size +0 +0/))
    // It holds no descriptor of its parent.
    try eventually {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd").compactMap { Int($0) }.allSatisfy { $0 < 4 }
    }
  }

  @Test func `a terminal that is closed does not end who clears, and the end of the session has it clear at once`() throws {
    let fake = try FakeClipboard()
    var terminal: PseudoTerminal? = try PseudoTerminal()
    let child = try #require(try terminal?.coffer("vault get github -c --clear-after 86332", in: fake.home))
    terminal?.shows("cleared in 86332 s")
    #expect(try child.wait() == 0)
    terminal = nil
    let keeper = try #require(FakeClipboard.keeper(86_332))
    kill(keeper, SIGHUP)
    usleep(200_000)  // No event: the signal does nothing.
    #expect(kill(keeper, 0) == 0 && fake.content == "hunter2" && getsid(keeper) == keeper)
    kill(keeper, SIGTERM)
    eventually { fake.content.isEmpty }
    eventually { FakeClipboard.keeper(86_332) == nil }
  }

  @Test func `a tool that fails is told of without what it says, and nobody waits to clear`() throws {
    let fake = try FakeClipboard("cat; cat >&2; exit 3")
    try fake.home.transcript(
      "vault get github -c --clear-after 86333",
      err: "xclip failed with status 3; if it copied the value anyway, the clipboard is cleared now\n  try: run xclip",
      exit: 74)
    eventually { FakeClipboard.keeper(86_333) == nil }
    try fake.install("xclip", "exec 0<&-; exit 0")
    _ = try fake.home.coffer("vault set long", in: Data(repeating: 0x61, count: 1 << 20))
    try fake.home.transcript("vault get long -c --clear-after 0", err: "xclip did not take the value", exit: 74)
  }

  private func fake(andThen more: String) throws -> FakeClipboard {
    try FakeClipboard("case $* in *-in) cat > clip; [ -s clip ] || exit 0; touch copied; \(more);; *) cat clip;; esac")
  }

  @Test(arguments: [(86_321, "exit 1", "status 1"), (86_322, "kill -9 $$", "status 137")])
  func `what a tool copied before it failed is cleared at once`(seconds: Int, more: String, said: String) throws {
    let fake = try fake(andThen: more)
    try fake.home.transcript(
      "vault get github -c --clear-after \(seconds)",
      err: "xclip failed with \(said); if it copied the value anyway, the clipboard is cleared now", exit: 74)
    eventually { fake.content.isEmpty }
    eventually { FakeClipboard.keeper(seconds) == nil }
    #expect(fake.home.exists("copied"))
    try fake.home.transcript("vault get github -c --clear-after 0", err: "copied the value anyway, it stays", exit: 74)
  }

  @Test(arguments: [
    // A tool that hides the clipboard's content, one that fails to clear it once, and one that reports only its type.
    (86_311, "*-in) cat > clip;; *) exit 1;; esac", ""),
    (86_312, "*-in) cat > new; [ -s new ] || [ -e tried ] || { touch tried; exit 1; }; mv new clip;; *) cat clip;; esac", ""),
    (86_313, "*-in) cat > clip;; *TARGETS) echo UTF8_STRING;; *) exit 1;; esac", ""),
    (86_314, "*-in) cat > clip;; *TARGETS) echo image/png;; *) exit 1;; esac", "hunter2"),
  ])
  func `a tool that fails leaves no value, unless it says that the clipboard holds no text`(
    seconds: Int, script: String, left: String
  ) throws {
    let fake = try FakeClipboard("case $* in \(script)")
    try fake.home.transcript("vault get github -qc --clear-after \(seconds)")
    #expect(fake.content == "hunter2")
    kill(try #require(FakeClipboard.keeper(seconds)), SIGTERM)
    eventually { FakeClipboard.keeper(seconds) == nil }
    #expect(fake.content == left)
  }

  @Test(arguments: [(86_323, SIGINT), (86_324, SIGTERM), (86_325, SIGHUP)])
  func `a tool is killed when the person stops waiting for it, and the clipboard cleared`(seconds: Int, signal: Int32) throws {
    let fake = try fake(andThen: "echo $$ > tool; sleep 1000")
    let err = try fake.home.file("err")
    let child = try Child(
      Home.words("vault get github -c --clear-after \(seconds)"), environment: fake.home.environment,
      opening: [0: ("/dev/null", O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: (err, O_WRONLY)])
    eventually { (try? fake.home.content("tool").hasSuffix("\n")) == true }
    kill(child.id, signal)
    #expect(try child.wait() == 128 + signal)
    #expect(
      try fake.home.content("err")
        == "coffer: interrupted; if xclip copied the value anyway, the clipboard is cleared now\n")
    eventually { fake.content.isEmpty }
    eventually { FakeClipboard.keeper(seconds) == nil }
    let tool = try fake.home.content("tool").trimmingCharacters(in: .newlines)
    eventually { !FileManager.default.fileExists(atPath: "/proc/\(tool)/exe") }
  }

  @Test func `a tool that is missing is named, with what to install`() throws {
    let fake = try FakeClipboard()
    let home = fake.home
    home.environment["PATH"] = home.path
    try home.transcript(
      "vault get github -c", err: "no clipboard program is installed: xclip, xsel\n  try: install xclip",
      exit: 1)
    home.environment["WAYLAND_DISPLAY"] = "wayland-0"
    try home.transcript("vault get github -c", err: "wl-copy, xclip, xsel\n  try: install wl-clipboard", exit: 1)
    try home.transcript(
      "vault get github -c --clipboard wl-copy", err: "wl-copy is not installed", exit: 1)
    home.environment["DISPLAY"] = nil
    home.environment["WAYLAND_DISPLAY"] = nil
    try home.transcript("vault get github -c", err: "there is no clipboard: WAYLAND_DISPLAY and DISPLAY are not set", exit: 1)
  }

  @Test func `the session, the environment and the option choose the tool, each before the one before it`() throws {
    let fake = try FakeClipboard()
    let home = fake.home
    for name in ["xsel", "wl-copy"] { try fake.install(name, "echo \"$*\" > '\(home.path)/\(name).log'; cat > /dev/null") }
    home.environment["WAYLAND_DISPLAY"] = "wayland-0"
    try home.transcript("vault get github -c --clear-after 0", err: "with wl-copy; it will not be cleared")
    // It reports that it has no option for secrets.
    #expect(try home.content("wl-copy.log") == "--type text/plain\n")
    home.environment["COFFER_CLIPBOARD"] = "xsel"
    try home.transcript("vault get github -c --clear-after 0", err: "with xsel")
    #expect(try home.content("xsel.log") == "--clipboard --input\n")
    try home.transcript("vault get github -c --clear-after 0 --clipboard xclip", err: "with xclip")
    home.environment["COFFER_CLIPBOARD"] = "pbcopy"
    try home.transcript("vault get github -c", err: "COFFER_CLIPBOARD names an unknown clipboard", exit: 64)
  }

  @Test func `wl-copy is told that it gets a password where it knows the option`() throws {
    let fake = try FakeClipboard()
    let log = fake.home.path + "/wl-copy.log"
    try fake.install(
      "wl-copy", "case \"$*\" in --help) echo '  --sensitive  Hint';; *) echo \"$*\" > '\(log)'; cat >/dev/null;; esac")
    fake.home.environment["WAYLAND_DISPLAY"] = "wayland-0"
    try fake.home.transcript("vault get github -qc --clear-after 0")
    #expect(try fake.home.content("wl-copy.log") == "--type text/plain --sensitive\n")
  }

  @Test(arguments: [
    ("vault get github -c --json", 64), ("vault get github --clear-after 3", 64), ("vault get github --clipboard xclip", 64),
    ("vault get github -c --clear-after -1", 64), ("vault get github -c --clear-after 86401", 64),
    ("vault get github -c --clipboard pbcopy", 64), ("vault get empty -c", 77), ("vault get bytes -c", 77),
    ("vault get nul -c", 77), ("vault get none -c", 1),
  ])
  func `what cannot be copied is refused, and nothing is`(line: String, status: Int32) throws {
    let fake = try FakeClipboard()
    for (name, bytes) in [("empty", []), ("bytes", [0xFF, 0xFE]), ("nul", [0x61, 0])] as [(String, [UInt8])] {
      #expect(try fake.home.coffer("vault set \(name) --exact", in: Data(bytes)).status == 0)
    }
    let answer = try fake.home.coffer(line)
    #expect(answer.status == status && answer.bytes.isEmpty && answer.err.contains(/try:|"cure":/), "\(answer.err)")
    #expect(fake.calls.isEmpty)
  }
}
