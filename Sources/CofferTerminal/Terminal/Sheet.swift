/// Names and their texts, one below the other.
package enum Sheet {
  /// - Parameter rows: names, and texts with invisible characters spelled out.
  package static func text(_ rows: [(name: String, text: String)], _ display: Display) -> String {
    TextWidth.definitions(
      fitting: rows.map { (Style.bold.text($0.name, display), $0.text) }, to: display.width, indent: 0)
  }
}
