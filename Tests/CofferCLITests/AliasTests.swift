import CofferTestSupport
import ArgumentParser
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct AliasTests {
  @Test
  func `the everyday words of other secret stores work`() throws {
    let home = try Home.withVault()
    for (index, word) in ["set", "add", "insert", "store"].enumerated() {
      try home.transcript("vault \(word) s\(index)", in: "v\(index)")
    }
    for word in ["get", "cat", "read"] { try home.transcript("vault \(word) s1", out: "v1") }
    try home.transcript("vault otp s1 --set", in: "GEZDGNBVGY3TQOJQ")
    for word in ["otp", "totp"] { #expect(try home.coffer("vault \(word) s1").status == 0) }
    for word in ["list", "ls"] { #expect(try home.listed("vault \(word)") == ["s0", "s1", "s2", "s3"]) }
    for word in ["find", "search"] { #expect(try home.listed("vault \(word) S2") == ["s2"]) }
    try home.transcript("vault cp s3 --to-service t")
    for (from, word, to) in [("t", "mv", "u"), ("u", "rename", "v"), ("v", "move", "w")] {
      try home.transcript("vault \(word) \(from) --to-service \(to)")
    }
    for (item, word) in zip(["s0", "s1", "s2", "s3", "w"], ["rm", "del", "delete", "erase", "remove"]) {
      try home.transcript("vault \(word) \(item)")
    }
    try home.transcript("vault list")
    #expect(try home.coffer("vault passwd --help").out.contains("Change the passphrase"))
  }

  @Test
  func `so they do for keys and preferences`() throws {
    let home = try Home()
    for key in ["a", "b", "c", "d"] { try home.transcript("set \(key) 1 --plain") }
    #expect(try home.coffer("ls --plain").out == home.coffer("list --plain").out)
    for (key, word) in zip(["a", "b", "c", "d"], ["rm", "del", "remove", "erase"]) { try home.transcript("\(word) \(key)") }
    for key in ["a", "b", "c"] { try home.transcript("defaults write app \(key) 1") }
    try home.transcript("defaults mv app a z")
    try home.transcript("defaults ls", out: "app\ncoffer\n")
    #expect(try home.coffer("defaults search z").out == home.coffer("defaults find z").out)
    for (key, word) in zip(["z", "b", "c"], ["rm", "del", "remove"]) { try home.transcript("defaults \(word) app \(key)") }
    try home.transcript("exec -- /bin/echo x", out: "x\n")
  }

  @Test
  func `no two commands of one level answer to the same word`() {
    func check(_ type: any ParsableCommand.Type) {
      let next = type.configuration.subcommands
      let words = next.flatMap { [$0.configuration.commandName ?? ""] + $0.configuration.aliases }
      #expect(Swift.Set(words).count == words.count, "\(words)")
      for type in next { check(type) }
    }
    check(CofferCommand.self)
  }
}
