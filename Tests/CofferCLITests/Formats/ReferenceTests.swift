import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite struct ReferenceTests {
  @Test
  func `a reference is read and written part by part`() throws {
    let plain = try Reference("coffer://github/ada")
    #expect(plain.service == "github" && plain.account == "ada" && plain.attribute == nil)
    let whole = try Reference("coffer://https%3A%2F%2Fexample.com%2Fa%20b/ada%40x/user%C3%A9")
    #expect(whole.service == "https://example.com/a b" && whole.account == "ada@x" && whole.attribute == "useré")
    #expect(whole.description == "coffer://https%3A%2F%2Fexample.com%2Fa%20b/ada@x/user%C3%A9")
    #expect(try Reference(whole.description) == whole)
    #expect(try Reference("coffer://github").account == nil)
    #expect(try Reference("coffer://github/").account == "")
    let empty = try Reference("coffer://github//env")
    #expect(empty.account == "" && empty.attribute == "env")
    #expect(try Reference("coffer://host:8080/a").service == "host:8080")
  }

  @Test(arguments: [
    ("https://github/ada", "begins with coffer://"), ("Coffer://x/y", "begins with coffer://"),
    ("coffer://", "names no service"), ("coffer:///ada", "names no service"),
    ("coffer://a/b/c/d", "more parts"), ("coffer://a/b/", "names no attribute"), ("coffer://a/%4", "two hexadecimal digits"),
    ("coffer://a/%zz", "two hexadecimal digits"), ("coffer://a/%FF", "not UTF-8"), ("coffer://a/b c", "a space"),
    ("coffer://a/b?x=1", "not encoded"), ("coffer://a/b#c", "not encoded"),
  ])
  func `what is no reference is refused, and why is said`(text: String, reason: String) {
    let error = #expect(throws: Failure.self) { try Reference(text) }
    #expect(error?.status == .usage && error?.what.contains(reason) == true, "\(error?.what ?? "")")
  }

  @Test
  func `a combining mark after a slash belongs to the part behind it`() throws {
    let marked = try Reference("coffer://github/\u{301}ada/\u{308}env")
    #expect(marked.service == "github" && marked.account == "\u{301}ada" && marked.attribute == "\u{308}env")
    #expect(try Reference(marked.description) == marked)
    let first = try Reference("coffer://\u{301}x/a")
    #expect(first.service == "\u{301}x" && first.account == "a")
    #expect(throws: Failure.self) { try Reference("coffer://a/b/c/\u{301}d") }
  }

  @Test
  func `two spellings of one letter are two references, as they are two items`() throws {
    let composed = try Reference("coffer://caf%C3%A9/a"), decomposed = try Reference("coffer://cafe%CC%81/a")
    #expect(composed != decomposed && Set([composed, decomposed]).count == 2)
    #expect(try composed == Reference("coffer://caf\u{E9}/a"))
  }
}
