import Testing

@testable import CofferTerminal

struct PickerTests {
  private static let names = [
    "github.com/ada", "github.com/bob", "日本語.jp/太郎", "evil\u{1B}[2J\u{9B}m\n\u{202E}", "👩‍💻/e\u{301}",
    "https://db.example.com/x/svc",
    String(repeating: "long", count: 100),
  ]

  private func picker(_ names: [String] = names, asked: @escaping () -> Void = {}) -> Picker {
    let code = Picker.Action("o", "code") { $0 == 0 ? nil : "this item has no one-time code" }
    return Picker("Which item?", verb: "copy", actions: [code]) { row in
      asked()
      return (names[row], "label of \(names[row])")
    } find: { typed in
      names.indices.filter { typed.isEmpty || names[$0].contains(typed) }
    }
  }

  private func screen(_ picker: Picker) -> [String] { picker.lines(Display(isTerminal: true)).lines }

  /// Takes keys as a terminal sends them; the last answer.
  @discardableResult
  private func type(_ text: String, _ picker: inout Picker) -> Picker.Answer? {
    var reader = KeyReader(), answer: Picker.Answer?
    for key in reader.keys(text.utf8) { answer = picker.take(key) }
    return answer
  }

  @Test func `keys are the same however their bytes are cut`() {
    let bytes = Array("a日\u{1B}[A\u{1B}OB\u{1B}[5~\u{1B}[6;2~\u{1B}[1;5D\r\u{7F}\u{17}\u{F}\u{1B}[[A\u{1B}x\u{1B}\u{1B}".utf8)
    let keys: [Key] = [
      .text("a"), .text("日"), .up, .down, .pageUp, .pageDown, .enter, .erase, .control("w"), .control("o"), .escape,
    ]
    for size in 1...bytes.count {
      var reader = KeyReader()
      let read = stride(from: 0, to: bytes.count, by: size).flatMap { reader.keys(bytes[$0..<min($0 + size, bytes.count)]) }
      #expect(read == keys, "\(size) bytes at once")
    }
  }

  @Test func `Esc alone is a key after a pause, and the begin of a longer key is none`() {
    var reader = KeyReader()
    #expect(reader.keys([0x1B]) == [] && reader.isAtEscape && reader.pause() == .escape && reader.pause() == nil)
    #expect(reader.keys("\u{1B}[".utf8) == [] && !reader.isAtEscape && reader.pause() == nil && reader.keys("A".utf8) == [.up])
    #expect(reader.keys("\u{1B}\r".utf8) == [.escape, .enter])
    #expect(reader.keys([0x1B, 0x5B] + Array(repeating: 0x31, count: 100) + [0x41]).last == .text("A"))
  }

  @Test func `only text is taken from what is pasted, even if Esc is its last character`() {
    var reader = KeyReader()
    #expect(reader.keys("\u{1B}[200~a\r\u{4}\u{F}\u{7F}\u{1B}[A日\u{1B}\u{1B}".utf8) == [.text("a"), .text("日")])
    #expect(!reader.isAtEscape && reader.pause() == nil && reader.keys("[201~\r".utf8) == [.enter])
  }

  @Test func `bytes that are no UTF-8 are no text`() {
    var reader = KeyReader()
    #expect(reader.keys([0xE6, 0x97, 0x41, 0xFF, 0x80, 0xE0, 0x80, 0x80, 0xC0, 0x42]) == [.text("A"), .text("B")])
  }

  @Test func `a list narrows as one types, and widens as one takes back`() {
    var picker = picker()
    type("github", &picker)
    #expect(screen(picker).last == "2 of 7  Enter: copy  Ctrl-O: code  Esc: leave")
    let list = ["> github.com/ada  label of github.com/ada", "  github.com/bob  label of github.com/bob", ""]
    #expect(Array(screen(picker).prefix(4)) == ["Which item? github"] + list)
    #expect(type("\u{1B}[B\r", &picker) == .chosen(1, by: nil))
    type(" x", &picker)
    #expect(screen(picker)[1] == "  nothing matches" && type("\r\u{F}", &picker) == nil)
    type("\u{17}\u{17}\u{7F}日\u{8}太", &picker)
    #expect(picker.typed == "太" && type("\r", &picker) == .chosen(2, by: nil))
    type("\u{0}\u{1B}[99~\u{9B}\u{202E}", &picker)
    #expect(picker.typed == "太")
    for _ in 0..<1000 { type("x", &picker) }
    #expect(picker.typed.count == 100)
  }

  @Test func `a list is left by Esc, and by control-D only before something is typed`() {
    var picker = picker()
    type("a", &picker)
    #expect(type("\u{4}", &picker) == nil && type("\u{1B}\u{1B}", &picker) == .left)
    #expect(type("\u{7F}\u{4}", &picker) == .left && type("\u{3}", &picker) == .left)
  }

  @Test func `a choice that an item does not have leaves a hint, until the next key`() {
    var picker = picker()
    #expect(type("\u{F}", &picker) == .chosen(0, by: "o"))
    #expect(type("\u{E}\u{F}", &picker) == nil && screen(picker).last == "this item has no one-time code")
    #expect(type("\u{10}", &picker) == nil && screen(picker).last?.contains("Enter: copy") == true)
    #expect(type("\u{15}", &picker) == nil, "no such choice")
  }

  @Test(arguments: [1, 2, 4, 5, 20, 39, 60, 200, 100_000], [1, 2, 3, 4, 24, 1000])
  func `no line is wider than the screen, and the marked row is on it`(columns: Int, rows: Int) {
    var picker = picker()
    picker.size = Picker.Size(columns: columns, rows: rows)
    for display in [Display(isTerminal: true), Display(isTerminal: true, isColored: true, isUnicode: false)] {
      let long = String(repeating: "日e\u{301}", count: 40)
      for keys in ["", "\u{1B}[B", "\u{1B}[6~", "\u{1B}[F", "\u{1B}[A", "\u{F}", "\u{1B}[5~", long, "\u{17}"] {
        type(keys, &picker)
        let (lines, cursor) = picker.lines(display)
        #expect(lines.count == min(rows, 100))
        #expect(lines.allSatisfy { Cells.count(styled: $0[...]) <= columns }, "\(lines)")
        #expect(cursor < min(columns, 200), "\(lines)")
        let shown = lines.joined().replacing(display.isColored ? /\u{1B}\[[0-9]+m/ : /^$/, with: "")
        #expect(!shown.unicodeScalars.contains { $0.properties.generalCategory == .control || $0 == "\u{202E}" })
        guard columns > 4, rows > 1, picker.typed.isEmpty else { continue }
        #expect(lines.dropFirst().count { $0.hasPrefix("> ") } == 1, "\(lines)")
      }
    }
  }

  @Test(arguments: 1...60)
  func `a box has all of its secret, and no row that is wider than the screen`(columns: Int) {
    let secret = Array("D594-MCGT-SGHY-GTA8-ENR5-NJKS-HYJC-6359-7R")
    let box = SecretBox(title: "This recovery code opens the vault:", notes: ["Write it down."])
    #expect(box.rows(secret.count, Picker.Size(columns: columns, rows: 4), Display(isTerminal: true)) == nil)
    let rows = box.rows(secret.count, Picker.Size(columns: columns, rows: 40), Display(isTerminal: true))
    #expect((rows == nil) == (columns <= 10))
    let found = rows ?? []
    #expect(rows == nil || found.flatMap { secret[$0.part] } == secret)
    #expect(found.allSatisfy { Cells.count($0.text + String(secret[$0.part]) + $0.end) <= columns }, "\(found)")
  }

  @Test func `of ten thousand items those on the screen are asked for`() {
    var count = 0
    var picker = picker((0..<10_000).map { "s\($0)" }) { count += 1 }
    type("\u{1B}[F", &picker)
    #expect(screen(picker).contains("> s9999  label of s9999") && screen(picker).last?.hasPrefix("10 000  ") == true)
    #expect(count == 2 * 22)
  }
}
