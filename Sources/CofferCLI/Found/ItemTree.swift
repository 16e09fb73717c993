internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

/// Items as a tree of the parts of their services between slashes: a line for a service, with its accounts.
struct ItemTree {
  private let fields: [ItemName: [String]]
  private let display: Display

  /// - Parameter items: in display order; a part takes the place of its first item.
  static func show(_ items: [VaultItem], _ fields: [ItemName: [String]]) throws {
    let display = Display.output
    var lines = ItemTree(fields: fields, display: display).lines(items.map { Entry($0) })
    guard display.isTerminal else { return try Output.line(lines.joined(separator: "\n")) }
    lines = lines.map { Cells.shorten($0, to: display.width, display) }
    try Pager.show((lines + [Style.dim.text(ItemTable.total(items), display)]).joined(separator: "\n"))
  }

  private struct Entry {
    let item: VaultItem
    var parts: ArraySlice<String>

    init(_ item: VaultItem) {
      self.item = item
      var parts: [String] = [], part = ""
      let service = item.name.service.unicodeScalars
      for index in service.indices {
        let next = service.index(after: index)
        // Not the slashes of `https://host`, nor one at an end.
        let isBetween = !part.isEmpty && !part.hasSuffix("/") && next < service.endIndex && service[next] != "/"
        if service[index] == "/", isBetween {
          parts.append(part)
          part = ""
        } else {
          part.unicodeScalars.append(service[index])
        }
      }
      self.parts = (parts + [part])[...]
    }

    var inner: Entry {
      var entry = self
      entry.parts.removeFirst()
      return entry
    }

    /// Whether it is on the line of an entry with `others`, or in the same folder.
    func isBeside(_ others: ArraySlice<String>) -> Bool {
      guard let part = parts.first, let other = others.first else { return false }
      return part.hasSameBytes(as: other) && (parts.count == 1) == (others.count == 1)
    }
  }

  private struct Branch {
    var name: String
    var entries: [Entry]
    var isFolder: Bool { entries.contains { !$0.parts.isEmpty } }
  }

  /// - Parameter stem: the beginning of each line; nil at the top.
  private func lines(_ entries: [Entry], after stem: String? = nil) -> [String] {
    let branches = branches(of: entries)
    let names = branches.map { Printable.line($0.name) }
    let width = zip(names, branches).filter { !$1.isFolder }.map { Cells.count($0.0) }.filter { $0 <= widest }.max() ?? 0
    return zip(names, branches).enumerated().flatMap { number, row -> [String] in
      let (name, branch) = row
      let isLast = number == branches.count - 1
      let head = stem.map { $0 + (isLast ? Sign.lastBranch : .branch).text(display) } ?? ""
      guard branch.isFolder else {
        let isOnly = branch.entries.count == 1
        let accounts = branch.entries.map { account($0, isOnly: isOnly) }.joined(separator: ", ")
        guard !accounts.isEmpty else { return [head + name] }
        let shown = fitted(name, accounts, after: head)
        return [head + shown + TextWidth.blanks(max(width - Cells.count(shown), 0) + 2) + accounts]
      }
      let below = stem.map { $0 + (isLast ? "    " : Sign.stem.text(display)) } ?? ""
      return [head + name + "/"] + lines(branch.entries, after: below)
    }
  }

  /// A longer name does not move the accounts of others to the right.
  private var widest: Int { display.isTerminal ? min(40, display.width / 2) : 40 }

  /// `name`, cut if it would leave no room for `accounts`, but never below half the screen.
  private func fitted(_ name: String, _ accounts: String, after head: String) -> String {
    guard display.isTerminal else { return name }
    let room = display.width - Cells.count(head) - 2 - Cells.count(accounts)
    return Cells.shorten(name, to: max(room, widest - Cells.count(head)), display)
  }

  /// The services and the folders among `entries`. A folder with one entry is written as part of its name.
  private func branches(of entries: [Entry]) -> [Branch] {
    var order: [[UInt8]] = [], branches: [[UInt8]: Branch] = [:]
    for entry in entries {
      guard let name = entry.parts.first else { continue }
      // A service and a folder of one name are two lines.
      let key = Array(name.utf8) + (entry.parts.count == 1 ? [] : [UInt8(ascii: "/")])
      if branches[key] == nil { order.append(key) }
      branches[key, default: Branch(name: name, entries: [])].entries.append(entry.inner)
    }
    return order.compactMap { branches[$0] }.map { branch in
      var branch = branch
      while let first = branch.entries.first?.parts, let name = first.first, branch.entries.allSatisfy({ $0.isBeside(first) }) {
        branch = Branch(name: branch.name + "/" + name, entries: branch.entries.map(\.inner))
      }
      return branch
    }
  }

  private func account(_ entry: Entry, isOnly: Bool) -> String {
    let name = entry.item.name.account.isEmpty && !isOnly ? "''" : Printable.line(entry.item.name.account)
    let hasCode = fields[entry.item.name]?.contains(OneTimeURI.field) ?? false
    return [name, hasCode ? Sign.code.text(display) : ""].filter { !$0.isEmpty }.joined(separator: " ")
  }
}
