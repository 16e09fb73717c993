internal import Coffer
internal import CofferVault

/// All about one item but its value, as a person at a terminal reads it.
struct ItemSheet {
  private let item: VaultItem
  /// The names of its secret fields.
  private let fields: [String]
  private let time: LocalTime

  init(_ item: VaultItem, fields: [String], _ time: LocalTime = LocalTime()) {
    self.item = item
    self.fields = fields
    self.time = time
  }

  /// The words before a value that is printed.
  var valueTitle: String { "  " + padded("value") }

  /// The lines, in which a sign stands for the value unless it follows.
  func text(revealing: Bool, _ display: Display = .output) -> String {
    let rows =
      (revealing ? [] : [("value", hidden(display))])
      + [("fields", fields.map(Printable.line).joined(separator: ", "))].filter { !$0.1.isEmpty } + attributes
      + [("type", item.metadata.contentType), ("changed", changed), expires(display)].filter { !$0.1.isEmpty }
    return ([title(display)] + rows.map { "  \(padded(Printable.line($0.0)))\($0.1)".trimmedEnd }).joined(separator: "\n")
  }

  private var attributes: [(String, String)] {
    item.metadata.attributes.sorted { $0.key < $1.key }.map { ($0.key, Printable.line($0.value)) }
  }

  /// `github.com / octocat`, and the label at the right, or two blanks after it where it has no room there.
  private func title(_ display: Display) -> String {
    let name = [item.name.service, item.name.account].filter { !$0.isEmpty }.map(Printable.line).joined(separator: " / ")
    let label = Printable.line(item.metadata.label)
    let column = min(40, display.width / 2)
    let blanks = label.isEmpty ? 0 : max(2, column - Cells.count(name))
    return Style.bold.text(name, display) + String(repeating: " ", count: blanks) + label
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

  private func padded(_ title: String) -> String {
    let widest = (["changed", "expires"] + item.metadata.attributes.keys.map(Printable.line)).map(Cells.count).max() ?? 0
    return title + String(repeating: " ", count: widest - Cells.count(title) + 2)
  }
}
