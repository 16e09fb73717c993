import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct BackupCommandTests {
  @Test
  func `a backup needs no secret and replaces nothing; restoring keeps what was there`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "old")
    let key = try #require(home.environment["COFFER_KEY_FILE"])
    home.locked()
    let id = try home.vaultID()
    try home.transcript(
      "backup \(home.path)/backup", err: "coffer: note: backed up vault \(id) at generation 2 to \(home.path)/backup")
    #expect(home.mode("backup") == 0o600)
    try home.transcript("backup \(home.path)/backup", err: "something is already there", exit: 73)
    try home.transcript("backup \(home.vault)-journal", err: "that of a database's own file", exit: 64)
    try home.transcript(
      "backup \(home.path)/b2 --json", out: "{\"file\":\"\(home.path)/b2\",\"generation\":2,\"id\":\"\(id)\"}\n")
    home.environment["COFFER_KEY_FILE"] = key
    for _ in 0..<3 { try home.transcript("vault set a", in: "new") }
    try home.transcript("vault verify \(home.path)/backup", out: "The only record is intact.\n", err: "it is only read")
    try home.transcript("vault verify x --vault y", err: "give FILE or --vault, not both", exit: 64)

    let restored = try home.coffer("restore \(home.path)/backup")
    #expect(restored.status == 0, "\(restored.err)")
    #expect(
      restored.out.hasPrefix(
        "restored 1 item of vault \(id), from its generation 2; it is now at 7\nthe previous vault is in "))
    try home.transcript("vault get a", out: "old")
    let kept = String(try #require(restored.out.split(separator: "\n").last?.split(separator: " ").last))
    let again = try home.coffer("restore \(kept) --json")
    #expect(again.status == 0 && again.out.contains("\"generation\":9") && again.out.contains("\"restored\":5"))
    try home.transcript("vault get a", out: "new")
    try home.transcript("vault verify", out: "All 4 records are intact.\n")
  }

  @Test
  func `a backup that cannot be given the vault's name leaves what stood there under it, or says where that is`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "old")
    try home.transcript("backup \(home.path)/backup -q")
    let place = home.path + "/data/vault.sqlite"
    for number in ["2", "2+"] {
      try Data("something else".utf8).write(to: URL(fileURLWithPath: place))
      let answer = try home.traced(
        ["-P", place, "-e", "trace=renameat2", "-e", "inject=renameat2:error=EIO:when=\(number)"],
        "restore \(home.path)/backup")
      #expect(answer.status == 74 && answer.err.contains("could not rename"), "\(answer)")
      let kept = try FileManager.default.contentsOfDirectory(atPath: home.path + "/data").filter { $0.hasPrefix("vault.sqlite.") }
      if number == "2" {
        #expect(answer.err.contains("nothing was changed") && kept.isEmpty, "\(answer)")
        #expect(try home.content("data/vault.sqlite") == "something else")
      } else {
        let name = try #require(kept.first)
        #expect(answer.err.contains("/data/\(name)") && !answer.err.contains("nothing was changed"), "\(answer)")
        #expect(try home.content("data/\(name)") == "something else" && !home.exists("data/vault.sqlite"))
      }
    }
  }

  @Test
  func `a pin that cannot be written is a warning after a restore and a rebuild, and refuses nothing afterwards`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "old")
    try home.transcript("backup --quiet \(home.path)/backup")
    try home.transcript("vault set a", in: "new")
    let pin = "\(home.path)/state/pins/id-\(try home.vaultID())"
    for (line, word, value) in [
      ("restore \(home.path)/backup", "restored 1 item ", "old"), ("vault repair --rebuild", "rebuilt: the state", "old"),
    ] {
      if line.contains("rebuild") { try home.attack("DELETE FROM state") }
      let answer = try home.traced(["-P", pin, "-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC"], line)
      #expect(answer.status == 0 && answer.out.contains(word), "\(answer)")
      #expect(answer.err.contains("its rollback pin could not be written"), "\(answer)")
      #expect(!answer.err.contains("nothing was changed"), "\(answer)")
      try home.transcript("vault get a", out: value)
      #expect(try home.coffer("vault verify").status == 0)
    }
  }

  @Test
  func `another vault, a broken file or a wrong secret restores nothing`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "mine")
    let other = try Home.withVault()
    try other.transcript("vault set a", in: "theirs")
    try other.transcript("backup --quiet \(home.path)/theirs")
    try home.transcript("restore \(home.path)/theirs", err: "no slot of the backup opens", exit: 77)
    try home.transcript(
      "restore \(home.path)/theirs --key-file \(other.path)/key", err: "or use --replace, which keeps the old one beside it",
      exit: 77)
    try home.transcript("restore \(home.path)/nowhere", err: "the file does not exist (\(home.path)/nowhere)", exit: 74)
    try home.transcript("restore \(home.path)/key", err: "the file is not an SQLite database", exit: 65)
    try home.transcript("vault get a", out: "mine")
    let forced = try home.coffer("restore \(home.path)/theirs --key-file \(other.path)/key --replace")
    #expect(forced.status == 0, "\(forced.err)")
    try home.transcript("vault get a --key-file \(other.path)/key", out: "theirs")
  }

  @Test
  func `a vault that is lost comes back from its backup`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "kept")
    try home.transcript("backup --quiet \(home.path)/backup")
    unlink(home.vault)
    let restored = try home.coffer("restore \(home.path)/backup")
    let said = "restored 1 item of vault \(try home.idOf("backup")), from its generation 2; it is now at 4\n"
    #expect(restored.status == 0 && restored.out == said, "\(restored)")
    try home.transcript("vault get a", out: "kept")
  }

  @Test
  func `log tells what happened, in order, and a broken chain is 66`() throws {
    let home = try Home()
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    try home.transcript("init --quiet --new-key-file \(home.path)/key")
    try home.transcript("vault set github ada", in: "secret-value")
    try home.transcript("vault set gone", in: "1")
    try home.transcript("vault delete gone --forever")
    let log = try home.coffer("vault log")
    let events = log.out.split(separator: "\n").map { $0.split(separator: "\t", omittingEmptySubsequences: false)[2] }
    #expect(events == ["vaultCreated", "unlocked", "itemSet", "unlocked", "itemSet", "unlocked", "itemDeleted"])
    #expect(log.out.contains("\tgithub/ada\t") && !log.out.contains("gone") && !log.out.contains("secret-value"))
    #expect(log.out.contains("\tcoffer\tuser \(getuid())\tprocess "))
    let json = try #require(
      JSONSerialization.jsonObject(with: home.coffer("vault log --json --limit 5").bytes) as? [[String: Any]])
    #expect(json.count == 5 && json[0]["service"] as? String == "github" && json[4]["event"] as? String == "itemDeleted")
    #expect(json[4]["index"] as? String == json[2]["index"] as? String && json[4]["service"] == nil)
    try home.transcript("vault log --limit 0", err: "--limit takes a number of entries", exit: 64)

    for attack in ["DELETE FROM log WHERE seq=3", "UPDATE log SET box=zeroblob(80) WHERE seq=7"] {
      let broken = try Home.withVault()
      for value in 1...3 { try broken.transcript("vault set a", in: "\(value)") }
      try broken.attack(attack)
      try broken.transcript("vault log --json", err: "\"kind\":\"tampered\"", exit: 66)
      try broken.transcript("vault verify", err: "log", exit: 66)
      try broken.transcript("vault get a", out: "3")
    }
  }

  @Test
  func `repair mends a header, rebuilds a state, and says what it cannot prove`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "1")
    try home.transcript("vault repair", out: "Nothing to repair. The only record is intact.\n")
    try home.attack("UPDATE header SET bytes=x'00'")
    try home.transcript("vault repair", out: "repaired: a copy of the header, from the other one\n")
    try home.attack("DELETE FROM state")
    try home.transcript("vault get a", err: "the vault's state is missing", exit: 65)
    let rebuilt = try home.coffer("vault repair")
    #expect(rebuilt.status == 0)
    let lines = rebuilt.out.split(separator: "\n")
    #expect(lines.count == 7 && lines[0] == "rebuilt: the state, from 1 record that opens; the vault is now at generation 4")
    #expect(lines[1] == "dropped because they do not open: records: 0, log entries: 0")
    #expect(lines[2].hasPrefix("kept: the old vault, in \(home.vault).before-"))
    #expect(lines[3...].allSatisfy { $0.hasPrefix("not proven: ") })
    try home.transcript("vault get a", out: "1")
    try home.attack("DELETE FROM rec")
    try home.transcript("vault repair", err: "coffer vault repair --rebuild", exit: 66)
    let json = try home.coffer("vault repair --rebuild --json")
    #expect(json.status == 0 && json.out.contains("\"rebuiltState\":true") && json.out.contains("\"items\":0"))
    try home.transcript("vault list")
  }

  @Test
  func `repair --rebuild does nothing to a vault that is whole, and a file that is no vault is named by its own name`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "1")
    let before = try Data(contentsOf: URL(fileURLWithPath: home.vault))
    try home.transcript("vault repair --rebuild", out: "Nothing to repair. The only record is intact.\n")
    #expect(try Data(contentsOf: URL(fileURLWithPath: home.vault)) == before)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: home.path + "/data").allSatisfy { !$0.contains(".before-") })

    for (content, status) in [(Data("junk".utf8), Int32(65)), (before.prefix(5000), 65)] {
      let file = try home.file("file", content)
      let answer = try home.coffer("restore \(file)")
      #expect(answer.status == status && answer.err.contains("(\(file))") && !answer.err.contains("draft"), "\(answer.err)")
    }
    let other = try Home.withVault()
    let answer = try home.coffer("restore \(other.vault)")
    #expect(answer.status == 77 && answer.err.contains(other.vault) && !answer.err.contains("draft"), "\(answer.err)")
  }

  @Test
  func `repair goes back to an older key only when told so, and names the slots that are back`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "1")
    let added = try home.coffer("vault slot add --recovery-code --label paper")
    #expect(added.status == 0, "\(added.err)")
    try home.attack("PRAGMA wal_checkpoint(TRUNCATE)")
    let older = try Data(contentsOf: URL(fileURLWithPath: home.vault))
    #expect(try home.coffer("vault slot remove paper --yes").status == 0)
    for side in ["-wal", "-shm"] { unlink(home.vault + side) }
    try older.write(to: URL(fileURLWithPath: home.vault))
    chmod(home.vault, 0o600)
    try home.attack("UPDATE state SET bytes = randomblob(300)")
    try home.transcript("vault repair", err: "to go back on purpose, --older-key", exit: 66)
    try home.transcript("vault repair --rebuild --json", err: "\"kind\":\"rolledBack\"", exit: 66)
    let repaired = try home.coffer("vault repair --older-key")
    #expect(repaired.status == 0, "\(repaired.err)")
    let lines = repaired.out.split(separator: "\n")
    #expect(lines.count == 11 && lines.filter { $0.hasPrefix("not proven: ") }.count == 5)
    #expect(lines.filter { $0.hasPrefix("opens it again: ") }.count == 2)
    #expect(lines.contains { $0.hasPrefix("opens it again: recovery code ") && $0.hasSuffix(" paper") })
    #expect(lines.last == "change the key now: coffer vault rotate --only SLOT ..., with the slots to keep")
    try home.transcript("vault get a", out: "1")
  }

  @Test
  func `a repair that keeps nothing of the vault says so, and is no success`() throws {
    let home = try Home.withVault()
    for name in ["a", "b"] { try home.transcript("vault set \(name)", in: "1") }
    try home.attack("PRAGMA wal_checkpoint(TRUNCATE)")
    let older = home.path + "/older"
    try FileManager.default.copyItem(atPath: home.vault, toPath: older)
    try home.changesKey("vault rotate --yes")
    let header = "(SELECT bytes FROM older.header)"
    try home.attack(
      "ATTACH '\(older)' AS older; UPDATE header SET bytes = \(header); UPDATE header_copy SET bytes = \(header); DELETE FROM main.state"
    )
    let repaired = try home.coffer("vault repair --older-key")
    #expect(repaired.status == 65, "\(repaired)")
    #expect(repaired.out.contains("dropped because they do not open: records: 2"), "\(repaired)")
    #expect(repaired.err.contains("none of the 2 records opens with this key; the vault is now empty"), "\(repaired)")
    #expect(repaired.err.contains(".before-"), "\(repaired)")
  }

  @Test
  func `a repair that keeps only what is in the trash counts it, and is a success`() throws {
    let home = try Home.withVault()
    for name in ["a", "b"] { try home.transcript("vault set \(name)", in: "1") }
    try home.transcript("vault delete a --yes")
    try home.attack("UPDATE rec SET meta = zeroblob(length(meta)); DELETE FROM state")
    let repaired = try home.coffer("vault repair --rebuild")
    #expect(repaired.status == 0 && repaired.out.contains("from 1 record that opens"), "\(repaired)")
    #expect(repaired.out.contains("dropped because they do not open: records: 1,"), "\(repaired)")
    try home.transcript("vault undelete a")
    try home.transcript("vault get a", out: "1")
  }

  @Test
  func `export and import bring items, attributes and bytes from one vault to another`() throws {
    let home = try Home.withVault()
    let binary = Data((0...255).map(UInt8.init))
    let text = "line\nquote\" back\\slash \u{1F511} \u{7}tab\t"
    try home.transcript(
      "vault set one a --label 'My label' --attribute k=v --expires 30d --file \(try home.file("t", text)) --exact")
    #expect(try home.coffer("vault set two --exact", in: binary).status == 0)
    try home.transcript("vault set three --exact")
    let json = try home.coffer("export --reveal")
    #expect(json.status == 0 && json.out.contains("\"value\":{\"base64\":\"\(binary.base64EncodedString())\"}"))
    let object = try #require(JSONSerialization.jsonObject(with: json.bytes) as? [String: Any])
    #expect((object["items"] as? [Any])?.count == 3 && object["coffer"] as? Int == 1)
    let file = try home.file("items.json", json.bytes)

    let other = try Home.withVault()
    try other.transcript("vault set two", in: "theirs")
    try other.transcript(
      "import --from json \(file)", err: "choose --on-duplicate skip, replace, newer or both",
      exit: 73)
    try other.transcript("vault list one")
    try other.transcript(
      "import --from json \(file) --keep --dry-run", out: "added  one    a\nadded  three\nkept   two\n",
      err: "nothing was changed")
    try other.transcript("vault list one")
    try other.transcript(
      "import --from json - --replace", in: json.out, out: "added     one    a\nadded     three\nreplaced  two\n")
    try other.transcript("vault get one", out: text)
    #expect(try other.coffer("vault get two").bytes == binary)
    try other.transcript("vault get three")
    // Equal except write counts, ids and histories, which each vault has.
    let own = try Regex(#""(history":[0-9]+|id":"[^"]*"|written":"[^"]*"),?"#)
    let again = try other.coffer("export --reveal").out.replacing("\"revision\":2", with: "\"revision\":1")
    #expect(again.replacing(own, with: "") == json.out.replacing(own, with: ""))
    try other.transcript(
      "import --from json \(file) --keep --json",
      out: """
        {"added":[],"kept":[{"account":"a","service":"one"},{"account":"","service":"three"},{"account":"","service":"two"}],"replaced":[]}\n
        """)
    try home.transcript("export", err: "coffer export --reveal > items.json writes plain text", exit: 64)
    try home.transcript("export out.env", err: "the command with '--reveal > out.env' at its end", exit: 64)
    #expect(try home.coffer("export --reveal --service two").out.split(separator: "\n").count == 3)
  }

  @Test
  func `an export to a vault has a secret of its own`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set one a", in: "1")
    try home.transcript("vault set two b", in: "2")
    try home.transcript(
      "export \(home.path)/out.sqlite --new-key-file \(home.path)/key2 --service one",
      err: "exported 1 item to the new vault \(home.path)/out.sqlite")
    try home.transcript("export \(home.path)/none.sqlite", err: "a new vault needs a secret", exit: 69)
    try home.transcript(
      "export \(home.path)/out.sqlite --new-key-file \(home.path)/key3", err: "something is already there", exit: 73)
    #expect(!home.exists("key3"))
    let other = try Home()
    other.environment["COFFER_KEY_FILE"] = home.path + "/key2"
    #expect(try other.coffer("restore \(home.path)/out.sqlite").status == 0)
    #expect(try other.listed() == ["one/a"])
    try other.transcript("vault get one", out: "1")
    try other.transcript("vault get one --key-file \(home.path)/key", err: "wrong key file", exit: 77)
  }

  @Test
  func `what shows every value asks at a terminal`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "hunter2")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("export --reveal", in: home)
    terminal.shows("Every value would be shown on the terminal")
    #expect(try child.wait() == 64 && !terminal.shown.contains("hunter2"))
    let sure = try PseudoTerminal()
    let second = try sure.coffer("export --reveal --yes", in: home)
    sure.shows("hunter2")
    #expect(try second.wait() == 0)
  }

  @Test(arguments: [
    "", "{", "[]x", "{\"coffer\":1,\"items\":[{\"service\":\"hunter2\"}]}", "[{\"value\":\"hunter2\"}]",
    "[{\"service\":\"a\",\"value\":\"hunter2\",\"acount\":\"b\"}]", "[{\"service\":\"a\",\"value\":\"hunter2\\x\"}]",
    "[{\"service\":\"a\",\"value\":\"hunter2\\ud800\"}]", "[{\"service\":\"a\",\"value\":{\"base64\":\"hunter2\"}}]",
    "[{\"service\":\"a\",\"value\":{\"base64\":\"aGk=aGk=\"}}]", "[{\"service\":\"a\",\"value\":{\"base64\":\"aGl=\"}}]",
    "[{\"service\":\"a\",\"value\":\"hunter2\"},{\"service\":\"b\",\"value\":null}]", "[{\"service\":\"a\",\"value\":\"hunter2",
    "[{\"service\":\"a\",\"value\":\"1\",\"expires\":\"hunter2\"}]", "[\n\n{\"service\":3}]",
  ]) func `a file that is not what it should be imports nothing, and no part of it is quoted`(_ content: String) throws {
    let home = try Home.withVault()
    let answer = try home.coffer("import --from json -", in: Data(content.utf8))
    #expect(answer.status == 65, "\(answer.err)")
    #expect(!answer.err.contains("hunter2") && answer.err.contains("line "))
    try home.transcript("vault list")
  }

  @Test
  func `a newer file, a repeated name and an unknown format are told apart`() throws {
    let home = try Home.withVault()
    try home.transcript("import --from json -", in: "{\"coffer\":2,\"items\":[]}", err: "has version 2", exit: 76)
    try home.transcript(
      "import --from json -", in: "[{\"service\":\"a\",\"value\":\"\"},{\"service\":\"a\",\"value\":\"\"}]", err: "twice",
      exit: 2)
    #expect(try home.coffer("import --from xml -").status == 64)
  }
}

extension Home {
  func idOf(_ backup: String) throws -> String {
    let probe = try Home()
    probe.environment["COFFER_KEY_FILE"] = path + "/key"
    let restored = try probe.coffer("restore \(path)/\(backup) --json").bytes
    return try #require((JSONSerialization.jsonObject(with: restored) as? [String: Any])?["id"] as? String)
  }

  func attack(_ sql: String) throws {
    let output = try shell(
      "python3 -c 'import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit()' '\(vault)' \"\(sql)\""
    )
    try #require(output.isEmpty, "\(output)")
  }
}
