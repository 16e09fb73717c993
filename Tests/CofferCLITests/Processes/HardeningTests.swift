import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct HardeningTests {
  @Test
  func `while it asks, the process can leave no core, gain no rights and be read by nobody`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init", in: home)
    terminal.shows("New passphrase: ")
    let limits = try String(contentsOfFile: "/proc/\(child.id)/limits", encoding: .utf8)
    #expect(limits.contains(/Max core file size +0 +0/))
    let status = try String(contentsOfFile: "/proc/\(child.id)/status", encoding: .utf8)
    #expect(status.contains("NoNewPrivs:\t1"))
    #expect(status.contains("Umask:\t0077"))
    var facts = stat()
    // In /proc, a process that is not dumpable belongs to root.
    #expect(stat("/proc/\(child.id)/environ", &facts) == 0 && facts.st_uid == 0)
    terminal.type("\u{3}")
    #expect(try child.wait() == 130)
  }

  @Test(arguments: [false, true])
  func `the crash backtracer, which prints memory, catches no signal, and an ignored one stays ignored`(ignores: Bool) throws {
    let home = try Home.withVault()
    home.environment["SWIFT_BACKTRACE"] = "enable=yes"
    let pipe = home.path + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    let start = (ignores ? "trap '' QUIT; " : "") + "exec \"$0\" vault get s --no-agent --key-file \"$1\""
    let child = try Child(
      ["-c", start, Home.coffer, pipe], environment: home.environment,
      opening: [0: ("/dev/null", O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: ("/dev/null", O_WRONLY)], program: "/bin/sh")
    // It waits for the key by now.
    var writer: Int32 = -1
    eventually {
      writer = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      return writer >= 0
    }
    let status = try String(contentsOfFile: "/proc/\(child.id)/status", encoding: .utf8)
    func mask(_ name: String) -> UInt64? {
      status.split(separator: "\n").first { $0.hasPrefix(name) }.flatMap { UInt64($0.split(separator: "\t")[1], radix: 16) }
    }
    let crashes = [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV].reduce(0 as UInt64) { $0 | 1 << UInt64($1 - 1) }
    #expect(try #require(mask("SigCgt")) & crashes == 0)
    #expect(try #require(mask("SigIgn")) & crashes == (ignores ? 1 << UInt64(SIGQUIT - 1) : 0))
    close(writer)
    #expect(try child.wait() != 0)
  }

  /// For a process that ignores SIGCHLD, the system forgets the children and how they ended.
  @Test
  func `where the end of children is ignored from the start, a program that fails still counts as one, and no wait is for ever`()
    throws
  {
    let home = try Home.withPassphrase("plum sofa").home
    try home.transcript("vault set s n --passphrase-file \(home.path)/pass", in: "before")
    home.environment["COFFER_ASKPASS"] = try home.file("askpass", "#!/bin/sh\ncat \(home.path)/pass\n", mode: 0o700)
    // dash(1) does not keep it ignored.
    func ignoring(_ line: String) throws -> (status: Int32, out: String, err: String) {
      try #require(try home.program(["bash", "-c", "trap '' CHLD; exec \"$0\" \(line)", Home.coffer]))
    }
    let got = try ignoring("vault get s n --no-agent")
    #expect(got.status == 0 && got.out == "before", "\(got.err)")
    let run = try ignoring("run --mask -- sh -c 'echo out; exit 3'")
    #expect(run.status == 3 && run.out == "out\n", "\(run.err)")
    let inherited = try ignoring("run -- grep SigIgn /proc/self/status")
    let mask = inherited.out.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) }
    #expect(try #require(mask) & 1 << UInt64(SIGCHLD - 1) != 0, "a command finds it as it was: \(inherited)")
    guard access("/dev/shm", W_OK) == 0 else { try Test.skip("there is no /dev/shm") }
    home.environment["EDITOR"] = "/bin/sh " + (try home.file("editor", "echo half > $1; exit 2\n"))
    let edit = try ignoring("vault edit s n --no-agent")
    #expect(edit.status == 2 && edit.err.contains("the editor ended with status 2"), "\(edit)")
    try home.transcript("vault get s n --no-agent", out: "before")
  }

  @Test(arguments: [[], [SIGXFSZ], [SIGPIPE]])
  func `a command finds the signals of a write that cannot be made as this program did`(ignored: [Int32]) throws {
    let home = try Home.withVault()
    let traps = ignored.map { "trap '' \($0); " }.joined()
    for line in ["run -- grep SigIgn /proc/self/status", "run --mask -- grep SigIgn /proc/self/status"] {
      let answer = try #require(try home.program(["bash", "-c", traps + "exec \"$0\" \(line)", Home.coffer]))
      let mask = try #require(answer.out.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) })
      for signal in [SIGXFSZ, SIGPIPE] {
        #expect((mask & 1 << UInt64(signal - 1) != 0) == ignored.contains(signal), "\(line): \(signal)")
      }
    }
  }

  /// A new descriptor gets the lowest free number: a file of coffer's own may have the number on the line.
  @Test
  func `a descriptor that was not open at the start is refused, and nothing of coffer's own files is stored`() throws {
    let home = try Home.withVault()
    try home.transcript("set p --plain before")
    let before = try home.coffer("vault slot list").out
    var lines = [
      "vault set s n <&-", "set p --plain <&-", "set p --plain --type data <&-", "vault slot add --new-passphrase-file - <&-",
    ]
    for number in 3...6 {
      for line in ["vault set s n --fd", "set p --plain --type data --fd", "vault slot add --new-passphrase-fd"] {
        lines.append("\(line) \(number) </dev/null \(number)<&-")
      }
    }
    for line in lines {
      let (status, err) = try shell(line, home)
      #expect(status == 64 && err.contains("is not open for reading"), "\(line): \(status) \(err)")
    }
    #expect(try home.coffer("vault get s n").status == 1)
    try home.transcript("get p", out: "before")
    #expect(try home.coffer("vault slot list").out == before)
  }

  @Test
  func `a path to a descriptor that was not open at the start is refused, whatever leads there, and one that was open is read`()
    throws
  {
    let home = try Home.withVault()
    try home.transcript("defaults write app theme dark")
    let before = try home.coffer("defaults export app -").out
    #expect(symlink("/dev/fd", home.path + "/folder") == 0)
    for number in 3...6 {
      #expect(symlink("folder/\(number)", home.path + "/link\(number)") == 0)
      let folders = number == 3 ? ["/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"] : ["/dev/fd/"]
      for path in folders.map({ "\($0)\(number)" }) + ["\(home.path)/link\(number)"] {
        for command in ["vault set s n --file", "defaults export app", "inject -o", "restore"] {
          let line = "\(command) \(path)"
          let (status, err) = try shell("\(line) </dev/null \(number)<&-", home)
          #expect(status == 64 && err.contains("descriptor \(number), which is not open"), "\(line): \(status) \(err)")
        }
      }
    }
    #expect(try home.coffer("vault get s n").status == 1)
    #expect(try home.coffer("defaults export app -").out == before && home.coffer("vault verify").status == 0)
    let value = try home.file("value", "given")
    #expect(try shell("vault set s n --file /dev/fd/7 7<\(value)", home).status == 0)
    try home.transcript("vault get s n", out: "given")
    #expect(try shell("vault set s n --file \(home.path)/folder/0 <\(value)", home).status == 0)
  }

  @Test
  func `with closed standard streams nothing is read from or written to files of coffer's own`() throws {
    let home = try Home.withVault()
    #expect(try shell("vault set s n --file /dev/stdin <&-", home).status != 0)
    let value = try home.file("value", "kept")
    #expect(try shell("vault set s n --file \(value) <&- >&- 2>&-", home).status == 0)
    #expect(try shell("vault get s n <&- >&-", home).status == 74)
    #expect(try shell("vault get s missing <&- >&- 2>&-", home).status == 1)
    try home.transcript("vault get s n", out: "kept")
    #expect(try home.coffer("vault verify").status == 0)
    // A command gets its descriptors unchanged.
    #expect(
      try shell("run -- /bin/sh -c '! [ -e /proc/self/fd/0 ] && ! [ -e /proc/self/fd/1 ]' 2>/dev/null <&- >&-", home).status == 0)
  }

  @Test(.tags(.root))
  func `without /proc a command does what its arguments say`() throws {
    let home = try Home.withVault()
    let script = """
      unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none /proc && echo alone && printf v9 | "$0" vault set s c --no-agent; \
        echo "status $?"; "$0" vault get s c; "$0" vault get s none; echo " status $?"; exit 0' '\(Home.coffer)'
      """
    let answer = try #require(try home.program(["sh", "-c", script]))
    guard answer.out.hasPrefix("alone\n") else { try Test.skip("/proc cannot be hidden here: \(answer.err)") }
    #expect(answer.out == "alone\nstatus 0\nv9 status 1\n", "\(answer)")
    try home.transcript("vault get s c", out: "v9")
  }

  private func shell(_ line: String, _ home: Home) throws -> (status: Int32, err: String) {
    let err = try home.file("err")
    let child = try Child(
      ["-c", "exec \"$0\" \(line)", Home.coffer], environment: home.environment,
      opening: [0: ("/dev/null", O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: (err, O_WRONLY)], program: "/bin/sh")
    return (try child.wait(), try home.content("err"))
  }
}
