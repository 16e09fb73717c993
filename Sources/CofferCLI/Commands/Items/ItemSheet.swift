internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

struct ItemSheet {
  private let item: VaultItem
  private let fields: [String]
  private let kept: Int?
  private let time: LocalTime

  init(_ item: VaultItem, fields: [String], kept: Int? = nil, _ time: LocalTime = LocalTime()) {
    (self.item, self.fields, self.kept, self.time) = (item, fields, kept, time)
  }

  /// The lines, with a sign for each secret. If the secrets follow, ``age(_:)`` is not among them.
  func text(revealing: Bool, _ display: Display = .output) -> String {
    let rows = rows(display, revealing: revealing)
    let definitions = TextWidth.definitions(fitting: rows, to: display.width, indent: 2)
    return title(display) + (rows.isEmpty ? "" : "\n" + definitions) + (revealing ? "" : "\n" + age(display))
  }

  private func rows(_ display: Display, revealing: Bool) -> [(String, String)] {
    let code = fields.contains(OneTimeURI.field) ? ["code"] : []
    let secrets = fields.filter { $0 != OneTimeURI.field }
    let attributes = item.metadata.attributes.sorted { $0.key < $1.key }
    let tags = attributes.map(\.key).filter { $0.hasPrefix(Self.tag) }.map { $0.dropFirst(Self.tag.count) }
    let type = item.metadata.contentType.hasPrefix("text/plain") ? "" : item.metadata.contentType
    let covered =
      (item.valueBytes == 0 ? [] : [(item.valueWord, hidden("copy: " + CommandText.item("get", item.name) + " -c", display))])
      + secrets.map { field in
        (Printable.line(field), hidden("copy: \(Sign.ellipsis.text(display)) --field \(CommandText.field(field))", display))
      }
      + code.map { ($0, hidden(CommandText.item("otp", item.name), display)) }
    return (revealing ? [] : covered)
      + attributes.filter { !$0.key.hasPrefix(Self.tag) }.map { (Printable.line($0.key), Printable.line($0.value)) }
      + [("tags", tags.joined(separator: ", ")), ("type", type)].filter { !$0.1.isEmpty }.map { ($0.0, Printable.line($0.1)) }
      + expiry(display)
  }

  private static let tag = "tag:"

  /// `bank / ann · Main bank`, or the label below it if both have no room in a line.
  private func title(_ display: Display) -> String {
    let name = [item.name.service, item.name.account].filter { !$0.isEmpty }.map(Printable.line).joined(separator: " / ")
    let label = Printable.line(item.metadata.label)
    let between = label.isEmpty ? "" : Sign.between.text(display)
    guard Cells.count(name + between + label) > display.width else { return Style.bold.text(name, display) + between + label }
    let lines = { (text: String, width: Int) in TextWidth.fit(text, to: width).split(separator: "\n").map { String($0) } }
    return (lines(name, display.width).map { Style.bold.text($0, display) } + lines(label, display.width - 2).map { "  " + $0 })
      .joined(separator: "\n")
  }

  /// A sign of the same length for every secret, and the command for it.
  private func hidden(_ command: String, _ display: Display) -> String {
    Sign.secret.text(display) + "   " + Printable.line(command)
  }

  func age(_ display: Display = .output) -> String {
    let text =
      "changed \(time.ago(item.modified)), revision \(item.revision)\(kept.map { " of \($0) kept" } ?? "")"
      + "\(Sign.between.text(display))created \(time.day(item.created))"
    return "  " + TextWidth.fit(text, to: display.width - 2, hanging: 2)
  }

  private func expiry(_ display: Display) -> [(String, String)] {
    guard let moment = item.metadata.expires else { return [] }
    guard item.hasExpired(at: time.now) else { return [("expires", "\(time.ahead(moment)) (\(time.day(moment)))")] }
    return [("expired", Style.red.text("\(time.ago(moment)) (\(time.day(moment)))", display))]
  }
}

extension VaultItem {
  /// The name of its value for people.
  var valueWord: String {
    if !name.field.isEmpty { return Printable.line(name.field) }
    let type = metadata.contentType
    return !name.account.isEmpty && (type.isEmpty || type.hasPrefix("text/plain")) ? "password" : "value"
  }

  /// `the password of github.com (user: octocat)`
  var valueTitle: String {
    let named = userName == name.account ? name.service : name.description
    return "the \(valueWord) of \(named)" + (userName.isEmpty ? "" : " (user: \(userName))")
  }
}
