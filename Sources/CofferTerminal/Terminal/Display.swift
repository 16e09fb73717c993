internal import CofferPlatform

/// A standard stream of this process, as whoever reads it can see it.
package struct Display {
  package static let output = Display(STDOUT_FILENO)
  package static let errors = Display(STDERR_FILENO)

  /// Narrower ones are drawn for as if they had so many cells, wider ones as well: nobody reads a line of 300 cells.
  private static let widths = 20...200

  package let isTerminal: Bool
  /// The cells of a line.
  package let width: Int
  /// The lines of the screen; nil where nobody knows.
  package let height: Int?
  /// Whether it cannot move the cursor, so that a line cannot be drawn anew.
  let isDumb: Bool
  package let isColored: Bool
  /// Whether the locale encodes more than ASCII.
  let isUnicode: Bool

  package init(
    isTerminal: Bool, width: Int = 80, height: Int? = nil, isDumb: Bool = false, isColored: Bool = false, isUnicode: Bool = true
  ) {
    self.isTerminal = isTerminal
    self.width = min(max(width, Self.widths.lowerBound), Self.widths.upperBound)
    self.height = height
    self.isDumb = isDumb
    self.isColored = isColored
    self.isUnicode = isUnicode
  }

  private init(_ descriptor: Int32) {
    // Not asked of a pipe: most commands write to one, and need to know no more.
    guard isatty(descriptor) == 1 else {
      self.init(isTerminal: false)
      return
    }
    let size = Self.size(descriptor)
    let terminal = ProcessEnvironment.value("TERM") ?? "dumb"
    let isDumb = terminal == "dumb"
    self.init(
      isTerminal: true, width: Self.number("COLUMNS") ?? size.width ?? 80, height: Self.number("LINES") ?? size.height,
      isDumb: isDumb, isColored: Self.wantsColor(isDumb: isDumb), isUnicode: Self.localeIsUnicode)
  }

  /// Source: no-color.org, and bixense.com/clicolors for the other.
  private static func wantsColor(isDumb: Bool) -> Bool {
    guard ProcessEnvironment.value("NO_COLOR") == nil else { return false }
    if let forced = ProcessEnvironment.value("CLICOLOR_FORCE"), forced != "0" { return true }
    return !isDumb
  }

  /// Source: locale(7), for the order in which the variables count.
  private static var localeIsUnicode: Bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { ProcessEnvironment.value($0) }.first ?? "C"
    let name = locale.lowercased()
    return name.contains("utf-8") || name.contains("utf8")
  }

  private static func number(_ name: String) -> Int? {
    ProcessEnvironment.value(name).flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
  }

  private static func size(_ descriptor: Int32) -> (width: Int?, height: Int?) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return (nil, nil) }
    return (size.ws_col > 0 ? Int(size.ws_col) : nil, size.ws_row > 0 ? Int(size.ws_row) : nil)
  }
}

/// A sign that stands for a word, and for the same in ASCII where the locale has no other.
package enum Sign {
  case done, dot, absent, ellipsis, secret

  /// What a line of standard output begins with that says what was done: nothing where no person reads it.
  package static var doneAtTerminal: String {
    Display.output.isTerminal ? Style.green.text(done.text(.output), .output) + " " : ""
  }

  package func text(_ display: Display) -> String {
    switch self {
    case .done: display.isUnicode ? "✓" : "OK"
    case .dot: display.isUnicode ? "●" : "*"
    case .absent: display.isUnicode ? "–" : "-"
    case .ellipsis: display.isUnicode ? "…" : "..."
    case .secret: display.isUnicode ? "••••••••••••" : "************"
    }
  }
}

/// How a text stands out.
package enum Style: String {
  case bold = "1", dim = "2", red = "31", green = "32", yellow = "33"

  package func text(_ text: String, _ display: Display) -> String {
    display.isColored && !text.isEmpty ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
  }
}
