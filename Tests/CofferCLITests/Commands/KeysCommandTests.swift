import Coffer
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct KeysCommandTests {
  private struct Keys: KeySpace {
    let theme = StorageKey("theme", default: "light").renamed(from: "colors")
    let retries = StorageKey("retries", default: 3)
    let zoom = StorageKey("zoom", of: Double.self)
    let token = StorageKey("token", secret: String.self)
    let limits = StorageKeyFamily("limit", default: 1)
  }

  private func home() throws -> Home {
    let home = try Home.withVault()
    _ = try home.file("schema.json", StorageRouter.inMemory(keys: Keys()).schema.json())
    try home.transcript("set theme dark --plain")
    try home.transcript("set retries 5 --plain --type int")
    try home.transcript("set limit/a 5 --plain --type int")
    try home.transcript("set token --domain coffer", in: "tok")
    return home
  }

  private func keys(_ home: Home, _ words: String = "") throws -> (answer: Home.Answer, rows: [[String: Any]]) {
    let answer = try home.coffer("doctor --keys \(home.path)/schema.json --json \(words)")
    return (answer, try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [[String: Any]], "\(answer.err)"))
  }

  @Test
  func `what is as it is declared is listed with 0`() throws {
    let home = try home()
    let plain = try home.coffer("doctor --keys \(home.path)/schema.json")
    let lines = plain.out.split(separator: "\n").map { $0.split(separator: "\t").prefix(3).joined(separator: " ") }
    #expect(plain.status == 0, "\(plain.err)")
    #expect(
      lines == [
        "stored limit/a defaults", "stored retries defaults", "stored theme defaults", "stored token vault", "absent zoom -",
      ])
    #expect(plain.err == "coffer: note: 5 keys declared, 4 stored, 1 absent\n")
    let (answer, rows) = try keys(home)
    #expect(answer.status == 0 && rows.count == 5)
    let token = try #require(rows.first { $0["key"] as? String == "token" })
    #expect(token["state"] as? String == "stored" && token["type"] as? String == "String" && token["store"] as? String == "vault")
    #expect((token["declared"] as? String)?.hasPrefix("CofferCLITests/KeysCommandTests.swift:") == true)
    #expect(token["kind"] is NSNull && !answer.out.contains("tok\""))
    try home.transcript(
      "doctor --keys - --plain -q", in: home.content("schema.json"),
      out: home.coffer("doctor --keys \(home.path)/schema.json --plain -q").out)
  }

  @Test
  func `each kind of finding is told, and is 2`() throws {
    let home = try home()
    try home.transcript("vault delete coffer token --forever --yes -q")
    for line in [
      "defaults write coffer token -string canary-in-the-clear", "defaults write coffer retries -string many",
      "defaults write coffer colors -string blue", "defaults write coffer limit -int 1",
      "defaults write coffer limit/b -date 2026-01-01",
    ] { try home.transcript(line) }
    try home.transcript("vault set coffer zoom", in: "2")
    try home.transcript("vault set coffer leftover", in: "x")
    let (answer, rows) = try keys(home)
    let states = Dictionary(rows.map { ($0["key"] as? String ?? "", $0["state"] as? String ?? "") }) { "\($0) and \($1)" }
    #expect(answer.status == 2 && !answer.out.contains("canary"), "\(answer.err)")
    #expect(
      states == [
        "token": "in-the-clear", "retries": "wrong-type", "colors": "former-name", "limit": "undeclared", "limit/b": "wrong-type",
        "zoom": "in-the-vault", "leftover": "undeclared", "theme": "stored", "limit/a": "stored",
      ])
    home.locked()
    let plain = try keys(home, "--plain")
    #expect(plain.answer.status == 2 && plain.rows.count == 8)
    try home.transcript("doctor --keys \(home.path)/schema.json", err: "nothing to unlock it with", exit: 69)
  }

  @Test
  func `what Coffer itself keeps in a domain is no finding`() throws {
    let home = try home()
    struct Ending: KeySpace { let recent = StorageKey("recent", default: 1).endsWithSession() }
    _ = try home.file("schema.json", StorageRouter.inMemory(keys: Ending()).schema.json())
    try home.transcript("defaults write d recent -int 2")
    try home.transcript("defaults write d coffer.session-keys '(recent)'")
    let (answer, rows) = try keys(home, "--domain d")
    #expect(answer.status == 0 && rows.count == 1, "\(answer.out)")
  }

  @Test
  func `what is no schema, or one of a later version, is refused`() throws {
    let home = try Home()
    for (text, status) in [("", 65), ("{}", 65), (#"{"version":1,"keys":[{}]}"#, 65), (#"{"version":2}"#, 76), ("[]", 65)] {
      let file = try home.file("bad.json", text)
      let answer = try home.coffer("doctor --keys \(file)")
      #expect(answer.status == Int32(status) && answer.out.isEmpty && !answer.err.contains("Coding"), "\(text): \(answer.err)")
    }
    try home.transcript(
      "doctor --keys -", in: #"{"version":1,"keys":[{}]}"#, err: "this is not a schema: 'keys[0].name' is missing", exit: 65)
    try home.transcript("doctor --keys -", in: #"{"version":1,"keys":[]}"#, err: "0 keys declared\n")
    try home.transcript("doctor --keys \(home.path)/none.json", err: "the file does not exist", exit: 74)
    #expect(try home.coffer("doctor --keys /dev/zero").status == 64)
  }
}
