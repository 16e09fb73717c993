import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats
@testable import CofferTerminal

/// Shell imports of files that the real programs make, if installed.
@Suite(.tags(.process), .wholeRun) struct ImportProgramTests {
  @Test func `every fixture comes in at the shell, without a word of what it is of`() throws {
    func names(_ answer: Home.Answer) -> [String] {
      answer.out.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }.sorted()
    }
    let home = try Home.withVault()
    for file in try ImportFixture.texts.map(\.file) + (ImportFixture.hasLibzip() ? ["1password.1pux"] : []) {
      let copy = try home.file("copy", try ImportFixture.content(file))
      let preview = try home.coffer("import --on-duplicate skip --dry-run \(copy)")
      let answer = try home.coffer("import --on-duplicate skip \(copy)")
      #expect(answer.status == 0 && answer.out == preview.out && !answer.out.isEmpty, "\(file): \(answer.err)")
      #expect(preview.err == answer.err + "coffer: note: nothing was changed (--dry-run)\n", "\(file)")
      let again = try home.coffer("import -q --on-duplicate skip \(copy)")
      #expect(names(again) == names(answer).map { $0.replacing("added", with: "kept") }.sorted(), "\(file): \(again.err)")
    }
    try home.transcript("vault get github.com ann", out: "=cmd()|hunter2")
    #expect(try home.field("github.com", "ann", "pin") == "4711")
    #expect(try home.field("Visa", "", "cvc") == "123")
    #expect(try home.coffer("vault verify").status == 0)
  }

  @Test func `what is left out is told, line by line and in JSON`() throws {
    let home = try Home.withVault()
    let file = try home.file("bitwarden.json", try ImportFixture.content("bitwarden.json"))
    let answer = try home.coffer("import --dry-run \(file)")
    for line in ["GitHub (passkeys)", "old shop (in the trash)"] {
      #expect(answer.err.contains("coffer: note: left out: \(line)\n"), "\(answer.err)")
    }
    #expect(answer.err.contains("note: 'GitHub again' becomes 'github.com/ann (2)': another entry has the name"))
    let json = try home.coffer("import -q --json --dry-run \(file)").out
    #expect(json.contains(#"{"count":1,"entry":"with file: scan.pdf","reason":"\#(LeftOut.attachment)"}"#), "\(json)")
    try home.transcript("import -", in: "hello", err: "the file's format is unknown", exit: 64)
    try home.transcript("import --from bitwarden", err: "FILE is missing", exit: 64)
    try home.transcript("import --from chrome \(file)", err: "the columns are not those of Chrome", exit: 65)
    try home.transcript("import --from netrc", with: ["HOME": home.path], err: "does not exist", exit: 74)
    try home.transcript("import --from netrc --other-key-file x f", err: "need --from coffer", exit: 64)
  }

  @Test func `a field goes the way of its item: what is kept gets nothing of what is imported`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set forum.example bob", in: "mine")
    let file = try home.file("b.csv", try ImportFixture.content("bitwarden.csv"))
    try home.transcript("import -q --on-duplicate skip \(file)", out: "added  Recipe\nkept   forum.example  bob\n")
    try home.transcript("vault get forum.example bob", out: "mine")
    #expect(try home.field("forum.example", "bob", "PIN") == nil)
    try home.transcript("import -q --on-duplicate replace \(file)", out: "replaced  forum.example  bob\nkept      Recipe\n")
    #expect(try home.field("forum.example", "bob", "PIN") == "4711")
    // An import removes no field that it does not name.
    let extra = #"[{"service":"forum.example","account":"bob","field":"extra","value":"mine"}]"#
    try home.transcript("import --from json -", in: extra, out: "added  forum.example  bob  extra\n")
    #expect(try home.coffer("import -q --on-duplicate replace \(file)").status == 0)
    #expect(try home.field("forum.example", "bob", "extra") == "mine")
  }

  @Test func `a file of ten gigabytes is refused after its first bytes`() throws {
    let home = try Home.withVault()
    let file = try home.file("huge.csv", "name,url,username,password\n")
    let descriptor = open(file, O_WRONLY)
    try #require(descriptor >= 0 && ftruncate(descriptor, 10 << 30) == 0)
    close(descriptor)
    try home.transcript("import \(file)", err: "larger than \(ImportSource.largestFile) bytes", exit: 64)
    try home.transcript("import \(file)", err: "try: check that it is an export of passwords", exit: 64)
    try home.transcript("import --from 1password \(file)", err: "larger than", exit: 64)
    try home.transcript("vault list")
  }

  @Test func `an export that comes through a pipe with a path is read from its first byte`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    let file = try home.file("1password.csv", try ImportFixture.content("1password.csv"))
    let line = "cat '\(file)' | coffer import -q --from 1password /dev/stdin"
    let answer = try #require(try home.program(["sh", "-c", line]))
    #expect(answer.status == 0 && answer.out.contains("bank.example"), "\(answer.err)")
  }

  @Test func `a ZIP bomb is refused at the limit`() throws {
    let home = try Home.withVault()
    try ImportFixture.needLibzip()
    let script = """
      import sys, zipfile
      with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as z:
        with z.open('export.data', 'w') as f:
          for _ in range(65): f.write(bytes(1 << 20))
      """
    guard try home.program(["python3", "-c", script, home.path + "/bomb.1pux"])?.status == 0 else {
      try Test.skip(without: "python3")
    }
    try home.transcript(
      "import \(home.path)/bomb.1pux", err: "unpacks to more than \(ImportSource.largestFile) bytes", exit: 64)
  }

  @Test func `without libzip an archive is refused, and the package named`() throws {
    let home = try Home.withVault()
    for name in ["libzip.so.5", "libzip.so.4"] { _ = try home.file("lib/\(name)", "no library") }
    try home.transcript(
      "import \(ImportFixture.path("1password.1pux"))", with: ["LD_LIBRARY_PATH": home.path + "/lib"],
      err: "install libzip4", exit: 1)
  }

  @Test(arguments: [
    (
      "zip.h", "libzip-dev",
      """
      #include <zip.h>
      #include "libzip.h"
      coffer_libzip table = { zip_open, zip_name_locate, zip_fopen_index, zip_fread, zip_fclose, zip_discard };
      _Static_assert(COFFER_ZIP_RDONLY == ZIP_RDONLY, "flags");
      """
    ),
    (
      "zlib.h", "zlib1g-dev",
      """
      #include <stddef.h>
      #include <zlib.h>
      #include "libz.h"
      _Static_assert(sizeof(coffer_zstream) == sizeof(z_stream), "size");
      _Static_assert(offsetof(coffer_zstream, next_out) == offsetof(z_stream, next_out), "output");
      _Static_assert(offsetof(coffer_zstream, avail_out) == offsetof(z_stream, avail_out), "room");
      _Static_assert(offsetof(coffer_zstream, adler) == offsetof(z_stream, adler), "check");
      _Static_assert(COFFER_Z_FINISH == Z_FINISH && COFFER_Z_STREAM_END == Z_STREAM_END, "numbers");
      _Static_assert(COFFER_Z_GZIP == MAX_WBITS + 16, "window");
      """
    ),
  ])
  func `what is declared of a library is what its header says`(header: String, package: String, code: String) throws {
    let sources = ImportFixture.folder.appending(path: "../../Sources/CCofferLibraries/include").standardized.path()
    guard access("/usr/include/\(header)", R_OK) == 0 else { try Test.skip(without: package) }
    let home = try Home()
    home.environment["PATH"] = ProcessInfo.processInfo.environment["PATH"]
    let file = try home.file("check.c", code)
    for compiler in ["clang", "cc"] {
      guard
        let answer = try home.program([
          compiler, "-fsyntax-only", "-Wall", "-Werror", "-Wno-nullability-extension", "-Wno-unknown-warning-option", "-I",
          sources, file,
        ])
      else { continue }
      #expect(answer.status == 0, "\(answer.err)")
      return
    }
    try Test.skip(without: "a C compiler")
  }

  @Test(arguments: [
    ("bitwarden.json", "=cmd()|hunter2"), ("bitwarden.csv", "4711"), ("chrome.csv", "second"), ("keepass.xml", "4711"),
    ("netrc", "hunter2"), ("gh-hosts.yml", "gho_two"),
  ])
  func `while the question is asked, no secret of the file stands in ordinary memory`(file: String, secret: String) throws {
    let canary = "canary-Zk3vQ9sLw8Xy2Bn5Rt7U"
    let home = try Home.withVault()
    let text = String(decoding: try ImportFixture.content(file), as: UTF8.self)
    let path = try home.file(file, text.replacing(secret, with: canary))
    let terminal = try PseudoTerminal()
    let child = try #require(try terminal.program(Home.visible + [Home.coffer, "import", path], in: home))
    terminal.shows("Import them? [y/N]")
    let (guarded, ordinary) = try Self.mappings(of: child.id, holding: canary)
    #expect(guarded > 0 && ordinary.isEmpty, "\(ordinary)")
    terminal.type("n\n")
    terminal.showsAll()
    _ = try child.wait()
  }

  /// Counts mappings of a process with `text` that vanish in its children, as guarded memory does, and lists others.
  private static func mappings(of process: pid_t, holding text: String) throws -> (guarded: Int, ordinary: [String]) {
    let memory = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
    try #require(memory >= 0)
    defer { close(memory) }
    var guarded = 0, ordinary: [String] = [], mapping = ""
    let file = try #require(FileHandle(forReadingAtPath: "/proc/\(process)/smaps"))
    for line in String(decoding: file.readDataToEndOfFile(), as: UTF8.self).split(separator: "\n").map(String.init) {
      let words = line.split(separator: " ")
      if words.count > 4, words[0].contains("-") { mapping = line }
      guard words[0] == "VmFlags:", words.contains("rd") else { continue }
      let ends = mapping.prefix { $0 != " " }.split(separator: "-").compactMap { Int($0, radix: 16) }
      // The kernel's own, at the end of the address space, holds no program data.
      guard ends.count == 2 else { continue }
      var bytes = [UInt8](repeating: 0, count: ends[1] - ends[0])
      guard pread(memory, &bytes, bytes.count, ends[0]) > 0, Data(bytes).range(of: Data(text.utf8)) != nil else { continue }
      if words.contains("wf") { guarded += 1 } else { ordinary.append(mapping) }
    }
    return (guarded, ordinary)
  }

  @Test func `what keepassxc-cli exports comes in, as XML through a pipe and as CSV`() throws {
    let home = try Home.withVault()
    home.environment["QT_QPA_PLATFORM"] = "offscreen"
    let base = home.path + "/t.kdbx"
    guard let made = try home.program(["keepassxc-cli", "db-create", "-p", base], in: "dbpw\ndbpw\n"), made.status == 0 else {
      try Test.skip(without: "keepassxc-cli")
    }
    for (words, input) in [
      (["mkdir", base, "Bank"], "dbpw\n"),
      (
        ["add", "-p", "-u", "ann", "--url", "https://github.com/login", "--notes", "a, \"note\"", base, "GitHub"],
        "dbpw\n=pw\"1\n"
      ),
      (["add", "-p", "-u", "bob", base, "Bank/Konto"], "dbpw\npw<&>2\n"), (["add", "-p", base, "Old"], "dbpw\nx\n"),
      (["rm", base, "Old"], "dbpw\n"),
    ] {
      let done = try #require(try home.program(["keepassxc-cli"] + words, in: input))
      #expect(done.status == 0, "\(words): \(done.err)")
    }
    let xml = try #require(try home.program(["keepassxc-cli", "export", base], in: "dbpw\n"))
    let answer = try home.coffer("import -", in: Data(xml.out.utf8))
    #expect(answer.out == "added  github.com  ann\nadded  Konto       bob\n", "\(answer.err)")
    #expect(answer.err == "coffer: note: left out: Old (in the trash)\n")
    try home.transcript("vault get github.com", out: "=pw\"1")
    #expect(try home.field("github.com", "ann", "notes") == "a, \"note\"")
    try home.transcript("vault get Konto", out: "pw<&>2")
    let csv = try #require(try home.program(["keepassxc-cli", "export", "-f", "csv", base], in: "dbpw\n"))
    let again = try home.coffer("import -q --on-duplicate skip -", in: Data(csv.out.utf8))
    #expect(again.out == "kept  github.com  ann\nkept  Konto       bob\n", "\(again.err)")
  }

  @Test func `what git's own store keeps is found by git through Coffer`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    home.environment["HOME"] = home.path
    home.environment["GIT_CONFIG_NOSYSTEM"] = "1"
    let asked = "protocol=https\nhost=git.example:8443\nusername=an n\npassword=p@ss:/%w\n\n"
    guard let stored = try home.program(["git", "credential-store", "store"], in: asked), stored.status == 0 else {
      try Test.skip(without: "git")
    }
    try home.transcript("import --from git-credentials", out: "added  https://git.example:8443  an n\n")
    let filled = try #require(
      try home.program(
        ["git", "-c", "credential.helper=", "-c", "credential.helper=coffer", "credential", "fill"],
        in: "protocol=https\nhost=git.example:8443\n\n"))
    #expect(filled.out.contains("username=an n\n") && filled.out.contains("password=p@ss:/%w\n"), "\(filled.err)")
  }

  @Test func `what doctor finds in the clear comes in by the words that it says`() throws {
    let home = try Home.sound()
    home.environment["HOME"] = home.path
    for (file, name, from) in [
      (".git-credentials", "git-credentials", "git-credentials \(home.path)/.git-credentials"),
      (".docker/config.json", "docker-config.json", "docker"), (".aws/credentials", "aws-credentials", "aws"),
    ] {
      _ = try home.file(file, try ImportFixture.content(name))
      let report = try home.coffer("doctor").out
      #expect(report.contains("coffer import --from \(from);"), "\(report)")
      #expect(try home.coffer("import -q --from \(from)").out.contains("added  "))
    }
  }

  @Test func `an archive without a file in it is said to be one`() throws {
    let home = try Home.withVault()
    let empty = try home.file("empty.1pux", Data([0x50, 0x4B, 0x05, 0x06] + [UInt8](repeating: 0, count: 18)))
    let answer = try home.coffer("import \(empty)")
    let hasLibzip = try ImportFixture.hasLibzip()
    #expect(answer.status == (hasLibzip ? 65 : 1) && answer.err.contains("archive"), "\(answer.err)")
  }

  @Test func `a name of pass that no item can have is changed as in other imports, and told`() throws {
    let home = try Home.withVault()
    _ = try home.file("bin/gpg", "#!/bin/sh\nfor f; do :; done\ncat \"$f\"\necho '[GNUPG:] DECRYPTION_OKAY' >&3\n", mode: 0o700)
    home.environment["PATH"] = home.path + "/bin:/usr/bin:/bin"
    for name in ["ok", "web/a\u{1B}[31mb", "web/a [31mb"] { _ = try home.file("store/\(name).gpg", "pw") }
    let answer = try home.coffer("import --from pass \(home.path)/store")
    #expect(answer.status == 0 && answer.out == "added  ok\nadded  web  a [31mb\nadded  web  a [31mb (2)\n", "\(answer)")
    #expect(answer.err.contains("becomes 'web/a [31mb'") && !answer.err.contains("\u{1B}"), "\(answer.err)")
  }

  @Test func `an entry of pass for thousands of keys, of each of which gpg tells, comes in, and one for too many is refused`()
    throws
  {
    let home = try Home.withVault()
    let notes = try home.file("notes", String(repeating: "[GNUPG:] ENC_TO 0123456789ABCDEF 1 0\n", count: 4000))
    let gpg = "#!/bin/sh\nfor f; do :; done\ntimeout 20 cat '\(notes)' >&3 || exit 2\ncat \"$f\"\n"
    _ = try home.file("bin/gpg", gpg + "echo '[GNUPG:] DECRYPTION_OKAY' >&3\n", mode: 0o700)
    home.environment["PATH"] = home.path + "/bin:/usr/bin:/bin"
    _ = try home.file("store/web/ann.gpg", String(repeating: "p", count: 200_000))
    try home.transcript("import --from pass --first-line \(home.path)/store", out: "added  web  ann\n")
    #expect(try home.coffer("vault get web ann").bytes.count == 200_000)
    _ = try home.file("notes", Data(count: 2 << 20))
    let answer = try home.coffer("import --from pass \(home.path)/store")
    #expect(answer.status != 0 && answer.err.contains("the status of gpg is larger than 1048576 bytes"), "\(answer.err)")
  }

  @Test func `gopass's store is read where gopass keeps it, with its entries split`() throws {
    let home = try Home.withVault()
    // A fake gpg: decryption itself is not tested.
    _ = try home.file("bin/gpg", "#!/bin/sh\nfor f; do :; done\ncat \"$f\"\necho '[GNUPG:] DECRYPTION_OKAY' >&3\n", mode: 0o700)
    home.environment["PATH"] = home.path + "/bin:/usr/bin:/bin"
    home.environment["HOME"] = home.path
    _ = try home.file(".local/share/gopass/stores/root/web/ann.gpg", "pw\n---\nport: 80\nurl: https://x.example\n")
    _ = try home.file(".local/share/gopass/stores/root/empty.gpg", "")
    try home.transcript(
      "import --from gopass", out: "added  web  ann\n", err: "coffer: note: left out: empty (without a secret)\n")
    try home.transcript("vault get web", out: "pw")
    #expect(try home.field("web", "ann", "port") == "80")
    try home.transcript("import --from gopass --first-line -q --on-duplicate replace", out: "replaced  web  ann\n")
  }

  @Test func `another vault, its export and its backup come in with their own secrets, fields and dates`() throws {
    let other = try Home.withVault()
    try other.transcript("vault set web ann --label L --attribute k=v", in: "secret")
    let text = #"[{"service":"web","account":"ann","field":"pin","value":"1"}]"#
    try other.transcript("import --from json -", in: text, out: "added  web  ann  pin\n")
    try other.transcript("backup -q \(other.path)/copy")
    try other.transcript("export -q \(other.path)/export --new-key-file \(other.path)/export-key")
    let home = try Home.withVault()
    try home.transcript("import \(other.path)/copy", err: "--other-key-file", exit: 69)
    try home.transcript(
      "import \(other.path)/copy --other-key-file \(other.path)/export-key", err: "wrong key file", exit: 77)
    for (file, key) in [("copy", "key"), ("export", "export-key"), ("data/vault.sqlite", "key")] {
      let home = try Home.withVault()
      try home.transcript(
        "import \(other.path)/\(file) --other-key-file \(other.path)/\(key)", out: "added  web  ann\n")
      try home.transcript("vault get web", out: "secret")
      #expect(try home.field("web", "ann", "pin") == "1")
      #expect(try home.coffer("vault show web").out.contains("L"))
      #expect(try home.coffer("vault verify").status == 0)
    }
    try home.transcript("import --from coffer -", err: "a vault is a file", exit: 64)
  }

  @Test func `a terminal sees the plan first and is asked, then a total; each item with --verbose`() throws {
    let home = try Home.withVault()
    let file = try home.file("b.json", try ImportFixture.content("bitwarden.json"))
    func answer(_ line: String, _ reply: String?) throws -> (String, Int32) {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer(line, in: home)
      if let reply {
        terminal.shows("Import them? [y/N]")
        terminal.type(reply)
      }
      terminal.showsAll()
      return (terminal.shown.replacing("\r\n", with: "\n"), try child.wait())
    }
    let no = try answer("import \(file)", "n\n")
    let plan = """
      Bitwarden, \(file): 8 items with 5 fields and 1 previous password
        new       8
        renamed   1  to be unique and valid
        left out  1  in the trash
                  1  of a type unknown to this version
        without   1  passkeys
                  1  attachments that are not whole in the file
      --verbose names the entries that are left out or renamed.
      Import them? [y/N]
      """
    #expect(no.0.contains(plan) && no.0.contains("Nothing was imported") && no.1 == 77, "\(no)")
    try home.transcript("vault list")
    let trial = try answer("import \(file) --dry-run", nil)
    #expect(trial.0.contains("would import 8 items; 2 entries and 2 parts left out\n") && trial.1 == 0, "\(trial)")
    let yes = try answer("import \(file)", "y\n")
    #expect(yes.0.contains("imported 8 items; 2 entries and 2 parts left out\n") && yes.1 == 0, "\(yes)")
    #expect(!yes.0.contains("added  github.com"))
    #expect(yes.0.hasSuffix("coffer: note: \(file) still holds the secrets in plain text; delete it\n"), "\(yes)")
    for option in ["--quiet", "--json", "--yes"] {
      let unasked = try answer("import \(file) --on-duplicate skip \(option)", nil)
      #expect(!unasked.0.contains("Import them?") && unasked.1 == 0, "\(unasked)")
    }
    let all = try answer("import \(file) --on-duplicate replace --verbose --yes", nil)
    #expect(all.0.contains("kept  github.com  ann (2)\n") && all.0.contains("left out: old shop (in the trash)"), "\(all)")
  }
}

extension Home {
  fileprivate func field(_ service: String, _ account: String, _ field: String) throws -> String? {
    struct Export: Decodable { let items: [Item] }
    struct Item: Decodable { let service: String, account: String, field: String?, value: String }
    let export = try JSONDecoder().decode(Export.self, from: coffer("export --reveal").bytes)
    return export.items.first { $0.service == service && $0.account == account && $0.field == field }?.value
  }
}
