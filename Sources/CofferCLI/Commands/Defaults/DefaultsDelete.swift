internal import ArgumentParser
internal import Coffer
internal import CofferPlatform

struct DefaultsDelete: Command {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove a preference, or all of a domain with its property list.",
    discussion: "A whole domain is removed without a question, except at a terminal, where --yes answers it.",
    aliases: ["rm", "del", "remove"])

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: "The key; all of them when left out.", completion: Completions.keys) var key: String?
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions

  func perform(_ session: Session) throws {
    guard let key else { return try removeDomain(session) }
    _ = try session.value(of: key, in: domain)
    let store = try session.places.openDefaults(domain)
    try store.save(nil, for: key)
    try store.close()
  }

  private func removeDomain(_ session: Session) throws {
    let count = try session.existingDomain(domain).names().count
    guard try session.yes || isAgreed(count) else {
      throw Failure.usage("nothing was removed", try: "--yes, or y at the question")
    }
    // Open while it is removed, so that a transaction left between the stores is settled by asking the vault's file.
    let store = try session.places.openDefaults(domain)
    try store.domain.remove()
  }

  private func isAgreed(_ count: Int) throws -> Bool {
    guard isatty(STDIN_FILENO) == 1, let terminal = Terminal() else { return true }
    return try terminal.confirm("Remove all \(count) preferences of \(domain)?")
  }
}
