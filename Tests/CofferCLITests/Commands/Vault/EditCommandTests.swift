import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct EditCommandTests {
  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set github ada --label 'My GitHub' --attribute env=prod --expires 30d", in: "hunter2")
    return home
  }

  @Test func `without a terminal vi is not started, and what an editor draws goes to nobody`() throws {
    let home = try home()
    try home.transcript("vault edit github", err: "there is no terminal to edit at", exit: 64)
    home.environment["EDITOR"] = "true"
    try home.transcript("vault edit github", err: "nothing was changed")
  }

  private func shown(_ item: String, in home: Home) throws -> [String: Any] {
    let json = try home.coffer("vault show \(item) --json").bytes
    return try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
  }

  @Test(arguments: [false, true])
  func `label, attributes, expiry and type change alone`(throughAgent: Bool) throws {
    let home = try home()
    if throughAgent {
      try home.transcript("unlock --quiet")
      home.locked()
    }
    let before = try shown("github", in: home)
    try home.transcript(
      "vault edit github --label '' --attribute team=a=b --remove-attribute env --expires never --type text/plain")
    let after = try shown("github", in: home)
    #expect(after["label"] as? String == "" && after["attributes"] as? [String: String] == ["team": "a=b"])
    #expect(after["expires"] == nil && after["type"] as? String == "text/plain" && after["revision"] as? Int == 2)
    #expect(after["written"] as? String == before["written"] as? String && after["id"] as? String == before["id"] as? String)
    try home.transcript("vault get github", out: "hunter2")
    try home.transcript("vault edit github --attribute team=c --expires 90d --label x")
    #expect(try shown("github", in: home)["attributes"] as? [String: String] == ["team": "c"])
    #expect(try shown("github", in: home)["expires"] != nil)
    try home.transcript("vault revert github 1")
    #expect(try shown("github", in: home)["label"] as? String == "My GitHub")
    try home.transcript("vault edit github --label 'My GitHub'", err: "nothing was changed")
    try home.transcript(
      "vault edit github --remove-attribute nope", err: "'nope': the item has no attribute of that name", exit: 1)
    try home.transcript("vault edit github --remove-attribute coffer.auth", err: "are reserved", exit: 64)
    try home.transcript("vault edit github --expires soon", err: "--expires is neither", exit: 64)
    try home.transcript("vault edit github --form --label x", err: "give it alone", exit: 64)
  }

  @Test
  func `what has expired can be given more time`() throws {
    let home = try home()
    try home.transcript("vault set old --expires 1s", in: "late")
    #expect(try eventually { try home.coffer("vault get old").status != 0 })
    try home.transcript("vault edit old --expires never")
    try home.transcript("vault get old", out: "late")
  }

  @Test
  func `a new value drops the expiry aloud, or keeps it`() throws {
    let home = try home()
    let before = try shown("github", in: home)["expires"] as? String
    try home.transcript("vault set github ada --expires keep", in: "2")
    #expect(try before != nil && shown("github", in: home)["expires"] as? String == before)
    try home.transcript("vault set github ada", in: "3", err: "the new value does not expire; use --expires to set a date")
    #expect(try shown("github", in: home)["expires"] == nil)
    try home.transcript("vault set github ada", in: "4")
    try home.transcript("vault set github ada --expires never --label ''", in: "5", err: "coffer edit --label '' clears it")
  }

  private func editor(_ home: Home, _ script: String) throws -> [String: String] {
    ["EDITOR": "/bin/sh " + (try home.file("editor", "\(script)\n"))]
  }

  @Test func `a terminal is told how to bring back the value before an edit`() throws {
    guard access("/dev/shm", W_OK) == 0 else { try Test.skip("there is no /dev/shm") }
    let home = try home()
    home.environment.merge(try editor(home, "echo new > $1")) { $1 }
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault edit github", in: home)
    terminal.shows("replaced 'github/ada'; coffer revert github/ada 1 brings the old value back")
    #expect(try child.wait() == 0)
  }

  @Test(arguments: [false, true])
  func `an edit does not replace another item that got the name and the revision meanwhile`(throughAgent: Bool) throws {
    guard access("/dev/shm", W_OK) == 0 else { try Test.skip("there is no /dev/shm") }
    let home = try home()
    let ready = "\(home.path)/ready"
    let change = "sed -i 's/^label:.*/label: Work/' $1; grep -q ^label $1 || echo edited >> $1"
    let waits = try editor(home, "touch \(ready); while [ -e \(ready) ]; do sleep 0.05; done; \(change)")
    if throughAgent {
      try home.transcript("unlock --quiet")
      home.locked()
    }
    for option in ["", " --form"] {
      let terminal = try PseudoTerminal()
      home.environment["EDITOR"] = waits["EDITOR"]
      let edit = try terminal.coffer("vault edit github ada\(option)", in: home)
      #expect(eventually { home.exists("ready") })
      let revision = try #require(try shown("github", in: home)["revision"] as? Int)
      try home.transcript("vault delete github --forever")
      for _ in 0..<revision { try home.transcript("vault set github ada", in: "of another") }
      #expect(try shown("github", in: home)["revision"] as? Int == revision)
      unlink(ready)
      #expect(try edit.wait() == 75)
      try home.transcript("vault get github", out: "of another")
      #expect(try shown("github", in: home)["label"] as? String == "")
    }
  }

  @Test
  func `--form has all that describes the item, and not its value`() throws {
    guard access("/dev/shm", W_OK) == 0 else { try Test.skip("there is no /dev/shm") }
    let home = try home()
    try home.transcript("vault edit github --attribute 'a=b\\c'")
    let change = "s/^label:.*/label: Work/; s/^expires:.*/expires: never/; s/env=prod/env=test/; \\$a attribute: new=1"
    try home.transcript("vault edit github --form", with: try editor(home, "cp $1 \(home.path)/seen; sed -i \"\(change)\" $1"))
    let seen = try home.content("seen")
    #expect(seen.contains("\nlabel: My GitHub\n") && seen.contains("\nattribute: a=b\\\\c\n") && !seen.contains("hunter2"))
    let after = try shown("github", in: home)
    #expect(after["label"] as? String == "Work" && after["expires"] == nil)
    #expect(after["attributes"] as? [String: String] == ["env": "test", "a": "b\\c", "new": "1"])
    try home.transcript("vault get github", out: "hunter2")
    try home.transcript("vault edit github --form", with: try editor(home, ":"), err: "nothing was changed")
    for (line, error) in [
      ("nonsense", "line 1 of the form: it is not 'name: text'"), ("size: 3", "it is neither label nor type"),
      ("expires: soon", "--expires is neither"), ("attribute: =x", "an attribute is not name=value"),
      ("attribute: coffer.auth=token", "are reserved"),
    ] {
      try home.transcript("vault edit github --form", with: try editor(home, "echo '\(line)' > $1"), err: error, exit: 64)
    }
    #expect(try shown("github", in: home)["label"] as? String == "Work")
  }
}
