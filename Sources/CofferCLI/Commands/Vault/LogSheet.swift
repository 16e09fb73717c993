internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

/// The vault's log for a person: the newest entry first, each under its day.
struct LogSheet {
  let slots: [VaultStatus.Slot]
  let namesUsers: Bool
  /// The hosts of the entries that say which account is in use, by their number. They are not shown.
  let logins: [UInt64: String]
  var time = LocalTime()

  func text(_ entries: [VaultLogEntry], _ display: Display) -> String {
    let entries = Array(entries.reversed())
    let rows = entries.map { entry in
      [
        Table.Cell(time.clock(entry.date), .dim), Table.Cell(subject(of: entry) ?? Sign.absent.text(display)),
        Table.Cell(words(for: entry)), Table.Cell(author(of: entry), .dim),
      ]
    }
    let columns: [Table.Column] = [.fixed(""), .text(""), .text(""), .text("", rank: 1)]
    let lines = Table(columns: columns, rows: rows, footer: "").text(display).split(separator: "\n")
    var text: [String] = [], day = ""
    for (entry, line) in zip(entries, lines) {
      if time.day(entry.date) != day {
        day = time.day(entry.date)
        text.append(Style.bold.text(day, display))
      }
      text.append(String(line))
    }
    let count = entries.isEmpty ? "no entries" : "\(grouped(entries.count)) \(entries.count == 1 ? "entry" : "entries")"
    return (text + [Style.dim.text(count, display)]).joined(separator: "\n")
  }

  private func subject(of entry: VaultLogEntry) -> String? {
    if let item = entry.item { return item.description }
    return entry.index ?? (entry.event == .unlocked ? nil : entry.slot.map { "slot \($0.prefix(8))" })
  }

  /// Whether the same write says which account of the host is in use.
  private func isLogin(_ entry: VaultLogEntry) -> Bool {
    guard let item = entry.item else { return false }
    return [entry.sequence &- 1, entry.sequence &+ 1].contains { logins[$0].map(item.service.hasSameBytes(as:)) ?? false }
  }

  private func words(for entry: VaultLogEntry) -> String {
    let isLogin = isLogin(entry)
    switch entry.event {
    case .vaultCreated: return "vault created"
    case .itemSet: return isLogin ? "logged in" : "changed"
    case .itemDeleted: return isLogin ? "logged out" : "deleted"
    case .slotAdded: return "added"
    case .slotRemoved: return "removed"
    case .slotChanged: return "changed"
    case .keyRotated: return "new key"
    case .unlocked:
      let slot = slots.first { $0.summary.id.description == entry.slot }
      return "unlocked" + (slot.map { " by \($0.summary.kind)" } ?? "")
    case .restored: return "restored from a backup"
    case .trimmed: return "oldest entries removed"
    case .repaired: return "repaired"
    case .policyChanged: return "cost of passphrases changed"
    case .migrated: return "converted to a new format"
    case .undeleted: return "brought back"
    case .pruned: return "previous versions removed"
    case .unknown: return "event of a newer version"
    }
  }

  /// `grace, ada, coffer`: the slot's label, if there are several slots, the user and the program.
  private func author(of entry: VaultLogEntry) -> String {
    let slot = slots.count > 1 ? slots.first { $0.summary.id.description == entry.openedWith } : nil
    return [slot?.name ?? "", user(entry.user), entry.program].filter { !$0.isEmpty }.joined(separator: ", ")
  }

  private func user(_ number: UInt32) -> String {
    guard namesUsers, let record = getpwuid(number), let name = String(validatingCString: record.pointee.pw_name) else {
      return "user \(number)"
    }
    return name
  }
}
