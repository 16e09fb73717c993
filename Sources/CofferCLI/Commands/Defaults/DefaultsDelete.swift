internal import ArgumentParser
internal import Coffer

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

struct DefaultsDelete: Command {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove a preference, or all of a domain.",
    discussion: "All of a domain is removed without a question, except at a terminal, where --yes answers it.",
    aliases: ["remove"])

  @Argument(help: "The domain.") var domain: String
  @Argument(help: "The key; all of them when left out.") var key: String?
  @OptionGroup var common: CommonOptions

  func perform(_ session: Session) throws {
    let store = try session.places.openDefaults(domain)
    let names = try key.map { [$0] } ?? store.names()
    guard !names.isEmpty, try key.map({ try store.contains($0) }) ?? true else {
      throw StoreError(
        .notFound, key == nil ? "the domain holds nothing" : "nothing is stored in domain '\(domain)'", key: key ?? domain,
        cure: "coffer defaults domains lists the domains")
    }
    guard try key != nil || session.yes || isAgreed(domain, names.count) else { return }
    var batch = Batch<Plain>()
    for name in names { batch.writes[name] = .remove }
    try store.commit(batch, decision: nil)
    try store.close()
  }

  private func isAgreed(_ domain: String, _ count: Int) throws -> Bool {
    guard isatty(STDIN_FILENO) == 1, let terminal = Terminal() else { return true }
    return try terminal.confirm("Remove all \(count) preferences of \(domain)?")
  }
}
