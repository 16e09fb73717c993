internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// Makes items of entries.
///
/// The service is the host of the first address, with the scheme unless it is https, else the title; the account is the user
/// name; the label is the title.
/// Addresses, folder and tags become attributes (`url`, `folder`, `tag:NAME`), secrets beside the value become fields.
/// ``leftOut`` lists the parts that an item cannot hold, ``renamed`` the changed names.
struct EntryItems {
  private(set) var items: [ImportedItem] = []
  /// Each entry's items, and whether they are all of it.
  private(set) var parts: [(items: Range<Int>, isWhole: Bool)] = []
  private(set) var leftOut: [LeftOut]
  /// Each with its new name.
  private(set) var renamed: [String] = []
  private var taken: [ItemName: Int] = [:]
  private let history: Int

  /// Bytes of a shortened name, so that a number fits behind it.
  private static let longestName = StoredName.longest - 24
  private static let longestFieldName = 256 - 24
  /// Bytes of attributes that stay attributes; an item's description has at most 64 KiB with its name and label.
  private static let mostAttributeBytes = 48 << 10
  private static let mostAttributes = 64
  private static let longestAttribute = 4096

  /// - Parameter history: the number of previous versions that an item keeps.
  init(_ found: ImportedEntries, keeping history: Int = 0) throws {
    self.history = history
    leftOut = found.leftOut
    for entry in found.entries {
      let (first, left) = (items.count, leftOut.count)
      try add(entry)
      parts.append((first..<items.count, leftOut.count == left))
    }
  }

  private mutating func add(_ entry: ImportedEntry) throws {
    guard entry.hasSecret || entry.isKept else { return leftOut.append(LeftOut(Self.shown(entry), LeftOut.empty)) }
    if let value = entry.value, value.bytes.count > VaultItem.largestValue {
      return leftOut.append(LeftOut(Self.shown(entry), LeftOut.tooLarge))
    }
    let name = try name(of: entry)
    var fields = entry.fields
    if let seed = entry.oneTime {
      fields.insert(ImportedEntry.Field(name: OneTimeURI.field, secret: try seed.uri(for: Self.shown(entry))), at: 0)
    }
    let label = Self.cut(Self.oneLine(entry.title), to: Self.longestName)
    var metadata = ItemMetadata(label: label, contentType: "text/plain")
    if let expires = entry.expires {
      // Coffer hands out no expired value, and elsewhere the date is only a hint to change it.
      if expires > Date() { metadata.expires = expires } else { metadata.attributes["expired"] = Moment.text(expires) }
    }
    fields += try describe(entry, in: &metadata)
    let form = try (entry.value ?? SecretForm(SecretBytes(zeros: 0))).with(metadata)
    addPrevious(of: entry, to: name, as: metadata)
    items.append(ImportedItem(name: name, form: form, created: entry.created, modified: entry.modified))
    try add(fields, to: name, of: entry)
    for date in entry.unreadDates { leftOut.append(LeftOut(Self.shown(entry), part: date, LeftOut.unreadDate)) }
  }

  /// Adds the newest earlier passwords as previous versions, oldest first. One without a date counts as older.
  private mutating func addPrevious(of entry: ImportedEntry, to name: ItemName, as metadata: ItemMetadata) {
    let dated = entry.previous.enumerated().sorted {
      ($0.element.date ?? .distantPast, $0.offset) < ($1.element.date ?? .distantPast, $1.offset)
    }.map(\.element)
    // KeePass keeps a version for each change of the entry, most of them with the same password.
    let following = dated.dropFirst().map { Optional($0.password) } + [entry.value]
    let previous = zip(dated, following).filter { one, next in !(next?.bytes.isEqual(to: one.password.bytes) ?? false) }.map(\.0)
    let fitting = previous.filter { $0.password.bytes.count <= VaultItem.largestValue }
    let kept = fitting.suffix(history)
    for (count, part, reason) in [
      (previous.count - fitting.count, "previous passwords", LeftOut.tooLarge),
      (fitting.count - kept.count, "", LeftOut.previousPasswords),
    ] where count > 0 { leftOut.append(LeftOut(Self.shown(entry), part: part, reason, count: count)) }
    var metadata = metadata
    // The date belongs to the current password.
    metadata.expires = nil
    for (password, date) in kept {
      let form = password.with(metadata)
      items.append(
        ImportedItem(name: name, form: form, created: entry.created, modified: date ?? entry.created, isPrevious: true))
    }
  }

  // MARK: Names

  private mutating func name(of entry: ImportedEntry) throws -> ItemName {
    // A helper would give an empty value as the password of the host.
    let host = entry.hasSecret ? entry.urls.lazy.compactMap(Self.host).first : nil
    let wantedService = entry.service ?? host ?? entry.title
    let named = [wantedService, entry.title].map(Self.oneLine).first { !$0.isEmpty }
    var service = Self.cut(named ?? "untitled", to: Self.longestName)
    let isOwn = AuthAccounts.isOwn(service: service)
    if isOwn { service = "imported.\(service)" }
    let account = Self.cut(Self.oneLine(entry.user), to: Self.longestName)
    let wanted = try ItemName(service: service, account: account)
    var name = wanted
    // A number behind a name may be the name of another entry.
    while let count = taken[name] {
      taken[name] = count + 1
      name = try ItemName(service: service, account: account.isEmpty ? "(\(count + 1))" : "\(account) (\(count + 1))")
    }
    taken[name, default: 0] += 1
    if name != wanted {
      renamed.append("'\(Self.shown(entry))' becomes '\(Self.shown(name))': another entry has the name '\(Self.shown(wanted))'")
    } else if service != wantedService || account != entry.user {
      let reason = isOwn ? "its own name is reserved" : "its own name is empty, too long or has a control character"
      renamed.append("'\(Self.shown(entry))' becomes '\(Self.shown(name))': \(reason)")
    }
    return name
  }

  /// The host, where the helpers look for a credential of https; with its scheme for another, which must not get it. Nil
  /// without a certain host.
  private static func host(of url: String) -> String? {
    let scheme = url.firstRange(of: "://")
    // `github.com/login`, as people type it.
    guard scheme != nil || (!url.contains(" ") && url.prefix { $0 != "/" }.contains(".")) else { return nil }
    // A path such as `/@ada` makes no host uncertain that is known to end before it.
    let authority = url[(scheme?.upperBound ?? url.startIndex)...].prefix { !"/?#".contains($0) }
    guard let origin = Origin("\(scheme.map { url[..<$0.lowerBound] } ?? "https")://\(authority)") else { return nil }
    return origin.scheme == "https" ? origin.host : origin.name
  }

  private static func shown(_ name: ItemName) -> String { cut(name.description, to: 200) }

  private static func shown(_ entry: ImportedEntry) -> String {
    let label = cut(oneLine(entry.label), to: 200)
    return label.isEmpty ? "untitled" : label
  }

  /// `text` without characters that could forge a line; empty if nothing visible is left.
  private static func oneLine(_ text: String) -> String {
    var line = text
    if !StoredName.isPrintableASCII(text) {
      var scalars = String.UnicodeScalarView()
      for scalar in text.unicodeScalars { scalars.append(scalar.properties.generalCategory == .control ? " " : scalar) }
      line = String(scalars)
    }
    return line.allSatisfy(\.isWhitespace) ? "" : line
  }

  private static func cut(_ text: String, to limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var end = text.unicodeScalars.startIndex, count = 0
    while end < text.unicodeScalars.endIndex {
      count += UTF8.width(text.unicodeScalars[end])
      guard count <= limit else { break }
      end = text.unicodeScalars.index(after: end)
    }
    return String(text[..<end])
  }

  // MARK: Attributes and fields

  /// Attributes without room become fields.
  private mutating func describe(_ entry: ImportedEntry, in metadata: inout ItemMetadata) throws -> [ImportedEntry.Field] {
    var said = entry.urls.filter { !$0.isEmpty }.enumerated().map { ($0 == 0 ? "url" : "url \($0 + 1)", $1) }
    if !entry.folder.isEmpty { said.append(("folder", entry.folder)) }
    said += entry.tags.filter { !$0.isEmpty }.map { ("tag:\($0)", "") }
    said += entry.attributes.map { ($0.name, $0.value) }
    var bytes = 0
    var fields: [ImportedEntry.Field] = []
    for (wanted, value) in said {
      let sound = part(wanted, or: "attribute", of: entry)
      let name = Self.free(sound) { metadata.attributes[$0] != nil }
      bytes += name.utf8.count + value.utf8.count
      if value.utf8.count <= Self.longestAttribute, bytes <= Self.mostAttributeBytes,
        metadata.attributes.count < Self.mostAttributes
      {
        metadata.attributes[name] = value
      } else {
        let text = value.isEmpty ? "yes" : value
        let copy = try text.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
        fields.append(ImportedEntry.Field(name: sound, secret: SecretForm(copy)))
      }
    }
    return fields
  }

  private mutating func add(_ fields: [ImportedEntry.Field], to item: ItemName, of entry: ImportedEntry) throws {
    var names: Set<String> = []
    for field in fields {
      let name = Self.free(part(field.name, or: "field", of: entry), names.contains)
      guard names.count < VaultItem.mostFields else {
        leftOut.append(LeftOut(Self.shown(entry), part: name, LeftOut.tooMany))
        continue
      }
      guard field.secret.bytes.count <= VaultItem.largestValue else {
        leftOut.append(LeftOut(Self.shown(entry), part: name, LeftOut.tooLarge))
        continue
      }
      names.insert(name)
      let form = field.secret.with(ItemMetadata(contentType: field.isFile ? "application/octet-stream" : "text/plain"))
      items.append(ImportedItem(name: try item.field(named: name), form: form, created: entry.created, modified: entry.modified))
      if field.isOtherSeed { leftOut.append(LeftOut(Self.shown(entry), part: name, LeftOut.otherCodes)) }
    }
  }

  /// The name for an attribute or field called `name` in `entry`.
  ///
  /// Coffer trusts its own attributes: with `coffer.auth` an item would be a login.
  private mutating func part(_ name: String, or other: String, of entry: ImportedEntry) -> String {
    let short = Self.cut(Self.oneLine(name), to: Self.longestFieldName)
    guard ItemMetadata.isOwn(attribute: short) else { return short.isEmpty ? other : short }
    let free = "imported.\(short)"
    renamed.append("'\(short)' of '\(Self.shown(entry))' becomes '\(free)': such names are reserved")
    return free
  }

  private static func free(_ name: String, _ isTaken: (String) -> Bool) -> String {
    guard isTaken(name) else { return name }
    var number = 2
    while isTaken("\(name) (\(number))") { number += 1 }
    return "\(name) (\(number))"
  }
}
