internal import ArgumentParser
internal import Coffer

struct DefaultsRead: Command {
  static let configuration = CommandConfiguration(
    commandName: "read", abstract: "Print a preference, a domain, or all domains.")

  @Argument(help: "The domain; all of them when left out.") var domain: String?
  @Argument(help: "The key; the whole domain when left out.") var key: String?
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    guard let domain else {
      let all = try DefaultsDomain.list(in: session.places.defaults).map { ($0, try content(of: $0, session)) }
      return try show(.dictionary(Dictionary(uniqueKeysWithValues: all)))
    }
    guard let key else {
      guard try DefaultsDomain.list(in: session.places.defaults).contains(domain) else {
        throw StoreError(.notFound, "there is no such domain", key: domain, cure: "coffer defaults domains lists them")
      }
      return try show(content(of: domain, session))
    }
    guard let form = try session.places.openDefaults(domain).load(key) else {
      throw StoreError(
        .notFound, "nothing is stored in domain '\(domain)'", key: key, cure: "coffer defaults read \(domain) shows what is")
    }
    try show(form)
  }

  private func content(of domain: String, _ session: Session) throws -> PlainForm {
    let store = try session.places.openDefaults(domain)
    let names = try store.names()
    let forms = try store.load(names)
    var content: [String: PlainForm] = [:]
    for (name, reading) in zip(names, forms) { content[name] = reading.form }
    return .dictionary(content)
  }

  private func show(_ form: PlainForm) throws {
    try Output.line(output.json ? JSONText.encode(PlainJSON(form: form)) : ClassicList.text(form))
  }
}

struct DefaultsDomains: Command {
  static let configuration = CommandConfiguration(commandName: "domains", abstract: "List the domains, one a line.")

  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let domains = try DefaultsDomain.list(in: session.places.defaults)
    if output.json { return try Output.line(JSONText.encode(domains)) }
    if !domains.isEmpty { try Output.line(domains.map(Printable.line).joined(separator: "\n")) }
  }
}

/// The way `defaults` prints on macOS: single values bare, collections in the old property-list notation, truth as 1 and 0.
enum ClassicList {
  static func text(_ form: PlainForm) -> String {
    switch form {
    case .string(let text), .argument(let text): text
    default: nested(form, indent: "")
    }
  }

  private static func nested(_ form: PlainForm, indent: String) -> String {
    let deeper = indent + "    "
    switch form {
    case .bool(let value): return value ? "1" : "0"
    case .array(let items):
      let lines = items.map { deeper + nested($0, indent: deeper) }
      return "(\n" + lines.joined(separator: ",\n") + (lines.isEmpty ? "" : "\n") + indent + ")"
    case .dictionary(let items):
      let lines = items.sorted { $0.key < $1.key }.map { "\(deeper)\(quoted($0.key)) = \(nested($0.value, indent: deeper));\n" }
      return "{\n" + lines.joined() + indent + "}"
    case .string(let text), .argument(let text): return quoted(text)
    case .date(let date): return quoted(Moment.text(date))
    case .data: return "<" + PlainText.text(form) + ">"
    case .integer, .unsigned, .real: return PlainText.text(form)
    }
  }

  private static func quoted(_ text: String) -> String {
    let isBare = !text.isEmpty && text.utf8.allSatisfy { isWordByte($0) }
    guard !isBare else { return text }
    return "\"" + text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : $0 == "\n" ? ["\\", "n"] : [$0] } + "\""
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
