import CofferMemory
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats

@Suite(.tags(.process), .defaultRun)
struct GenerateCommandTests {
  @Test
  func `passwords of the asked length and classes, with their bits on standard error`() throws {
    let home = try Home()
    let standard = try home.coffer("generate")
    #expect(standard.out.wholeMatch(of: /[A-Za-z0-9_-]{32}\n/) != nil && standard.err == "coffer: note: 192.0 bits of entropy\n")
    let digits = try home.coffer("generate --length 12 --classes digits")
    #expect(digits.out.wholeMatch(of: /[0-9]{12}\n/) != nil && digits.err.contains("39.8 bits"))
    for _ in 0..<20 {
      let mixed = try home.coffer("generate --length 8 --classes lower,upper,digits,symbols --no-look-alikes -q")
      let text = mixed.out.dropLast()
      #expect(text.count == 8 && text.contains(where: \.isLowercase) && text.contains(where: \.isUppercase))
      #expect(text.contains(where: \.isNumber) && text.contains { !$0.isLetter && !$0.isNumber })
      #expect(!text.contains { "0Oo1Il|".contains($0) } && mixed.err.isEmpty)
    }
    #expect(try home.coffer("generate -q").out != home.coffer("generate -q").out)
    let json = try #require(JSONSerialization.jsonObject(with: home.coffer("generate --json").bytes) as? [String: Any])
    #expect(json["bits"] as? Double == 192 && (json["value"] as? String)?.count == 32)
  }

  @Test
  func `passphrases are words of the list, and the list is what it says`() throws {
    let home = try Home()
    let words = WordList.words.map(String.init)
    #expect(words.count >= 1296 && Set(words).count == words.count && words == words.sorted())
    #expect(words.allSatisfy { (3...7).contains($0.count) && $0.allSatisfy { $0.isASCII && $0.isLowercase } })
    let answer = try home.coffer("generate --words 6")
    let found = answer.out.dropLast().split(separator: "-").map(String.init)
    #expect(found.count == 6 && found.allSatisfy(words.contains))
    #expect(answer.err == "coffer: note: \(RecipeOptions.text(6 * log2(Double(words.count)))) bits of entropy\n")
    #expect(try home.coffer("generate --words 5 --separator ' '").out.split(separator: " ").count == 5)
  }

  @Test
  func `the bits are the logarithm of the number of results`() throws {
    // 2 characters with one of each of two classes of 10 and 26: 2 · 10 · 26 of 36².
    let recipe = PasswordRecipe(length: 2, classes: [.digits, .lower], withoutLookAlikes: false)
    #expect(abs(recipe.bits - log2(520)) < 1e-9)
    #expect(abs(PasswordRecipe(length: 20, classes: [.digits], withoutLookAlikes: false).bits - 20 * log2(10)) < 1e-9)
    #expect(PasswordRecipe(words: 7, separator: "").bits > 70)
  }

  @Test
  func `no character is likelier than another`() throws {
    let recipe = PasswordRecipe(length: 1000, classes: [.digits], withoutLookAlikes: false)
    var counts = [UInt8: Int]()
    for _ in 0..<100 { try recipe.make().withUnsafeBytes { for byte in $0 { counts[byte, default: 0] += 1 } } }
    // 100 000 digits: 10 000 of each, with a deviation of 95.
    #expect(counts.count == 10 && counts.values.allSatisfy { (9_300...10_700).contains($0) }, "\(counts)")
  }

  @Test
  func `a reader that is gone is exit status 141, and no message`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    try home.transcript("vault set a", in: "hunter2")
    for line in ["generate", "inject -i \(home.path)/template", "run --mask -e A=coffer://a -- yes"] {
      _ = try home.file("template", "{{ coffer://a }}")
      // The reader ends before there is any output.
      let answer = try home.program(["bash", "-c", "exec 3> >(true); wait $!; exec coffer -q \(line) >&3"])
      guard let answer else { try Test.skip(without: "bash") }
      #expect(answer.status == 141 && answer.err.isEmpty, "\(line): \(answer)")
    }
  }

  @Test
  func `set stores what it generated without showing it`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a --generate --words 5", err: "bits of entropy")
    #expect(try home.coffer("vault get a").out.split(separator: "-").count == 5)
    try home.transcript("set token --secret --generate --length 16 --classes digits -q")
    #expect(try home.coffer("get token").out.wholeMatch(of: /[0-9]{16}/) != nil)
  }

  @Test(arguments: [
    "generate --length 7", "generate --length 1025", "generate --words 3", "generate --words 6 --length 9",
    "generate --classes greek", "generate --classes lower,lower", "generate --classes ''", "generate --separator x",
    "generate hunter2", "vault set a --words 5", "vault set a --generate --words 5 --no-look-alikes",
  ])
  func `what cannot be is refused`(line: String) throws {
    let answer = try Home().coffer(line)
    #expect(answer.status == 64 && answer.out.isEmpty && answer.err.contains("\n  try: ") && !answer.err.contains("hunter2"))
  }
}
