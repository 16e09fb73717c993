internal import CofferPlatform

/// A list that narrows as one types: keys change its state, which is drawn as lines. It knows no terminal.
package struct Picker {
  package struct Action {
    let key: Character, title: String
    let refusal: (Int) -> String?

    /// - Parameter refusal: the reason in a few words; nil if the row has the choice.
    package init(_ key: Character, _ title: String, refusal: @escaping (Int) -> String?) {
      (self.key, self.title, self.refusal) = (key, title, refusal)
    }
  }

  package enum Answer: Equatable {
    case chosen(Int, by: Character?)
    case left
  }

  package struct Size: Equatable, Sendable {
    /// Nobody reads a longer list or line, and each key draws all of it.
    private static let most = (columns: 200, rows: 100)

    package let columns: Int, rows: Int

    package init(columns: Int, rows: Int) {
      self.columns = min(max(columns, 1), Self.most.columns)
      self.rows = min(max(rows, 1), Self.most.rows)
    }
  }

  /// More only makes a search slower.
  private static let longestText = 100
  /// Narrower lists show names only.
  private static let narrowest = 40

  private let question: String, verb: String
  private let actions: [Action]
  private let find: (String) -> [Int]
  private let row: (Int) -> (name: String, note: String)
  private let total: Int

  package private(set) var typed = ""
  private var found: [Int]
  /// The positions in `found` of the marked row, and of the first shown.
  private var marked = 0, top = 0
  private var hint: String?
  package var size = Size(columns: 80, rows: 24) { didSet { scroll() } }

  /// - Parameter find: the matching rows, the best first; all for an empty text.
  package init(
    _ question: String, verb: String, actions: [Action], row: @escaping (Int) -> (name: String, note: String),
    find: @escaping (String) -> [Int]
  ) {
    (self.question, self.verb, self.actions, self.row, self.find) = (question, verb, actions, row, find)
    found = find("")
    total = found.count
  }

  package mutating func take(_ key: Key) -> Answer? {
    hint = nil
    switch key {
    case .text(let scalar): type(scalar)
    case .erase: narrow(to: String(typed.dropLast()))
    case .control("w"):
      let word = typed.reversed().drop { $0 == " " }.drop { $0 != " " }
      narrow(to: String(word.reversed()))
    case .up, .control("p"): move(to: marked - 1)
    case .down, .control("n"): move(to: marked + 1)
    case .pageUp: move(to: marked - room)
    case .pageDown: move(to: marked + room)
    case .first: move(to: 0)
    case .last: move(to: found.count - 1)
    case .escape, .control("c"): return .left
    case .control("d") where typed.isEmpty: return .left
    case .enter: return answer(by: nil)
    case .control(let letter): return actions.first { $0.key == letter }.flatMap { answer(by: $0) }
    }
    return nil
  }

  private mutating func answer(by action: Action?) -> Answer? {
    guard found.indices.contains(marked) else { return nil }
    hint = action?.refusal(found[marked])
    return hint == nil ? .chosen(found[marked], by: action?.key) : nil
  }

  private mutating func type(_ scalar: Unicode.Scalar) {
    guard typed.unicodeScalars.count < Self.longestText, !scalar.isHidden || scalar.isPartOfWriting else { return }
    var text = typed
    text.unicodeScalars.append(scalar)
    narrow(to: text)
  }

  private mutating func narrow(to text: String) {
    guard text != typed else { return }
    (typed, found, marked, top) = (text, find(text), 0, 0)
  }

  private mutating func move(to position: Int) {
    marked = max(min(position, found.count - 1), 0)
    scroll()
  }

  private mutating func scroll() { top = min(max(top, marked - room + 1), marked, max(found.count - room, 0)) }

  private var hasFooter: Bool { size.rows > 2 }
  private var room: Int { max(size.rows - (hasFooter ? 2 : 1), 1) }

  /// All lines of the screen, none wider than it, and the cells before the cursor in the first.
  package func lines(_ display: Display) -> (lines: [String], cursor: Int) {
    let (first, cursor) = questionLine()
    let shown = found.dropFirst(top).prefix(room).map { number in
      let row = row(number)
      return (name: printable(row.name), note: size.columns < Self.narrowest ? "" : printable(row.note))
    }
    let names = shown.map { Cells.count($0.name) }.max() ?? 0
    let column = min(names, size.columns * 2 / 3)
    var list = shown.enumerated().map { position, row in line(row, isMarked: top + position == marked, column, display) }
    if list.isEmpty { list = [cut(Style.dim, "  nothing matches", display)] }
    list += Array(repeating: "", count: room - list.count)
    return (Array(([first] + list).prefix(size.rows - (hasFooter ? 1 : 0))) + (hasFooter ? [footer(display)] : []), cursor)
  }

  /// The end of a long text, which is being typed.
  private func questionLine() -> (String, Int) {
    let before = Cells.count(question) < size.columns / 2 ? question + " " : size.columns > 4 ? "> " : ""
    var text = Printable.line(typed)
    // A cell stays free for the cursor.
    let room = max(size.columns - before.count - 1, 0)
    while Cells.count(text) > room { text.removeFirst() }
    return (before + text, Cells.count(before + text))
  }

  private func line(_ row: (name: String, note: String), isMarked: Bool, _ column: Int, _ display: Display) -> String {
    let mark = size.columns > 4 ? isMarked ? "> " : "  " : ""
    let width = size.columns - mark.count
    let name = Cells.shorten(row.name, to: row.note.isEmpty ? width : min(column, width), display)
    let blanks = TextWidth.blanks(column - Cells.count(name) + 2)
    let note = row.note.isEmpty ? "" : Cells.shorten(row.note, to: max(width - Cells.count(name + blanks), 0), display)
    return mark + (isMarked ? Style.bold.text(name, display) : name)
      + (note.isEmpty ? "" : blanks + Style.dim.text(note, display))
  }

  private func footer(_ display: Display) -> String {
    if let hint { return cut(.yellow, hint, display) }
    var text = found.count == total ? grouped(total) : "\(grouped(found.count)) of \(grouped(total))"
    for part in ["Enter: \(verb)"] + actions.map({ "Ctrl-\($0.key.uppercased()): \($0.title)" }) + ["Esc: leave"] {
      guard Cells.count(text) + 2 + Cells.count(part) <= size.columns else { break }
      text += "  " + part
    }
    return cut(.dim, text, display)
  }

  private func cut(_ style: Style, _ text: String, _ display: Display) -> String {
    style.text(Cells.shorten(text, to: size.columns, display), display)
  }

  /// Without the end of a long text, which is not shown.
  private func printable(_ text: String) -> String { Printable.line(String(text.prefix(size.columns))) }
}
