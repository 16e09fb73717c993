import Testing

@testable import CofferCLI
@testable import CofferTerminal

struct CellsTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("日本語", 6), ("한국어", 6), ("e\u{301}", 1), ("🔑", 2), ("👩‍💻", 2), ("👍🏽", 2), ("❤️", 2), ("❤", 1), ("🇩🇪", 2),
    ("1\u{FE0F}\u{20E3}", 2), ("\u{1112}\u{1161}\u{11AB}", 2), ("ｱ", 1), ("Ａ", 2), ("–…✓", 3), ("שלום", 4), ("\u{200D}", 0),
    ("𠀀", 2),
  ])
  func `a text takes the cells that a terminal gives it`(text: String, cells: Int) {
    #expect(Cells.count(text) == cells, "\(text)")
  }

  @Test func `a text is cut between characters and never wider than asked`() {
    let display = Display(isTerminal: true)
    for text in ["github.com", "日本語.jp", "👩‍💻👩‍💻👩‍💻", "e\u{301}e\u{301}e\u{301}e\u{301}"] {
      for most in 0...12 {
        let short = Cells.shorten(text, to: most, display)
        #expect(Cells.count(short) <= most, "\(text) in \(most): \(short)")
        #expect((short == text) == (Cells.count(text) <= most))
      }
    }
    #expect(Cells.shorten("github.com", to: 7, display) == "github…")
    #expect(Cells.shorten("日本語.jp", to: 6, display) == "日本…")
    #expect(Cells.shorten("github.com", to: 7, Display(isTerminal: true, isUnicode: false)) == "gith...")
  }

  @Test func `a joiner is part of an emoji and of a word, and spelled out in a Latin one`() {
    #expect(Printable.line("👩‍💻 ❤️ 1\u{FE0F}\u{20E3} می\u{200C}خواهم") == "👩‍💻 ❤️ 1\u{FE0F}\u{20E3} می\u{200C}خواهم")
    #expect(Printable.line("git\u{200D}hub") == #"git\u{200d}hub"#)
    #expect(Printable.line("a\u{FE0F}") == #"a\u{fe0f}"#)
    for hidden: Unicode.Scalar in [
      "\u{202E}", "\u{2066}", "\u{2069}", "\u{200B}", "\u{200E}", "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{E0041}",
    ] {
      #expect(Printable.line("a\(hidden)b") == "a\\u{\(String(hidden.value, radix: 16))}b")
    }
  }
}
