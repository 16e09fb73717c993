internal import ArgumentParser
internal import Coffer
internal import FoundationEssentials

struct GetCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "get", _superCommandName: "coffer", abstract: "Print the value of a key, wherever it is stored.",
    discussion: """
      A key in the domain's property list is a preference and needs no vault; any other is looked for in the vault. \
      A secret is printed as exactly its bytes; only a terminal gets a newline after it.
      """)

  @Argument(help: "The key's name.", completion: Completions.routerKeys) var key: String
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let router = try ShellRouter(router, unlocking, session)
    if let form = try router.plain.load(key) { return try show(form, router.domain) }
    guard let secret = try router.vault()?.load(key) else { throw router.notFound(key) }
    try show(secret, router.domain)
  }

  private func show(_ form: PlainForm, _ domain: String) throws {
    if output.json {
      return try Output.line(
        JSONText.encode(Answer(domain: domain, key: key, store: "defaults", type: form.typeWord, value: PlainJSON(form: form))))
    }
    if case .data(let data) = form {
      try Output.write(data.bytes)
      return try endOfValue()
    }
    try Output.write(PlainText.text(form))
    try endOfValue()
  }

  private func show(_ secret: SecretForm, _ domain: String) throws {
    if output.json {
      return try JSONText.write(
        JSONText.encode(Answer(domain: domain, key: key, store: "vault", type: secret.metadata.contentType)), "value",
        secret.bytes)
    }
    try Output.write(secret.bytes)
    try endOfValue()
  }

  private func endOfValue() throws {
    if Output.isTerminal { try Output.write("\n") }
  }

  private struct Answer: Encodable {
    let domain: String, key: String, store: String, type: String
    var value: PlainJSON?
  }
}
