internal import CofferPlatform

/// A standard stream, with the abilities of its reader.
package struct Display {
  package static let output = Display(STDOUT_FILENO)
  package static let errors = Display(STDERR_FILENO)

  /// Others are drawn as the nearest: nobody reads a line of 300 cells.
  private static let widths = 20...200

  package let isTerminal: Bool
  package let width: Int
  /// Lines of the screen; nil if unknown.
  package let height: Int?
  /// It cannot move the cursor to redraw a line.
  let isDumb: Bool
  package let isColored: Bool
  package let isUnicode: Bool

  package init(
    isTerminal: Bool, width: Int = 80, height: Int? = nil, isDumb: Bool = false, isColored: Bool = false, isUnicode: Bool = true
  ) {
    self.isTerminal = isTerminal
    self.width = min(max(width, Self.widths.lowerBound), Self.widths.upperBound)
    (self.height, self.isDumb, self.isColored, self.isUnicode) = (height, isDumb, isColored, isUnicode)
  }

  private init(_ descriptor: Int32) {
    // Most commands write to a pipe, and need no more.
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

  /// Source: no-color.org, and bixense.com/clicolors for CLICOLOR_FORCE.
  private static func wantsColor(isDumb: Bool) -> Bool {
    guard ProcessEnvironment.value("NO_COLOR") == nil else { return false }
    if let forced = ProcessEnvironment.value("CLICOLOR_FORCE"), forced != "0" { return true }
    return !isDumb
  }

  /// Source: locale(7), for the precedence of the variables.
  private static var localeIsUnicode: Bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { ProcessEnvironment.value($0) }.first ?? "C"
    let name = locale.lowercased()
    return name.contains("utf-8") || name.contains("utf8")
  }

  private static func number(_ name: String) -> Int? {
    ProcessEnvironment.value(name).flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
  }

  static func size(_ descriptor: Int32) -> (width: Int?, height: Int?) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return (nil, nil) }
    return (size.ws_col > 0 ? Int(size.ws_col) : nil, size.ws_row > 0 ? Int(size.ws_row) : nil)
  }
}

/// A sign for a word, with an ASCII form for other locales.
package enum Sign {
  case done, failed, dot, absent, ellipsis, secret
  /// `between` stands between two facts.
  case code, fields, between
  /// Lines of a tree: to an entry, to the last one, and past an entry to the next.
  case branch, lastBranch, stem

  /// The start of a report of a completed action: empty unless on a terminal.
  package static var doneAtTerminal: String {
    Display.output.isTerminal ? Style.green.text(done.text(.output), .output) + " " : ""
  }

  package func text(_ display: Display) -> String {
    switch self {
    case .done: display.isUnicode ? "✓" : "OK"
    case .failed: display.isUnicode ? "✗" : "ERROR"
    case .dot: display.isUnicode ? "●" : "*"
    case .absent: display.isUnicode ? "–" : "-"
    case .ellipsis: display.isUnicode ? "…" : "..."
    case .secret: display.isUnicode ? "••••••••" : "********"
    case .code: display.isUnicode ? "⏱" : "otp"
    case .fields: display.isUnicode ? "⚿" : "+"
    case .between: display.isUnicode ? " · " : ", "
    case .branch: display.isUnicode ? "├── " : "|-- "
    case .lastBranch: display.isUnicode ? "└── " : "`-- "
    case .stem: display.isUnicode ? "│   " : "|   "
    }
  }
}

package enum Style: String {
  case bold = "1", dim = "2", red = "31", green = "32", yellow = "33"

  package func text(_ text: String, _ display: Display) -> String {
    display.isColored && !text.isEmpty ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
  }
}
