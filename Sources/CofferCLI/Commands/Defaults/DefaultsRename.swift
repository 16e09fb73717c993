internal import ArgumentParser
internal import Coffer

struct DefaultsRename: Command {
  static let configuration = CommandConfiguration(
    commandName: "rename", abstract: "Give a preference another key, in one step.",
    discussion: "As on macOS, what the new key had is replaced.", aliases: ["mv"])

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: "The key it has.", completion: Completions.keys) var old: String
  @Argument(help: "The key it gets.") var new: String
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions

  func perform(_ session: Session) throws {
    try DefaultsStore.checkStorable(session.value(of: old, in: domain), under: new)
    let store = try session.places.openDefaults(domain)
    do throws(StoreError) { try store.rename(old, to: new) } catch {
      throw error.kind == .notFound ? session.nothing(under: old, in: domain) : error
    }
    try store.close()
  }
}
