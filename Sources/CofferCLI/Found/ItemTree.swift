internal import Coffer
internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

/// Items as a tree: a line for a service, with its accounts below it.
enum ItemTree {
  /// Prints the tree; at a terminal it fits the width and ends with the number of items.
  static func show(_ items: [VaultItem]) throws {
    guard Output.isTerminal else { return try Output.line(text(items)) }
    let display = Display.output
    let lines = text(items).split(separator: "\n").map { Cells.shorten(String($0), to: display.width, display) }
    try Pager.show((lines + [Style.dim.text(ItemTable.total(items.count), display)]).joined(separator: "\n"))
  }

  /// - Parameter items: in display order; a service takes the place of its first item.
  static func text(_ items: [VaultItem]) -> String {
    var services: [String] = []
    var accounts: [[UInt8]: [VaultItem]] = [:]
    for item in items {
      let key = Array(item.name.service.utf8)
      if accounts[key] == nil { services.append(item.name.service) }
      accounts[key, default: []].append(item)
    }
    return services.flatMap { service in
      let found = accounts[Array(service.utf8)] ?? []
      // The item without an account is the service itself.
      let own = found.first { $0.name.account.isEmpty }
      let others = found.filter { !$0.name.account.isEmpty }
      return [line("", service, own?.metadata.label ?? "")]
        + others.enumerated().map { number, item in
          line(number == others.count - 1 ? "└── " : "├── ", item.name.account, item.metadata.label)
        }
    }.joined(separator: "\n")
  }

  private static func line(_ branch: String, _ name: String, _ label: String) -> String {
    branch + Printable.line(name) + (label.isEmpty ? "" : "  " + Printable.line(label))
  }
}
