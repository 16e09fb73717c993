package import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

package struct CSVEntries {
  private let layout: CSVLayout
  private let names: [String]
  private let roles: [CSVLayout.Role?]

  /// In the first line of `file`.
  package static func columns(_ file: borrowing SecretBytes, place: String) throws -> [String] {
    try file.withUnsafeBytes { raw in
      var scanner = CSVScanner(raw, place: place)
      return try scanner.row().map { $0.map(scanner.text) } ?? []
    }
  }

  package static func read(_ file: borrowing SecretBytes, layouts: [CSVLayout], place: String) throws -> ImportedEntries {
    let columns = try columns(file, place: place)
    guard let layout = layouts.first(where: { $0.fits(columns) }) else {
      throw StoreError.damaged(
        1, "the columns are not those of \(layouts[0].name): \(layouts[0].signs.sorted().joined(separator: ", "))", place,
        cure: "the export of the program with its first line, or another --from; nothing was imported")
    }
    // A second column of a role would replace the first. An unknown column becomes a field, and loses nothing.
    let known = columns.map { $0.lowercased() }.filter { layout.roles[$0] != nil }
    guard Set(known).count == known.count else {
      throw StoreError.damaged(
        1, "a column of \(layout.name) is there twice", place, cure: "export it again; nothing was imported")
    }
    return try file.withUnsafeBytes { raw in
      var scanner = CSVScanner(raw, place: place, hasBackslashes: layout.hasBackslashes)
      _ = try scanner.row()
      let reader = CSVEntries(layout, columns)
      var found = ImportedEntries()
      while let row = try scanner.row() {
        guard row.count == columns.count else {
          throw scanner.damaged("the row has \(row.count) columns, and the first line names \(columns.count)")
        }
        try reader.add(row, scanner, to: &found)
      }
      return found
    }
  }

  private init(_ layout: CSVLayout, _ columns: [String]) {
    (self.layout, names) = (layout, columns)
    roles = columns.map { layout.roles[$0.lowercased()] }
  }

  private func add(_ row: [CSVScanner.Cell], _ scanner: CSVScanner, to found: inout ImportedEntries) throws {
    var entry = ImportedEntry()
    var notes: SecretForm?
    var isNote = false
    for (index, cell) in row.enumerated() where !cell.isEmpty {
      guard let role = roles[index] else {
        entry.add(try scanner.secret(cell), as: names[index])
        continue
      }
      switch role {
      case .password: entry.value = try scanner.secret(cell)
      case .notes: notes = try scanner.secret(cell)
      case .oneTime: try entry.takeSeed(OneTimeSeed(scanner.secret(cell)), as: names[index])
      case .lines: try Self.addLines(try scanner.secret(cell), to: &entry)
      case .kind: isNote = scanner.text(cell) == "note"
      default: Self.set(role, scanner.text(cell), in: &entry)
      }
    }
    if isNote, entry.value == nil { entry.value = notes } else { entry.add(notes, as: "notes") }
    guard !entry.folder.split(separator: "/").contains(where: { layout.trash.contains(String($0)) }) else {
      return found.leaveOut(entry.label, LeftOut.inTrash)
    }
    found.add(entry)
  }

  private static func set(_ role: CSVLayout.Role, _ text: String, in entry: inout ImportedEntry) {
    switch role {
    case .title: entry.title = text
    case .user: entry.user = text
    case .url: entry.urls = [text]
    case .urls: entry.urls = addresses(text)
    case .folder: entry.folder = text
    // Split at scalars, not characters: a comma and a combining mark behind it are one character.
    case .tags: entry.tags += text.unicodeScalars.split { $0 == "," || $0 == ";" }.map { Substring($0).trimmedText }
    case .created: entry.created = entry.date("created", text, read: moment)
    case .modified: entry.modified = entry.date("modified", text, read: moment)
    case .attribute(let name): entry.say(text, as: name)
    case .mark(let name): if ["true", "1"].contains(text.lowercased()) { entry.tags.append(name) }
    case .password, .notes, .oneTime, .lines, .kind, .nothing: break
    }
  }

  /// Addresses between commas: an address may hold a comma itself, so a scheme has to follow.
  private static func addresses(_ text: String) -> [String] {
    var addresses: [String] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      if let last = addresses.popLast() {
        addresses += part.contains("://") ? [last, String(part)] : ["\(last),\(part)"]
      } else {
        addresses = [String(part)]
      }
    }
    return addresses
  }

  /// ISO 8601, or Firefox's milliseconds since 1970.
  private static func moment(_ text: String) -> Date? {
    if let milliseconds = UInt64(text), milliseconds < 1 << 52 { return Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
    return Moment.parse(text)
  }

  /// Fields in one cell, `name: value` a line. Another line continues the value before it, or without one is a line of
  /// `fields`.
  private static func addLines(_ lines: SecretForm?, to entry: inout ImportedEntry) throws {
    guard let lines else { return }
    try lines.bytes.withUnsafeBytes { raw in
      var open: (name: String, range: Range<Int>)?
      for line in raw.split(separator: 0x0A, omittingEmptySubsequences: false) {
        guard let colon = line.indices.first(where: { line[$0] == UInt8(ascii: ":") }), colon > line.startIndex else {
          open = (open?.name ?? "fields", (open?.range.lowerBound ?? line.startIndex)..<line.endIndex)
          continue
        }
        if let last = open { entry.add(try SecretForm.copy(raw[last.range]), as: last.name) }
        let value = line[(colon + 1)...].drop { $0 == 0x20 }
        open = (String(decoding: line[..<colon], as: UTF8.self), value.startIndex..<line.endIndex)
      }
      if let last = open { entry.add(try SecretForm.copy(raw[last.range]), as: last.name) }
    }
  }
}
