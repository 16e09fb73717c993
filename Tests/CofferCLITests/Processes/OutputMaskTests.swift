import CofferStorage
import Foundation
import CofferTestSupport
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite struct OutputMaskTests {
  private func masked(_ secrets: [String], _ text: String, chunk: Int) throws -> String {
    let forms = try secrets.map { SecretForm(try Home.secret($0)) }
    var mask = try OutputMask(MaskAutomaton(OutputMask.secrets(of: forms, tooShort: {})), chunk: chunk)
    var rest = Array(text.utf8)[...]
    var out: [UInt8] = []
    while true {
      let got = try mask.take(
        { buffer in
          let part = rest.prefix(buffer.count)
          buffer.copyBytes(from: part)
          rest = rest.dropFirst(part.count)
          return part.count
        }, { (raw) throws(Failure) in out += raw })
      guard got > 0 else { break }
    }
    try mask.finish { (raw) throws(Failure) in out += raw }
    return String(decoding: out, as: UTF8.self)
  }

  static let cases: [([String], String, String)] = [
    (["hunter2"], "say hunter2 twice: hunter2!", "say <masked> twice: <masked>!"),
    (["hunter2"], "hunterhunter2hunter", "hunter<masked>hunter"),
    (["hunter2"], "hunter2hunter2", "<masked>"),
    (["hunter2"], "hunter", "hunter"),
    (["abcd", "cdef"], "xabcdefx", "x<masked>x"),
    (["abcd", "abcdefgh"], "abcdefg abcdefgh", "<masked>efg <masked>"),
    (["aaab"], "aaaaaab", "aaa<masked>"),
    (["abababac"], "abababababac", "abab<masked>"),
    (["hunter2\n"], "hunter2\n", "<masked>\n"),
    (["line one\nline two"], "> line two\n> line one\n", "> <masked>\n> <masked>\n"),
    (["abc"], "abc", "abc"),
    (["123\n456\n789\n"], "is 123\n456\n789\n", "is <masked>\n"),
    (["line one\nab\nline two"], "line one\nab\nline two, ab", "<masked>, ab"),
    (["line one\r\nab\r\nline two\r\n"], "line one\r\nab\r\nline two\r\n", "<masked>\r\n"),
    (["abcdef", "xabcde", "bcde"], "xabcdef abcde", "<masked> a<masked>"),
    (["abcd", "zabcdz"], "zabcd zabcdz abcdz", "z<masked> <masked> <masked>z"),
    (["aaaa", "aaaaaaaa"], "aaaaaaa aaaaaaaaa aaa", "<masked> <masked> aaa"),
    ([], "nothing", "nothing"),
  ]

  @Test(arguments: cases)
  func `secrets are masked wherever chunks begin and end`(secrets: [String], text: String, expected: String) throws {
    for chunk in [1, 2, 3, 5, 7, 64] { #expect(try masked(secrets, text, chunk: chunk) == expected, "chunks of \(chunk)") }
  }

  @Test
  func `of random streams no secret is left and nothing else is lost`() throws {
    var random = Random(campaign: "masked streams")
    for _ in 0..<300 {
      let letters = "ab"
      let word = { (count: Int) in String((0..<count).map { _ in letters.randomElement(using: &random) ?? "a" }) }
      let secrets = [word(4), word(5), word(9)]
      let text = word(120)
      let reference = covered(secrets, text)
      #expect(try masked(secrets, text, chunk: Int.random(in: 1...50, using: &random)) == reference)
    }
  }

  private func covered(_ secrets: [String], _ text: String) -> String {
    let bytes = Array(text.utf8)
    var isCovered = [Bool](repeating: false, count: bytes.count)
    for secret in secrets.map({ Array($0.utf8) }) where secret.count <= bytes.count {
      for start in 0...bytes.count - secret.count where Array(bytes[start..<start + secret.count]) == secret {
        for index in start..<start + secret.count { isCovered[index] = true }
      }
    }
    var out = ""
    for (index, byte) in bytes.enumerated() {
      if !isCovered[index] {
        out.append(Character(Unicode.Scalar(byte)))
      } else if index == 0 || !isCovered[index - 1] {
        out += OutputMask.mark
      }
    }
    return out
  }
}
