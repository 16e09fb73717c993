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
      let all = try DefaultsDomain.list(in: session.places.defaults).map { ($0.name, try content(of: $0.name, session)) }
      return try show(.dictionary(Dictionary(uniqueKeysWithValues: all)))
    }
    guard let key else {
      guard try DefaultsDomain.list(in: session.places.defaults).contains(where: { $0.name == domain }) else {
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
