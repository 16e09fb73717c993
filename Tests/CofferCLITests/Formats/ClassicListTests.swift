import CofferStorage
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats

@Suite struct ClassicListTests {
  @Test
  func `what is printed reads back, for all that the notation knows`() {
    let form = PlainForm.dictionary([
      "plain": .string("word_9"), "a-b.c": .string("quote \" back \\ line\n tab\t bell\u{7} é 😀"), "": .string(""),
      "data": .data(Data([0, 15, 255])), "none": .array([]), "nothing": .dictionary([:]),
      "deep": .array([.dictionary(["k": .array([.string("-5"), .string("x y")])]), .array([.array([])])]),
    ])
    #expect(ClassicListReader.parse(ClassicList.text(form)) == form)
  }

  @Test(
    arguments: [
      ("( a , b, )", .array([.string("a"), .string("b")])), ("{a='x;y';}", .dictionary(["a": .string("x;y")])),
      (#"("\U00e9\\\"")"#, .array([.string("é\\\"")])), ("\n<0 0 f F>\n", .data(Data([0, 255]))),
      ("(/usr/bin:$x, -1.5)", .array([.string("/usr/bin:$x"), .string("-1.5")])), ("{}", .dictionary([:])),
    ] as [(String, PlainForm)])
  func `words, quotes, escapes, a comma too many and any space are read`(text: String, form: PlainForm) {
    #expect(ClassicListReader.parse(text) == form)
  }

  @Test(arguments: [
    "", "{", "(", "<", "{a}", "{a=1}", "{a=1;", "(a", "(a b)", "(,)", "<0>", "<xy>", "\"a", "(\"a\\", "(\"\\U12\")", "{a=1;}}",
    "a b", "(é)",
  ])
  func `what is torn, unfinished or more than one value is none`(text: String) { #expect(ClassicListReader.parse(text) == nil) }

  @Test
  func `a whole number has no fraction, as macOS prints it`() {
    for (number, text) in [(1.0, "1"), (0, "0"), (-5, "-5"), (-0.0, "-0"), (0.5, "0.5"), (1e20, "1e+20"), (.infinity, "inf")] {
      #expect(ClassicList.text(.real(number)) == text)
    }
    #expect(ClassicList.text(.dictionary(["autohide-delay": .real(0)])) == "{\n    \"autohide-delay\" = 0;\n}")
  }

  @Test
  func `nesting ends where the plain store's does`() {
    func nested(_ depth: Int) -> String { String(repeating: "(", count: depth) + String(repeating: ")", count: depth) }
    #expect(ClassicListReader.parse(nested(32)) != nil)
    #expect(ClassicListReader.parse(nested(100_000)) == nil)
  }
}
