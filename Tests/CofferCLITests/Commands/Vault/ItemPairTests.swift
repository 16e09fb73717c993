import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .defaultRun)
struct ItemPairTests {
  @Test(arguments: ["a b c d", "a/b c/d", "a b --to-service c --to-account d"])
  func `the other name of an item is two more words, a word with a slash, or options`(words: String) throws {
    let home = try Home.withVault()
    try home.transcript("vault set a b", in: "tok")
    try home.transcript("vault copy \(words)")
    try home.transcript("vault get c d", out: "tok")
    try home.transcript("vault delete c d")
    try home.transcript("vault mv \(words)")
    try home.transcript("vault get c d", out: "tok")
    #expect(try home.coffer("vault get a b").status == 1)
  }

  @Test
  func `a word that is a service with a slash in it becomes another service, and a reference is a name`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set https://a.example/x ada", in: "tok")
    try home.transcript("vault mv https://a.example/x https://b.example/x")
    try home.transcript("vault get https://b.example/x ada", out: "tok")
    try home.transcript("vault mv https://b.example/x/ada web/mail/bob")
    try home.transcript("vault get web/mail bob", out: "tok")
    try home.transcript("vault cp coffer://web%2Fmail/bob coffer://c/d")
    try home.transcript("vault get c d", out: "tok")
    try home.transcript("vault mv c e")
    try home.transcript("vault get e d", out: "tok")
  }

  @Test(arguments: [
    ("a b c", "give both names in one word each"), ("a b c d --to-service e", "not by both"), ("a", "give the other name"),
  ])
  func `half a name, or two, is refused`(words: String, error: String) throws {
    let home = try Home.withVault()
    try home.transcript("vault set a b", in: "tok")
    try home.transcript("vault rename \(words)", err: error, exit: 64)
    try home.transcript("vault get a b", out: "tok")
  }
}
