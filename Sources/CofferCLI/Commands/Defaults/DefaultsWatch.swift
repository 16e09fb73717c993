internal import ArgumentParser
internal import Coffer

struct DefaultsWatch: Command {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Print a line whenever a preference changes, whoever changes it.",
    discussion: "Ends with control-C. Changes by programs that know nothing of coffer are seen too, without their process.")

  @Argument(help: "The domain.") var domain: String
  @Argument(help: "The key; the whole domain when left out.") var key: String?
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    if let key { try StoredName.check(key) }
    let store = try session.places.openDefaults(domain)
    // A store that is let go tells nothing more.
    try withExtendedLifetime(store) {
      try ChangeLines(domain: domain, keys: key.map { [$0] } ?? [], session).run([(store: "defaults", feed: store.changes)])
    }
  }
}
