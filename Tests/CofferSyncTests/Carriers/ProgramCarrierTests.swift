import CofferPlatform
import CofferTestSupport
import CofferVaultFormat
import Foundation
import SystemPackage
import Testing

@testable import CofferSync

@Suite(.tags(.process), .defaultRun) struct ProgramCarrierTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder("program-carrier") }

  private func carrier(_ script: String, patience: Duration = .seconds(60)) throws -> ProgramCarrier {
    let path = folder.path.appending("carry")
    try Remote.write("#!/bin/sh\ncd '\(folder.path)'\n" + script, to: path, mode: 0o700)
    return try ProgramCarrier(command: path.string, folder: folder.path.appending("own"), patience: patience)
  }

  @Test func `each failure of the user's program means later, with its last line, printable and short`() throws {
    for status in [75, 1, 77, 126] {
      let later = try expect(.unreachable) { _ = try carrier("echo 'Permission denied' >&2; exit \(status)").heads() }
      #expect(later.what == "could not list the files: Permission denied")
    }
    let error = try expect(.unreachable) { _ = try carrier("printf 'one\\ntwo \\033[2J\\n\\n' >&2; exit 3").heads() }
    #expect(error.what == "could not list the files: two \\u{1b}[2J")
    let long = try expect(.unreachable) { _ = try carrier("head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1").heads() }
    #expect(long.what.utf8.count < 300)
    let silent = try expect(.unreachable) { _ = try carrier("exit 9").heads() }
    #expect(silent.what == "could not list the files: status 9, without a word")
    #expect(try expect(.unreachable) { _ = try carrier("kill -KILL $$").heads() }.what.contains("status 137"))
  }

  @Test func `a program that is not there is told`() throws {
    let missing = try ProgramCarrier(command: "coffer-no-such-program", folder: folder.path.appending("own"))
    try expect(.unsupported) { _ = try missing.heads() }
    let path = folder.path.appending("plain")
    try Remote.write("", to: path, mode: 0o600)
    try expect(.denied) { _ = try ProgramCarrier(command: path.string, folder: folder.path.appending("own")).heads() }
  }

  @Test func `it gets no descriptor, no terminal, no input and only variables that it needs`() throws {
    let held = open(folder.path.appending("held").string, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(held) }
    _ = try carrier(
      "{ ls -l /proc/$$/fd; env; cat; } >seen; [ ! -t 0 ] && ! (exec </dev/tty) 2>/dev/null"
    ).heads()
    let seen = try String(contentsOfFile: folder.path.appending("seen").string, encoding: .utf8)
    #expect(!seen.contains("/held") && seen.contains("0 -> /dev/null"), "\(seen)")
    let names = seen.split(separator: "\n").filter { $0.contains("=") }.map { $0.prefix { $0 != "=" } }
    let allowed = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "SSH_AUTH_SOCK", "PWD", "OLDPWD", "SHLVL", "_"]
    let others = names.filter { name in
      !allowed.contains(String(name)) && !["XDG_", "DBUS_", "SSL_"].contains(where: name.hasPrefix)
        && !name.lowercased().hasSuffix("_proxy")
    }
    #expect(others == [], "\(seen)")
  }

  @Test(.tags(.process, .slow), .defaultRun) func `a program that does not end is killed with all that it started`() throws {
    let carrier = try carrier("sleep 1000 & echo $! >child; wait", patience: .seconds(1))
    let error = try expect(.unreachable) { _ = try carrier.heads() }
    #expect(error.what.contains("did not end within 1 s"))
    // A busy machine may not have come so far.
    let text = try? String(contentsOfFile: folder.path.appending("child").string, encoding: .utf8)
    if let child = text.flatMap({ Int32($0.trimmingCharacters(in: .newlines)) }) {
      eventually("the child has ended") { hasEnded(child) }
    }
  }

  @Test func `a process that it leaves behind does not hold us up`() throws {
    let started = ContinuousClock.now
    #expect(try carrier("setsid sleep 600 & echo $! >child; exit 0").heads() == PieceListing())
    #expect(ContinuousClock.now - started < .seconds(300))
    let text = try String(contentsOfFile: folder.path.appending("child").string, encoding: .utf8)
    if let child = Int32(text.trimmingCharacters(in: .newlines)) { kill(child, SIGKILL) }
  }

  @Test func `what it prints and what it brings has limits`() throws {
    try expect(.damaged) { _ = try carrier("yes | head -c 7000000").heads() }
    try expect(.damaged) { _ = try carrier("seq 100000 | sed 's|^|o/|'").names() }
    let name = PieceName.group(PlainHash.digest([1]))
    let here = try PieceFolder(folder.path.appending("here"))
    // The largest group and one byte: the kernel ends it.
    #expect(throws: StoreError.self) {
      try carrier("exec head -c \(name.limit + 1) /dev/zero >\"$3/$(cat \"$2\")\"").get([name], into: here)
    }
    #expect(try #require(try FileStatus(at: here.path(of: name))).size <= name.limit)
    try #require(unlink(here.path(of: name).string) == 0)
    // A link in place of a file is none.
    #expect(try carrier("ln -s /etc/passwd \"$3/$(cat \"$2\")\"").missing([name], into: here) == [name])
    #expect(try here.read(name) == nil)
  }

  @Test func `groups are put before the head, each in a run of its own, and heads are removed first`() throws {
    let here = try PieceFolder(folder.path.appending("here"))
    let sample = try Sample(1, [0: Sample.content(1), 1: Sample.content(2)], in: here)
    let carrier = try carrier("echo \"$1 $(tr '\\n' ' ' <\"$2\")\" >>calls")
    #expect(try carrier.put(sample, from: here))
    try carrier.remove(sample.groups + [.head(sample.head)])
    let calls = try String(contentsOfFile: folder.path.appending("calls").string, encoding: .utf8)
    let groups = sample.groups.map { "\($0) " }.joined(), head = "\(PieceName.head(sample.head)) "
    #expect(calls == "put \(groups)\nput \(head)\ndelete \(head)\ndelete \(groups)\n")
  }

  @Test func `a program that dies in the middle of a put leaves no head without its groups`() throws {
    let here = try PieceFolder(folder.path.appending("here"))
    let sample = try Sample(1, [0: Sample.content(1), 1: Sample.content(2)], in: here)
    let carrier = try carrier(
      "[ $1 = list ] && exec find h o -type f; mkdir -p h o; read -r one <$2; cp $3/$one $one; kill -KILL $$")
    try expect(.unreachable) { _ = try carrier.put(sample, from: here) }
    #expect(try carrier.heads().heads == [] && carrier.names().names == [sample.groups[0]])
  }

  @Test func `rclone without its remote, and a network that is gone, are told apart`() throws {
    try Remote.need("rclone")
    let config = folder.path.appending("rclone.conf")
    try Remote.write("[dead]\ntype = webdav\nurl = http://127.0.0.1:9/\n", to: config, mode: 0o600)
    func carrier(_ remote: String) throws -> ProgramCarrier {
      try ProgramCarrier(rclone: remote, folder: folder.path.appending("own"), settings: ["RCLONE_CONFIG=\(config)"])
    }
    let unknown = try expect(.refused) { _ = try carrier("absent:x").heads() }
    #expect(unknown.what.contains("didn't find section in config file"))
    try expect(.unreachable) { _ = try carrier("dead:x").heads() }
  }
}
