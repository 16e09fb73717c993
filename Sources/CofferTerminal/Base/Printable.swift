internal import CofferStorage

/// Text from a vault or a file, for a terminal.
package enum Printable {
  /// `text` with invisible characters except newlines spelled out.
  package static func text(_ text: String) -> String { text.spelledOut(but: "\n") }

  /// Like ``text(_:)``, on one line.
  package static func line(_ text: String) -> String {
    Self.text(text).unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
      .joined(separator: "\\n")
  }
}
