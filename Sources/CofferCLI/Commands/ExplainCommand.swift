internal import ArgumentParser
internal import Coffer

struct ExplainCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Say where the value of a key comes from, without showing a secret.",
    discussion: "Looks in both stores. A key that is in both is reported with the two ways to settle it, and exit status 65.")

  @Argument(help: "The key's name.", completion: Completions.routerKeys) var key: String
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let router = try ShellRouter(router, unlocking, session)
    let explanation = try router.plain.explain(key)
    let isPlain = explanation.winner != nil
    if isPlain, !output.json { try Output.line(Printable.text(explanation.description)) }
    var answer = SourcesJSON(router.domain, key, explanation)
    let isSecret: Bool
    do { isSecret = try router.vault()?.contains(key) ?? false } catch let failure where isPlain {
      // The answer for a preference stands without the vault: say what could not be looked at, and no more.
      session.note("whether the vault holds it too is unknown: \(Self.reason(failure))")
      if output.json { try Output.line(JSONText.encode(answer)) }
      return
    }
    if isSecret {
      answer.sources.append(.init(layer: "vault", place: session.places.vault.string, type: "secret"))
      let name = "service '\(router.domain)', account '\(key)'"
      if !output.json { try Output.line("vault: \(session.places.vault), \(Printable.line(name)): a secret") }
    }
    if output.json, isPlain || isSecret { try Output.line(JSONText.encode(answer)) }
    guard isPlain || isSecret else { throw router.notFound(key) }
    guard isPlain, isSecret else { return }
    throw StoreError(
      .damaged, "the key is both in the property list and in the vault", key: key, place: router.plain.place,
      cure: """
        'coffer defaults delete \(router.domain) \(key)' keeps the secret, \
        'coffer vault delete \(router.domain) \(key)' keeps the preference
        """)
  }

  private static func reason(_ error: any Error) -> String {
    switch error {
    case let error as Failure: error.what
    case let error as StoreError: error.what
    default: "\(type(of: error))"
    }
  }
}
