import CofferTestSupport
import Coffer
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats

@Suite(.tags(.process), .defaultRun)
struct ImportCommandTests {
  @Test
  func `an environment file becomes items, and comes back as references and as values`() throws {
    let home = try Home.withVault()
    let file = try home.file(".env", "A=one\nexport B='two words'\nC=\"it's\\n\\\"$\"\nD=coffer://app/A\n")
    try home.transcript(
      "import --from env --service app --dry-run \(file)", out: "added  app  A\nadded  app  B\nadded  app  C\n",
      err:
        "coffer: note: 'D' is already a reference and stays in the file\ncoffer: note: nothing was changed (--dry-run)\n"
    )
    try home.transcript("vault list")
    try home.transcript("import -q --from env --service app \(file)", out: "added  app  A\nadded  app  B\nadded  app  C\n")
    try home.transcript("vault get app B", out: "two words")
    try home.transcript("vault get app C", out: "it's\n\"$")
    let references = "A=coffer://app/A\nB=coffer://app/B\nC=coffer://app/C\n"
    try home.transcript("export --references --service app", out: references)
    let values = "A='one'\nB='two words'\nC=\"it's\n\\\"\\$\"\n"
    try home.transcript("export --reveal --format env --service app", out: values)
    try home.transcript(
      "import -q --from env --service copy -", in: values, out: "added  copy  A\nadded  copy  B\nadded  copy  C\n")
    try home.transcript("vault get copy C", out: "it's\n\"$")
    _ = try home.file("refs.env", references)
    try home.transcript("run --env-file \(home.path)/refs.env -- /bin/sh -c 'echo $B'", out: "two words\n")
    let shell = try #require(try home.program(["sh", "-c", "\(values)printf %s \"$C\""]))
    #expect(shell.out == "it's\n\"$")
    try home.transcript("vault set app 'no name'", in: "x")
    try home.transcript("export --references", err: "not a valid variable name", exit: 64)
  }

  @Test
  func `of two services that Unicode takes for one, an export of one has nothing of the other`() throws {
    let home = try Home.withVault()
    let (one, other) = ("caf\u{E9}", "cafe\u{301}")
    try home.transcript("vault set \(one) A", in: "first")
    try home.transcript("vault set \(other) B", in: "second")
    let json = try home.coffer("export --reveal --service \(one)").out
    #expect(json.contains("first") && !json.contains("second"), "\(json)")
    try home.transcript("export --reveal --format env --service \(one)", out: "A='first'\n")
    try home.transcript("export --references --service \(other)", out: "B=coffer://cafe%CC%81/B\n")
  }

  @Test
  func `duplicates are skipped, replaced or refused, as asked`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set app A", in: "old")
    let line = "import --from env --service app -"
    try home.transcript(line, in: "A=new\nB=2", err: "the item already exists; nothing was imported", exit: 73)
    try home.transcript(
      "\(line) --on-duplicate fail", in: "A=new\nB=2", err: "--on-duplicate skip, replace, newer or both", exit: 73)
    #expect(try home.listed() == ["app/A"])
    try home.transcript("\(line) --on-duplicate skip", in: "A=new\nB=2", out: "added  app  B\nkept   app  A\n")
    try home.transcript("vault get app A", out: "old")
    try home.transcript(
      "\(line) --on-duplicate replace --json", in: "A=new\nB=2",
      out: #"{"added":[],"kept":[{"account":"B","service":"app"}],"replaced":[{"account":"A","service":"app"}]}"# + "\n")
    try home.transcript("vault get app A", out: "new")
    try home.transcript(line, in: "X=1\nX=2", err: "names the item twice", exit: 2)
    try home.transcript(
      "\(line) --on-duplicate replace --keep", in: "", err: "give one of --replace, --keep and --on-duplicate", exit: 64)
  }

  @Test
  func `a file that is cut in the middle imports nothing`() throws {
    let home = try Home.withVault()
    try home.transcript(
      "import --from env --service app -", in: "A=1\nB='two", err: "line 2: the quote of line 2 has no end", exit: 65)
    try home.transcript("vault set a", in: "1")
    try home.transcript("vault set b", in: "2")
    let whole = try home.coffer("export --reveal").out
    let other = try Home.withVault()
    for length in [1, whole.count / 3, whole.count / 2, whole.count - 3] {
      let answer = try other.coffer("import --from json -", in: Data(whole.prefix(length).utf8))
      #expect(answer.status == 65 && answer.err.contains("nothing was imported"), "\(answer.err)")
      #expect(answer.err.contains("the text ends after \(length) bytes"), "\(answer.err)")
    }
    try other.transcript("vault list")
    try home.transcript("import --from env x", err: "--service", exit: 64)
    try home.transcript("import --from env --service a \(home.path)/none", err: "does not exist", exit: 74)
  }

  @Test
  func `wherever JSON is cut, the end of the file is named, and where that is`() throws {
    let whole = Data(
      #"""
      {"coffer":1,"items":[
      {"service":"a","account":"b","label":"L\u00e4","type":"text/plain","attributes":{"k":"v"},"created":"2026-01-02T03:04:05Z",
       "modified":"2026-01-02T03:04:05Z","expires":null,"revision":12,"bytes":3,"value":"a\nb"},
      {"service":"c","value":{"base64":"AAEC"}}
      ]}
      """#.utf8)
    func read(_ bytes: Data) throws -> Int {
      try JSONItems.read(Home.secret(String(decoding: bytes, as: UTF8.self)), place: "file").count
    }
    #expect(try read(whole) == 2 && read(whole + Data("\n".utf8)) == 2)
    for length in 0..<whole.count {
      let cut = whole.prefix(length)
      let line = cut.count { $0 == 0x0A } + 1
      let error = #expect(throws: StoreError.self) { try read(cut) }
      #expect(error?.kind == .damaged, "\(length)")
      let place = "line \(line): the text ends after \(length) bytes, in the middle: "
      #expect(error?.what.hasPrefix(place) == true, "\(length): \(error?.what ?? "")")
    }
    let error = #expect(throws: StoreError.self) { try read(Data(#"{"coffer":1,"itens":[]}"#.utf8)) }
    #expect(error?.what == "line 1: there is an unknown field beside the items")
  }

  @Test
  func `a pass store is imported through gpg, and one entry that does not open imports nothing`() throws {
    let home = try Home.withVault()
    // gpg's agent needs a short path for its socket.
    let gnupg = home.path + "/g"
    try FileManager.default.createDirectory(atPath: gnupg, withIntermediateDirectories: false)
    chmod(gnupg, 0o700)
    home.environment["GNUPGHOME"] = gnupg
    home.environment["PASSWORD_STORE_DIR"] = home.path + "/store"
    home.environment["HOME"] = home.path
    defer { _ = try? home.program(["gpgconf", "--kill", "gpg-agent"]) }
    let key = try home.program([
      "gpg", "--batch", "--passphrase", "", "--quick-generate-key", "test@example.com", "default", "default", "never",
    ])
    guard let key, key.status == 0, let made = try home.program(["pass", "init", "test@example.com"]), made.status == 0 else {
      try Test.skip("gpg or pass is not installed, or gpg makes no key here: \(key?.err ?? "")")
    }
    for (name, content) in [("web/github.com/ada", "hunter2"), ("web/mail/bob", "pw\nurl: x\n"), ("top", "alone")] {
      let stored = try #require(try home.program(["pass", "insert", "-m", name], in: content))
      #expect(stored.status == 0, "\(stored.err)")
    }
    let rows = "added  top\nadded  web/github.com  ada\nadded  web/mail        bob\n"
    try home.transcript("import --from pass --dry-run -q", out: rows)
    try home.transcript("import --from pass \(home.path)/store", out: rows)
    try home.transcript("vault get web/github.com", out: "hunter2")
    try home.transcript("vault get web/mail", out: "pw")
    #expect(try home.coffer("vault show web/mail").out.contains(/url +x/))
    try home.transcript("vault get top", out: "alone")
    try home.transcript(
      "import -q --from pass --first-line --on-duplicate replace",
      out: "replaced  web/mail        bob\nkept      top\nkept      web/github.com  ada\n")
    try home.transcript("vault get web/mail bob", out: "pw")
    let other = try Home.withVault()
    home.environment["COFFER_HOME"] = other.path
    home.environment["COFFER_KEY_FILE"] = other.path + "/key"
    let entry = try Data(contentsOf: URL(fileURLWithPath: home.path + "/store/top.gpg"))
    for length in [entry.count / 4, entry.count / 2, entry.count - 1] {
      _ = try home.file("store/top.gpg", entry.prefix(length))
      try home.transcript("import --from pass", err: "gpg ", exit: 65)
    }
    try other.transcript("vault list")
  }

  @Test
  func `a pass store behind a link, with links, hidden entries and folders named .gpg: nothing is left out without a word`()
    throws
  {
    let home = try Home.withVault()
    // A fake gpg: decryption itself is not tested.
    let bin = home.path + "/bin"
    _ = try home.file("bin/gpg", "#!/bin/sh\nfor f; do :; done\ncat \"$f\"\necho '[GNUPG:] DECRYPTION_OKAY' >&3\n", mode: 0o700)
    home.environment["PATH"] = bin + ":/usr/bin:/bin"
    home.environment["HOME"] = home.path
    for name in [
      "web/ada.gpg", "dots/.hidden.gpg", ".private/x.gpg", "keys.gpg/backup.gpg", "linked/deep/y.gpg", ".git/objects/z.gpg",
      ".gpg-id",
      "web/.gpg-id", "notes.txt",
    ] { _ = try home.file("real/\(name)", name) }
    let links = [
      (".password-store", "real"), ("real/behind", "../real/linked"), ("real/web/self", ".."), ("real/one.gpg", "web/ada.gpg"),
    ]
    for (link, target) in links { #expect(symlink(target, home.path + "/" + link) == 0) }
    let names = [".private/x", "behind/deep/y", "dots/.hidden", "keys.gpg/backup", "linked/deep/y", "one", "web/ada"]
    for words in ["", " \(home.path)/.password-store", " \(home.path)/.password-store/", " \(home.path)/real"] {
      let answer = try home.coffer("import --from pass --dry-run\(words)")
      #expect(answer.status == 0, "\(answer.err)")
      let found = answer.out.split(separator: "\n").map { $0.split(separator: " ").dropFirst().joined(separator: "/") }
      #expect(found == names)
      #expect(answer.err.contains("the folder web/self leads back to a parent and is not followed"))
      #expect(answer.err.contains("notes.txt is not an entry of pass and is left out") && !answer.err.contains(".gpg-id"))
    }
    try home.transcript(
      "import --from pass -q --json", out: try home.coffer("import --from pass -q --json --dry-run").out)
    try home.transcript("vault get keys.gpg backup", out: "keys.gpg/backup.gpg")
    try home.transcript("vault get dots .hidden", out: "dots/.hidden.gpg")
    #expect(symlink("nowhere", home.path + "/real/gone.gpg") == 0)
    try home.transcript(
      "import --from pass --dry-run",
      err: "could not look at the entry or its target (\(home.path)/.password-store/gone.gpg)",
      exit: 74)
  }

  @Test
  func `a name that cannot be kept is told, escaped, with its file and line, and nothing is imported`() throws {
    let home = try Home.withVault()
    let items = #"[{"service":"ok","value":"1"},"# + "\n" + #"{"service":"x\u001b[31m","value":"hunter2"}]"#
    let json = try home.coffer("import --from json -", in: Data(items.utf8))
    #expect(json.status == 64 && !json.err.contains("hunter2") && !json.err.contains("\u{1b}"), "\(json.err)")
    #expect(json.err.contains("[31m': line 2: the service name contains the control character U+1B"), "\(json.err)")
    let long = String(repeating: "N", count: 1025)
    let env = try home.coffer("import --from env --service app -", in: Data("A=1\n\(long)=2\n".utf8))
    #expect(env.status == 64 && env.err.contains("app/NNN"), "\(env.err)")
    #expect(env.err.contains("line 2: the account name has 1025 bytes"), "\(env.err)")
    try home.transcript("vault list")
  }

  @Test
  func `what is no pass store is said to be none`() throws {
    let home = try Home.withVault()
    try home.transcript("import --from pass \(home.path)/none", err: "there is no pass store", exit: 1)
    try home.transcript("import --from pass \(home.path)/data", err: "is not a pass store", exit: 1)
    _ = try home.file("store/a.gpg", "x")
    try home.transcript(
      "import --from pass \(home.path)/store", with: ["PATH": "/nowhere"],
      err: "gpg, which decrypts entries, is not installed",
      exit: 1)
  }

  @Test
  func `a property list of macOS comes in with a preview and a policy for duplicates`() throws {
    let home = try Home()
    let list = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0"><dict><key>theme</key><string>dark</string><key>launches</key><integer>3</integer></dict></plist>
      """
    let file = try home.file("exported.plist", list)
    try home.transcript("defaults write app theme light")
    try home.transcript(
      "defaults import app \(file) --dry-run", out: "added     launches\nreplaced  theme\n", err: "nothing was changed")
    try home.transcript(
      "defaults import app \(file) --dry-run --json", out: #"{"added":["launches"],"kept":[],"replaced":["theme"]}"# + "\n")
    try home.transcript("defaults import app \(file) --on-duplicate fail", err: "'theme': the key already exists", exit: 73)
    try home.transcript("defaults read app launches", err: "nothing is stored", exit: 1)
    try home.transcript("defaults import app \(file) --on-duplicate skip")
    try home.transcript("defaults read app", out: "{\n    launches = 3;\n    theme = light;\n}\n")
    try home.transcript("defaults import app \(file)")
    try home.transcript("defaults read app theme", out: "dark\n")
    try home.transcript("defaults import app -", in: String(list.prefix(200)), err: "nothing was changed", exit: 65)
  }
}
