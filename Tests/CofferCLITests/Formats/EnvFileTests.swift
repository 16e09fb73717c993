import CofferTestSupport
import Coffer
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats

@Suite struct EnvFileTests {
  private func read(_ text: String) throws -> [(String, String)] {
    let file = try Home.secret(text)
    return try EnvFile.read(file, place: "f").map { entry in
      (entry.name, entry.value.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
    }
  }

  /// Counting lines from the beginning for each entry took quadratic time.
  @Test func `a file of very many lines is read as fast as one of few, and an error names the line`() throws {
    let lines = String(repeating: "A=\n\n", count: 20_000)
    #expect(try read(lines).count == 20_000)
    let error = #expect(throws: StoreError.self) { try read(lines + "B='\n\n") }
    #expect(error?.what.contains("the quote of line 40001") == true, "\(error?.what ?? "")")
  }

  @Test
  func `names and values in every spelling that environment files have`() throws {
    let found = try read(
      """
      \u{FEFF}# a comment
      PLAIN=value

        export  SPACED = no
      """.replacing("SPACED = no", with: "EXPORTED=yes # comment\nEMPTY=\nHASH=a#b\nCR=carriage\r\n")
        + #"""
        SINGLE='a "b" $c \n'
        DOUBLE="a\n\"b\" \$c \\ \x"  # comment
        LINES="one
        two"
        DOTTED.na-me=1
        EQUALS=a=b==
        """#)
    let expected = [
      ("PLAIN", "value"), ("EXPORTED", "yes"), ("EMPTY", ""), ("HASH", "a#b"), ("CR", "carriage"),
      ("SINGLE", #"a "b" $c \n"#), ("DOUBLE", "a\n\"b\" $c \\ \\x"), ("LINES", "one\ntwo"), ("DOTTED.na-me", "1"),
      ("EQUALS", "a=b=="),
    ]
    #expect(found.map(\.0) == expected.map(\.0) && found.map(\.1) == expected.map(\.1), "\(found)")
  }

  @Test(arguments: [
    ("A=1\nhunter2\n", "line 2: '=' is missing"), ("A=1\n\nB='hunter2", "quote of line 3 has no end"),
    ("A=\"hunter2\" x", "line 1: something follows"), ("=hunter2", "line 1: the variable name is"),
    ("1A=hunter2", "line 1: the variable name is"),
    ("A=hunter2\0", "line 1: a value holds a NUL"), ("A = hunter2", "line 1: '=' is missing"),
  ])
  func `a file that is none is refused with its line, and nothing of what stands there`(text: String, reason: String) {
    let error = #expect(throws: StoreError.self) { try read(text) }
    #expect(error?.kind == .damaged && error?.what.contains(reason) == true, "\(error?.what ?? "")")
    #expect(error?.what.contains("hunter2") == false)
  }
}
