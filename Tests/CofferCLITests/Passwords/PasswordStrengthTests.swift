import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats

@Suite struct PasswordStrengthTests {
  private func strength(_ text: String, of names: [String] = []) throws -> PasswordStrength {
    let secret = try Home.secret(text)
    return try PasswordStrength(secret, of: names)
  }

  @Test(arguments: [
    ("password", "a common password"), ("Passw0rd", "a common password"), ("123456", nil), ("qwertyuiop", nil),
    ("aaaaaaaaaaaaaaaaaaaa", nil),
    ("abcdefghijklmnop", "characters in sequence"), ("9876543210", "characters in sequence"), ("abcabcabcabcabc", nil),
    ("hunter2", "a common password"), ("hunter2hunter2", "a common password"), ("monkey1987", "a common password"),
    ("P@$$w0rd", nil), ("1q2w3e4r5t", nil), ("ASDFGHJKL", nil), ("kx7w9q2m", "it is short for its kinds of characters"),
    ("0", "it has 1 character"), ("kx7", "it has 3 characters"), ("", "it is empty"),
    ("apple banana", nil), ("üüüüüü", nil),
  ])
  func `what people choose is weak, however it is dressed up`(text: String, reason: String?) throws {
    let strength = try strength(text)
    #expect(strength.bits < PasswordStrength.least, "\(text): \(strength.bits)")
    if let reason { #expect(strength.reason == reason, "\(text)") }
  }

  @Test func `the name of the item is no secret of it`() throws {
    #expect(try strength("mybank.example2024", of: ["mybank.example", "ada"]).bits < 30)
    #expect(try strength("ADA-LOVELACE-1915", of: ["x", "ada.lovelace@x.example"]).bits < PasswordStrength.least)
    #expect(try strength("mybank.example2024").bits > PasswordStrength.least)
  }

  @Test(arguments: ["xK9#mQ2$vL7!", "gracious-mango-tidal-zebra-quilt", "fjwoeiqzmxcnvb", "日本語のパスワードです"])
  func `what nobody would guess is not`(text: String) throws { #expect(try strength(text).bits >= PasswordStrength.least) }

  @Test func `what coffer generate makes is not weak, down to four words and sixteen characters`() throws {
    for number in 0..<50 {
      let words = try PasswordRecipe(words: 4, separator: number.isMultiple(of: 2) ? "-" : " ").make()
      #expect(try PasswordStrength(words).bits >= PasswordStrength.least)
      #expect(try PasswordStrength(Generated.text(length: 16)).bits >= PasswordStrength.least)
      // Chance writes words and runs too: of 40 million such texts 198 were below 44 bits, two below 35 and none below 33.
      #expect(try PasswordStrength(Generated.text(length: 12)).bits >= 30)
      #expect(try PasswordStrength(Generated.text(length: Generated.standardLength)).bits > 120)
    }
  }

  @Test func `nothing takes long, however large or odd it is`() throws {
    var random = Random(seed: 7)
    for _ in 0..<200 {
      let bytes = (0..<Int.random(in: 0...300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      var secret = try SecretBytes(zeros: bytes.count)
      secret.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
      #expect(try PasswordStrength(secret).bits >= 0)
    }
    #expect(try strength(String(repeating: "password1", count: 100_000)).bits < 1000)
  }

  @Test(arguments: [
    ("hunter2", "", true), ("hunter2", "text/plain", true), ("hunter2", "text/plain; charset=utf-8", true),
    ("hunter2", "application/json", false), ("-----BEGIN OPENSSH PRIVATE KEY-----", "", false), ("a\nb", "", false),
    ("ghp_0123456789abcdefghij", "", false), ("ghp_short", "", true), ("eyJhbGciOiJI.eyJzdWIi.c2ln", "", false),
    ("eyJ-my.pass", "", true),
    (String(repeating: "x", count: 256), "", true), (String(repeating: "x", count: 257), "", false), ("1234", "", true),
  ])
  func `key files, tokens and what has another type are no passwords`(text: String, type: String, isPassword: Bool) throws {
    let secret = try Home.secret(text)
    #expect(Audit.isPassword(secret, type) == isPassword)
  }
}
