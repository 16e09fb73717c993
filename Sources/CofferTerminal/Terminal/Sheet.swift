/// Names and what is said of each, one below the other.
package enum Sheet {
  /// - Parameter rows: names, and texts of which nothing is to be spelled out any more.
  package static func text(_ rows: [(name: String, text: String)], _ display: Display) -> String {
    TextWidth.definitions(
      fitting: rows.map { (Style.bold.text($0.name, display), $0.text) }, to: display.width, indent: 0)
  }
}
