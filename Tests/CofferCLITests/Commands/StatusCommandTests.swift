import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct StatusCommandTests {
  @Test
  func `status without anything, and with a vault`() throws {
    let empty = try Home()
    try empty.transcript(
      "status",
      out: """
        vault    none at \(empty.path)/data/vault.sqlite; coffer init creates one
        agent    none; coffer unlock starts one
        domains  none in \(empty.path)/config

        """)
    let home = try Home.withVault()
    let id = try id(home)
    try home.transcript("set theme dark --plain")
    try home.transcript(
      "status",
      out: """
        vault    \(home.path)/data/vault.sqlite
                 id \(id), format 1
                 opens with: key file
        agent    none; coffer unlock starts one
        domains  coffer

        """)
  }

  private func id(_ home: Home) throws -> String {
    let status = try JSONSerialization.jsonObject(with: home.coffer("status --details --json").bytes) as? [String: Any]
    return try #require(status?["id"] as? String)
  }

  @Test
  func `status tells who is logged in where the agent can say, and never asks for that`() throws {
    let home = try Home.withVault()
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    #expect(try home.coffer("status").out.contains("\nsession  nobody is logged in\n"))
    try home.transcript("login github.com --account ada --with-token -q", in: "t0k")
    try home.transcript("login github.com --account bob --with-token -q", in: "t0k")
    try home.transcript("login gitlab.com --with-token -q", in: "t0k")
    #expect(try home.coffer("status").out.contains("\nsession  logged in to github.com as bob, gitlab.com as default\n"))
    let json = try JSONSerialization.jsonObject(with: home.coffer("status --json").bytes) as? [String: Any]
    let session = try #require(json?["session"] as? [[String: Any]])
    #expect(
      session.map { "\($0["host"] ?? "") \($0["account"] ?? "") \($0["active"] as? Bool == true)" } == [
        "github.com ada false", "github.com bob true", "gitlab.com default true",
      ])
    try home.transcript("lock")
    #expect(try !home.coffer("status").out.contains("session"))
    let locked = try JSONSerialization.jsonObject(with: home.coffer("status --json").bytes) as? [String: Any]
    #expect(locked?["session"] == nil)
  }

  @Test
  func `status --details and slot list, row by row`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "1")
    let answer = try home.coffer("status --details")
    let rows = answer.out.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1).map { $0.drop { $0 == " " } } }
    #expect(
      rows.map(\.first) == [
        "vault", "id", "items", "generation", "epoch", "created", "rotated", "pin", "log", "memory", "history", "slot",
      ])
    #expect(rows[2][1] == "1" && rows[4][1] == "1" && rows[8][1] == "3 entries" && answer.err.isEmpty && answer.status == 0)
    let slots = try home.coffer("vault slot list")
    #expect(slots.out.wholeMatch(of: /[0-9a-f]{32}\tkey file \*\t\n/) != nil, "\(slots.out)")
  }

  @Test
  func `answers in JSON that stand in no list of items`() throws {
    let home = try Home.withVault()
    try home.transcript("login h --account a --with-token -q", in: "t0k")
    try home.transcript("token --json", out: #"{"account":"a","host":"h","token":"t0k"}"# + "\n")
    let revision = { (line: String, input: String?) in
      let answer = try home.coffer(line, in: Data((input ?? "").utf8))
      let item = try JSONSerialization.jsonObject(with: answer.bytes) as? [String: Any]
      return "\(item?["service"] ?? "") \(item?["account"] ?? "") \(item?["revision"] ?? "") \(item?["value"] ?? "-")"
    }
    #expect(try revision("vault set s x --json", "1") == "s x 1 -")
    #expect(try revision("vault set s x --json", "2") == "s x 2 -")
    #expect(try revision("vault copy s x --to-account y --json", nil) == "s y 1 -")
    #expect(try revision("vault rename s x --to-account z --json", nil).hasPrefix("s z "))
    for line in [
      "vault delete s none", "vault edit s none", "delete none", "token --fresh none", "logout none", "token none",
    ] {
      let answer = try home.coffer("\(line) --json")
      #expect(answer.status == 1 && answer.out.isEmpty && answer.err.hasPrefix(#"{"error":{"code":1,"#), "\(line): \(answer.err)")
    }
    try home.transcript("run --json -e A=coffer://none -- true", err: #"{"error":{"code":125,"#, exit: 125)
    try home.transcript("inject --json", in: "{{ coffer://none }}", err: #"{"error":{"code":1,"#, exit: 1)
  }

  @Test
  func `generate prints what was asked for, and the bits on standard error`() throws {
    let home = try Home()
    let plain = try home.coffer("generate")
    #expect(plain.out.wholeMatch(of: /[A-Za-z0-9_-]{32}\n/) != nil && plain.err == "coffer: note: 192.0 bits of entropy\n")
    let words = try home.coffer("generate --words 6 --separator . -q")
    #expect(words.out.wholeMatch(of: /([a-z]+\.){5}[a-z]+\n/) != nil && words.err.isEmpty && words.status == 0)
  }
}
