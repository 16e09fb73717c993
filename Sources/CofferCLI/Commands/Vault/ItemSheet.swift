internal import Coffer
internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

/// An item without its value, for a person at a terminal.
struct ItemSheet {
  private let item: VaultItem
  private let fields: [String]
  private let time: LocalTime

  init(_ item: VaultItem, fields: [String], _ time: LocalTime = LocalTime()) {
    self.item = item
    self.fields = fields
    self.time = time
  }

  func valueTitle(_ display: Display = .output) -> String {
    let column = TextWidth.column(of: names, to: display.width, indent: 2)
    return "  value" + TextWidth.blanks(max(column - 7, 2))
  }

  /// The lines, with a sign for the value unless it follows.
  func text(revealing: Bool, _ display: Display = .output) -> String {
    let rows =
      (revealing ? [] : [("value", hidden(display))])
      + [("fields", fields.map(Printable.line).joined(separator: ", "))].filter { !$0.1.isEmpty } + attributes
      + [("type", Printable.line(item.metadata.contentType)), ("changed", changed), expires(display)].filter { !$0.1.isEmpty }
    return title(display) + (rows.isEmpty ? "" : "\n" + TextWidth.definitions(fitting: rows, to: display.width, indent: 2))
  }

  private var attributes: [(String, String)] {
    item.metadata.attributes.sorted { $0.key < $1.key }.map { (Printable.line($0.key), Printable.line($0.value)) }
  }

  /// `github.com / octocat`, and the label at the right, or two blanks after it where it has no room there, or below it.
  private func title(_ display: Display) -> String {
    let name = [item.name.service, item.name.account].filter { !$0.isEmpty }.map(Printable.line).joined(separator: " / ")
    let label = Printable.line(item.metadata.label)
    let column = min(40, display.width / 2)
    let blanks = label.isEmpty ? 0 : max(2, column - Cells.count(name))
    guard Cells.count(name) + blanks + Cells.count(label) > display.width else {
      return Style.bold.text(name, display) + TextWidth.blanks(blanks) + label
    }
    let lines = { (text: String, width: Int) in TextWidth.fit(text, to: width).split(separator: "\n").map { String($0) } }
    return (lines(name, display.width).map { Style.bold.text($0, display) } + lines(label, display.width - 2).map { "  " + $0 })
      .joined(separator: "\n")
  }

  private func hidden(_ display: Display) -> String {
    let bytes = item.valueBytes == 1 ? "1 byte" : "\(grouped(item.valueBytes)) bytes"
    return Sign.secret.text(display) + "  " + Style.dim.text("(\(bytes); --reveal, or coffer vault get --clip)", display)
  }

  private var changed: String {
    "\(time.ago(item.modified)) (\(time.minute(item.modified))), revision \(item.revision), created \(time.day(item.created))"
  }

  private func expires(_ display: Display) -> (String, String) {
    guard let moment = item.metadata.expires else { return ("expires", "") }
    guard moment <= time.now else { return ("expires", "\(time.ahead(moment)) (\(time.day(moment)))") }
    return ("expired", Style.red.text("\(time.ago(moment)) (\(time.day(moment)))", display))
  }

  private var names: [String] { ["changed", "expires"] + item.metadata.attributes.keys.map(Printable.line) }
}
